package service

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// hooksRead is how many records of a webhook are read: one for the run that has made it,
// and one for each time that it was resumed.
const hooksRead = 20

// Hook is a webhook of a workflow run, found by its address.
type Hook struct {
	Owner job.Owner
	Run   string // the run that takes its calls
	Event string
}

// FindHook returns the webhook whose address names an account's run and an event. It
// returns a NotFound fault if there is none, and a Gone fault if its run has ended. A run
// that resumes the one named takes the calls in its place.
func (s *Service) FindHook(ctx context.Context, owner job.Owner, run, event string) (*Hook, error) {
	if err := access.Allow(ctx, "service.FindHook"); err != nil {
		return nil, err
	}
	if !workflow.ValidID(run) || !workflow.ValidID(event) || len(event) < workflow.MinSecret {
		return nil, noHook()
	}
	records, err := s.Store.RunHooks(ctx, owner.Number, event, hooksRead)
	if err != nil {
		return nil, err
	}
	ended := false
	for _, one := range records {
		found, err := s.Store.RunGet(ctx, owner.Number, one.Run)
		if err = noFault(err, fault.NotFound); err != nil {
			return nil, err
		}
		if found == nil || found.ID != run && found.Origin == "" {
			continue
		}
		if found.State.Live() {
			return &Hook{owner, found.ID, event}, nil
		}
		ended = true
	}
	if ended {
		return nil, fault.New(fault.Gone, "the workflow run of this webhook has ended; it takes no more calls")
	}
	return nil, noHook()
}

func noHook() error { return fault.New(fault.NotFound, "there is no webhook at this address") }

// CallHook hands a call of a webhook to its run: it ends the run's first wait for it, or is
// kept for the next one. What an account's own caller would learn of the run, a stranger
// does not: the faults say only whether and when to call again.
func (s *Service) CallHook(ctx context.Context, h *Hook, data []byte) error {
	_, err := s.notifyRun(ctx, h.Owner, h.Run, &workflow.Step{WaitsFor: h.Event, Type: workflow.AwaitsWebhook, Body: data})
	switch fault.CodeOf(err) {
	case fault.Stale:
		return &fault.Error{
			Code: fault.TooMany, RetryAfter: time.Minute, Cause: err,
			Message: "the workflow run of this webhook can't keep more calls until it has used up some; call again later",
		}
	case fault.TooMany:
		return &fault.Error{Code: fault.TooMany, RetryAfter: time.Minute, Cause: err,
			Message: "the webhook takes no calls at the moment; call again later"}
	case fault.Invalid, fault.Forbidden, fault.Conflict:
		return &fault.Error{Code: fault.Gone, Cause: err, Message: "the workflow run of this webhook can't go on; it takes no more calls"}
	case fault.NotFound:
		return noHook()
	}
	return err
}
