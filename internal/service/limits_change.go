package service

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// LimitChange is a change of a limit; what is nil or zero stays.
type LimitChange struct {
	Paused *bool
	// Calls, with Per, and Parallel are values that hold whatever jobs say.
	Calls    *int
	Per      time.Duration
	Parallel *int
	Unpin    int  // the parts that jobs may define again
	Reset    bool // forgets what has started
}

// DefineLimit gives a limit the rate and the parallelism that a job says, as far as they
// are floating, and creates it if it does not exist. The rest stays. A limit that is so
// already is not stored again.
func (s *Service) DefineLimit(ctx context.Context, owner job.Owner, key string, l limit.Limit) error {
	if err := access.Allow(ctx, "service.DefineLimit"); err != nil {
		return err
	}
	found, err := s.limitNamed(ctx, owner, key)
	if err != nil {
		return err
	}
	if found == nil {
		l.Floating = limit.FloatRate | limit.FloatParallel
		return s.storeLimit(ctx, owner, limit.Record{Key: key, Limit: l})
	}
	before := found.Limit
	if found.Floating&limit.FloatRate != 0 {
		found.Calls, found.Per = l.Calls, l.Per
	}
	if found.Floating&limit.FloatParallel != 0 {
		found.Parallel = l.Parallel
	}
	if found.Limit == before {
		return nil
	}
	return s.storeLimit(ctx, owner, *found)
}

// EnsureLimit creates a limit unless it exists.
func (s *Service) EnsureLimit(ctx context.Context, owner job.Owner, l limit.Record) error {
	if err := access.Allow(ctx, "service.EnsureLimit"); err != nil {
		return err
	}
	defined, err := s.Store.LimitsOf(ctx, owner, []string{l.Key})
	if err != nil || len(defined) > 0 {
		return err
	}
	return s.storeLimit(ctx, owner, l)
}

// CreateLimit defines a limit, or returns a Stale fault if it exists.
func (s *Service) CreateLimit(ctx context.Context, owner job.Owner, l limit.Record) error {
	if err := access.Allow(ctx, "service.CreateLimit"); err != nil {
		return err
	}
	if _, err := s.Store.LimitPut(ctx, owner, l, Match{None: true}.PutIf()); err != nil {
		return err
	}
	s.Audit.Edited(ctx, owner, audit.LimitCreated, l.Key+": "+l.String())
	return nil
}

// PutLimit defines or replaces a limit.
func (s *Service) PutLimit(ctx context.Context, owner job.Owner, l limit.Record) error {
	if err := access.Allow(ctx, "service.PutLimit"); err != nil {
		return err
	}
	return s.storeLimit(ctx, owner, l)
}

// ChangeLimit changes a limit, or returns a NotFound fault.
func (s *Service) ChangeLimit(ctx context.Context, owner job.Owner, key string, change LimitChange) error {
	if err := access.Allow(ctx, "service.ChangeLimit"); err != nil {
		return err
	}
	l, err := s.limitNamed(ctx, owner, key)
	if err != nil {
		return err
	}
	if l == nil {
		return fault.NoSuch("limit")
	}
	before := l.Limit
	change.apply(&l.Limit)
	if l.Limit != before {
		if err := s.storeLimit(ctx, owner, *l); err != nil {
			return err
		}
	}
	if change.Reset || change.Calls != nil {
		return s.Store.LimitReset(ctx, owner, key)
	}
	return nil
}

func (c *LimitChange) apply(l *limit.Limit) {
	if c.Paused != nil {
		l.Paused = *c.Paused
	}
	if c.Calls != nil {
		l.Calls, l.Per, l.Floating = *c.Calls, c.Per, l.Floating&^limit.FloatRate
	}
	if c.Parallel != nil {
		l.Parallel, l.Floating = *c.Parallel, l.Floating&^limit.FloatParallel
	}
	l.Floating |= c.Unpin
}

// limitNamed returns one of the owner's limits; nil if there is none.
func (s *Service) limitNamed(ctx context.Context, owner job.Owner, key string) (*limit.Record, error) {
	found, err := s.Store.LimitNamed(ctx, owner, key)
	return found, noFault(err, fault.NotFound)
}

func (s *Service) storeLimit(ctx context.Context, owner job.Owner, l limit.Record) error {
	created, err := s.Store.LimitPut(ctx, owner, l, store.PutAlways)
	if err != nil {
		return err
	}
	event := audit.LimitChanged
	if created {
		event = audit.LimitCreated
	}
	s.Audit.Edited(ctx, owner, event, l.Key+": "+l.String())
	return nil
}
