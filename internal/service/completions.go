package service

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Stats counts jobs' attempts by account.
type Stats interface {
	Observe(account int64, succeeded bool, lateness, duration time.Duration)
}

// completing is how many reports are carried out at once. Each may hold a job, its
// schedule and two logs.
const completing = 16

// CompletionAccount returns the number of the account whose attempt a token
// completes, or a NotFound fault. It reads little, so that guessing costs little.
func (s *Service) CompletionAccount(ctx context.Context, token string) (int64, error) {
	hash, ok := job.HashToken(token)
	if !ok {
		return 0, lifecycle.NoCompletion()
	}
	account, err := s.Store.CompletionAccount(ctx, hash)
	switch fault.CodeOf(err) {
	case fault.NotFound:
		return 0, lifecycle.NoCompletion()
	case fault.TooMany: // a look-up by token can't be slow because of what was asked for
		return 0, fault.Busy(err)
	}
	return account, err
}

// Complete carries out a target's report about the attempt that a token completes,
// and returns the completion afterwards. It returns a Conflict fault if another
// outcome was reported before, and a Gone fault if the attempt is over otherwise.
func (s *Service) Complete(ctx context.Context, token string, body rawjson.Value) (*job.Completion, error) {
	hash, _ := job.HashToken(token)
	report, err := job.ReadReport(body)
	if err != nil {
		return nil, err
	}
	report.Identify(token)
	select {
	case s.completing <- struct{}{}:
		defer func() { <-s.completing }()
	case <-ctx.Done():
		return nil, fault.Unreachable(ctx.Err())
	}
	a, err := s.Store.CompletionGet(ctx, hash)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, lifecycle.NoCompletion()
	}
	if err != nil {
		return nil, err
	}
	if err := s.Secrets.MaskReport(ctx, token, a.Sealed, a.Job.Owner, job.SecretNames(a.Job), report); err != nil {
		return nil, err
	}
	r := lifecycle.NewReporting(a, report, s.Sealer, s.Random())
	j, err := s.Store.CompletionChange(ctx, a.Completion, r.Decide)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, lifecycle.NoCompletion()
	}
	if err != nil {
		return nil, err
	}
	if r.Err != nil {
		return nil, r.Err
	}
	s.Metrics.Completed(kindOf(report))
	if s.Listener != nil {
		s.Listener.Changed(j)
	}
	if r.Ended {
		limitsFreed(s.Engine, a.Job)
		if r.State.Final() {
			s.Metrics.Finished(r.State.String())
		}
		if s.Stats != nil {
			s.Stats.Observe(j.Owner.Number, report.Error == nil, a.Lateness(), s.Store.Now().Sub(a.Completion.StartedAt))
		}
	}
	return r.Completion, nil
}

func kindOf(r *job.Report) string {
	switch {
	case r.Result != nil:
		return "result"
	case r.Error != nil:
		return "error"
	default:
		return "progress"
	}
}

// Completion returns the completion of the latest attempt of a job that has one; nil
// if there is none.
func (s *Service) Completion(ctx context.Context, owner job.Owner, number int64) (*job.Completion, error) {
	return s.Store.CompletionOf(ctx, owner, number)
}
