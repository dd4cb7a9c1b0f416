package service

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestShowOwnDue(t *testing.T) {
	due := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	limited, other := &job.Job{DueAt: store.HeldDue(due)}, &job.Job{DueAt: due}
	ShowOwnDue(limited, other)
	for _, j := range []*job.Job{limited, other} {
		if !j.DueAt.Equal(due) {
			t.Errorf("a job that is due at %s is shown as due at %s", due, j.DueAt)
		}
	}
}
