package dashboard

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// readWhen reads a time in plain words, in the zone a form names.
func readWhen(text, zone string, now time.Time) (naturaltime.Timing, string) {
	location := time.UTC
	if zone = strings.TrimSpace(zone); zone != "" {
		var err error
		if location, err = schedule.LoadZone(zone); err != nil {
			return naturaltime.Timing{}, "can't be read in the time zone " + zone + ", which is not known; name one such as Europe/Berlin"
		}
	}
	timing, err := naturaltime.Parse(text, now, location)
	if err != nil {
		return timing, err.Error()
	}
	return timing, ""
}

// timingPointers are the fields of the API that the field "When" stands for.
var timingPointers = []string{"#/schedule_in", "#/scheduled_at", "#/repeat_every", "#/cron", "#/timezone"}

// timingProblem gives what was found wrong with the time asked for.
func timingProblem(err error) string {
	for _, pointer := range timingPointers {
		if problem := problemAt(err, pointer); problem != "" {
			return strings.TrimPrefix(pointer, "#/") + " " + problem
		}
	}
	return ""
}
