package dashboard

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
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

// timingProblem returns what is wrong with the time of a request, or "".
func timingProblem(err error) string {
	for _, field := range job.Fields() {
		if !job.IsTiming(field.Name) {
			continue
		}
		if problem := problemAt(err, job.Pointer(field.Name)); problem != "" {
			return field.Name + " " + problem
		}
	}
	return ""
}
