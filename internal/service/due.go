package service

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// ShowOwnDue sets the due times of jobs to those that they have themselves, for readers:
// the store keeps jobs that wait for a limit centuries ahead.
func ShowOwnDue(jobs ...*job.Job) {
	for _, j := range jobs {
		j.DueAt, _ = store.OwnDue(j.DueAt)
	}
}
