package service

import (
	"context"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/store"
)

// insert stores a new job within the limits of its account.
func (s *Service) insert(ctx context.Context, n store.NewJob) (store.Inserted, error) {
	if s.Quotas == nil {
		return s.creates.Do(ctx, n)
	}
	account := n.Job.Owner.Number
	limits, caps, err := s.admit(ctx, account)
	if err != nil {
		return store.Inserted{}, err
	}
	creates := s.creates
	if n.Caps = caps; caps != (store.Caps{}) {
		creates = s.capped
	}
	inserted, err := creates.Do(ctx, n)
	switch {
	case err != nil:
	case inserted.Gone:
	case inserted.Over != store.QuotaNone:
		s.Metrics.Refused(string(inserted.Over))
		err = limits.Exceeded(inserted.Over)
	case !inserted.Conflict:
		s.Quotas.Added(account, job.Size(n.Job))
	}
	return inserted, err
}

// admit returns the limits of an account, and what a create may add. It returns a
// Forbidden fault if the account is suspended.
func (s *Service) admit(ctx context.Context, account int64) (quota.Limits, store.Caps, error) {
	limits, caps, err := s.Quotas.Admit(ctx, account)
	if fault.CodeOf(err) == fault.Forbidden {
		s.Metrics.Refused("suspended")
	}
	return limits, caps, err
}

// admitSchedules returns the limits that new schedules of an account must keep, and
// a function that returns the fault for one that was exceeded.
func (s *Service) admitSchedules(ctx context.Context, owner job.Owner) (store.Caps, func(store.Quota) error, error) {
	if s.Quotas == nil {
		return store.Caps{}, nil, nil
	}
	limits, caps, err := s.Quotas.Admit(ctx, owner.Number)
	if fault.CodeOf(err) == fault.Forbidden {
		s.Metrics.Refused("suspended")
	}
	return caps, limits.Exceeded, err
}

// admitGrowth returns a fault if an edit would add to what an account stores and
// the account stores too much.
func (s *Service) admitGrowth(ctx context.Context, owner job.Owner, grown int) error {
	if s.Quotas == nil || grown <= 0 {
		return nil
	}
	caps, exceeded, err := s.admitSchedules(ctx, owner)
	if err != nil {
		return err
	}
	if caps.Full {
		s.Metrics.Refused(string(store.QuotaStored))
		return exceeded(store.QuotaStored)
	}
	return nil
}

// grew counts bytes that an edit has added.
func (s *Service) grew(owner job.Owner, grown int) {
	if s.Quotas != nil && grown > 0 {
		s.Quotas.Added(owner.Number, grown)
	}
}
