package service

import (
	"context"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// Archive marks a discarded job whose dialect has a dead letter queue as dealt with: it
// leaves that queue. It returns a NotFound fault if the job is not in it.
func (s *Service) Archive(ctx context.Context, owner job.Owner, id job.Ref) error {
	if err := access.Allow(ctx, "service.Archive"); err != nil {
		return err
	}
	done := false
	_, err := s.changeJob(ctx, owner, id, func(m *store.Snapshot) *store.Changes {
		done = false
		if m.Job.State != job.Discarded {
			return nil
		}
		args, ok := job.Archived(m.Job.Args)
		if !ok {
			return nil
		}
		done = true
		archived := *m.Job
		archived.Args = args
		archived.Revision++
		return &store.Changes{Job: &archived, UpdateDefinition: true}
	})
	if err == nil && !done {
		err = fault.NoSuch("message in the dead letter queue")
	}
	return err
}
