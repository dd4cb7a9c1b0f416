package service

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/secret"
)

// reading reads requests of an account.
type reading struct {
	service *Service
	owner   job.Owner
	secrets *secret.Checker
	limits  *limitChecker
	groups  *groupChecker
	jobs    *jobFinder
	holders *holderReader
}

func (s *Service) reading(ctx context.Context, owner job.Owner) reading {
	r := reading{
		service: s, owner: owner, groups: &groupChecker{store: s.Store, ctx: ctx, owner: owner},
		jobs:   &jobFinder{store: s.Store, ctx: ctx, owner: owner},
		limits: &limitChecker{store: s.Store, ctx: ctx, owner: owner}, holders: &holderReader{store: s.Store, ctx: ctx, owner: owner},
	}
	if s.Secrets != nil {
		r.secrets = s.Secrets.Checker(ctx, owner)
	}
	return r
}

// options returns the options for reading a request at a time by the store's
// clock. headerKey is the header Idempotency-Key; nil if there is none.
func (r reading) options(now time.Time, headerKey *string) job.ReadOptions {
	return job.ReadOptions{
		Now: now, HeaderKey: headerKey, CheckHost: r.service.CheckHost, AllowHTTP: r.service.AllowHTTP, CheckSecret: r.secrets.Check,
		HasLimit: r.limits.has, Targets: r.groups.targets, NoCompletion: r.service.NoCompletion, NoIssuer: r.service.NoIssuer,
		Account: r.owner.ID, Sealer: r.service.Sealer,
	}
}

// createOptions are options for reading a request that creates a job: also the jobs
// must be there that it waits for.
func (r reading) createOptions(now time.Time, headerKey *string) job.ReadOptions {
	opts := r.options(now, headerKey)
	opts.FindJobs = r.jobs.find
	return opts
}

// replaceOptions are options for reading a request that creates the schedule with a
// key or replaces it.
func (r reading) replaceOptions(now time.Time, key *string) job.ReadOptions {
	opts := r.options(now, key)
	if key != nil {
		opts.Replaces = func() *job.Schedule { return r.holders.read(*key) }
	}
	return opts
}

// holderReader reads the schedules that hold keys.
type holderReader struct {
	store  Store
	ctx    context.Context
	owner  job.Owner
	failed error // of the store
}

// read returns the owner's schedule that has a key; nil if there is none. Its bytes are
// not held for the response.
func (h *holderReader) read(key string) *job.Schedule {
	ctx, release := admission.Hold(h.ctx)
	defer release()
	found, err := h.store.ScheduleHolding(ctx, h.owner, key)
	if err != nil {
		if fault.CodeOf(err) != fault.NotFound {
			h.failed = err
		}
		return nil
	}
	return found
}

// result returns err, unless secrets, limits or schedules could not be read: then that
// error.
func (r reading) result(err error) error {
	if r.limits.failed != nil {
		return r.limits.failed
	}
	if r.groups.failed != nil {
		return r.groups.failed
	}
	if r.jobs.failed != nil {
		return r.jobs.failed
	}
	if r.holders.failed != nil {
		return r.holders.failed
	}
	if failed := r.secrets.Err(); failed != nil {
		return failed
	}
	return err
}

// read reads the body of a create request of an account with job.Read or
// job.ReadPartly.
func (s *Service) read(ctx context.Context, owner job.Owner, body rawjson.Value, now time.Time, headerKey *string,
	as func(rawjson.Value, job.ReadOptions) (*job.Draft, error)) (*job.Draft, error) {
	r := s.reading(ctx, owner)
	draft, err := as(body, r.createOptions(now, headerKey))
	return draft, r.result(err)
}
