package demo

import (
	"context"
	"fmt"
	"time"
)

// role is the name of one of the demo's jobs; its records carry it.
type role string

const (
	oneOff     role = "one-off"
	recurring  role = "recurring"
	failsOnce  role = "fails once"
	longestJob      = len(failsOnce)
)

// The target's endpoints, one for each role.
const (
	pathOnce    = "/once"
	pathCount   = "/count"
	pathStumble = "/stumble"
)

const (
	interval = 2 * time.Second
	// enough is how many recurring runs are awaited: as many as fit in while
	// the retry is waited for.
	enough = 6
	// The retry comes ten seconds after the failure, lengthened by up to a tenth.
	shortestBackOff = 10 * time.Second
	longestBackOff  = 11 * time.Second
)

// spoken names a role in a sentence.
func (r role) spoken() string {
	switch r {
	case failsOnce:
		return "the job that fails once"
	default:
		return fmt.Sprintf("the %s job", string(r))
	}
}

// requests are the jobs to create, as a client writes them. The template's only
// hole is the target's address.
var requests = []string{
	`{"name": "one-off", "method": "post", "url": "%s/once", "schedule_in": 1.5,
	  "body": {"hello": "world"}}`,
	`{"name": "recurring", "method": "post", "url": "%s/count", "schedule_in": 2, "repeat_every": [2, "seconds"],
	  "body": {"count": "$state.count"}}`,
	`{"name": "fails once", "method": "post", "url": "%s/stumble", "schedule_in": 2.5,
	  "body": {"hello": "again"}}`,
}

// create asks the service for the demo's jobs and returns the schedule's id.
func create(ctx context.Context, a *api, target string) (schedule string, err error) {
	for _, request := range requests {
		record, err := a.create(ctx, fmt.Sprintf(request, target))
		if err != nil {
			return "", err
		}
		if record.Job.State != "available" {
			return "", fmt.Errorf("%s was created in state %s, not available", role(record.Name).spoken(), record.Job.State)
		}
		if record.ScheduleID != nil {
			schedule = *record.ScheduleID
		}
	}
	if schedule == "" {
		return "", fmt.Errorf("%s was created without a schedule", recurring.spoken())
	}
	return schedule, nil
}
