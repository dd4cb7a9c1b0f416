package dashboard

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// readWhen parses a time in plain English in a time zone; "" is UTC. problem
// completes "LABEL …", and is "" if the time is valid.
func readWhen(text, zone string, now time.Time) (timing naturaltime.Timing, problem string) {
	location := time.UTC
	if zone = strings.TrimSpace(zone); zone != "" {
		var err error
		if location, err = schedule.LoadZone(zone); err != nil {
			return naturaltime.Timing{}, "can't be read in the unknown time zone " + zone + "; use one such as Europe/Berlin"
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
		if problem := view.ProblemAt(err, job.Pointer(field.Name)); problem != "" {
			return field.Name + " " + problem
		}
	}
	return ""
}
