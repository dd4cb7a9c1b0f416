package service

import (
	"context"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/store"
)

// jobFinder finds the jobs that requests name.
type jobFinder struct {
	store  Store
	ctx    context.Context
	owner  job.Owner
	failed error // of the store
}

// find implements job.ReadOptions.FindJobs.
func (f *jobFinder) find(names []job.JobName) []*job.AwaitedJob {
	found := make([]*job.AwaitedJob, len(names))
	ctx, release := admission.Hold(f.ctx) // only numbers and states are kept
	defer release()
	var refs []job.Ref
	places := map[job.Ref][]int{}
	for i, name := range names {
		if name.Key == "" {
			refs = append(refs, name.Ref)
			places[name.Ref] = append(places[name.Ref], i)
			continue
		}
		j, err := f.store.JobHolding(ctx, f.owner, name.Key)
		switch {
		case err == nil:
			found[i] = &job.AwaitedJob{Number: j.Number, State: j.State}
		case fault.CodeOf(err) != fault.NotFound:
			f.failed = err
			return found
		}
	}
	if len(refs) == 0 {
		return found
	}
	versions, err := f.store.JobVersionsOf(ctx, f.owner, refs)
	if err != nil {
		f.failed = err
	}
	for _, version := range versions {
		for _, ref := range []job.Ref{{Number: version.Number}, {UUID: version.ID}} {
			for _, i := range places[ref] {
				found[i] = &job.AwaitedJob{Number: version.Number, State: version.State}
			}
		}
	}
	return found
}

// waitingShown is how many of the jobs that a job waits for are shown.
const waitingShown = 100

// jobPrefix begins the name of a job among what another one waits for.
const jobPrefix = "job:"

// WaitingFor returns what holds a pending job back: the keys of limits at the moment, or
// job:NUMBER for each of the first hundred jobs that it waits for.
func (s *Service) WaitingFor(ctx context.Context, owner job.Owner, j *job.Job) ([]string, error) {
	if !store.Waits(j) {
		return s.limitsHolding(ctx, owner, j)
	}
	numbers, err := s.Store.WaitsOf(ctx, owner, j.Number, waitingShown)
	names := make([]string, len(numbers))
	for i, number := range numbers {
		names[i] = jobPrefix + strconv.FormatInt(number, 10)
	}
	return names, err
}

// WaitTurn returns the first account with a number above after that has jobs to be
// released; 0 if there is none.
func (s *Service) WaitTurn(ctx context.Context, after int64) (int64, error) {
	return s.Store.WaitTurn(ctx, after)
}

// SweepWaits stores ends that are missing among the next awaited jobs; see
// store.WaitQueue.
func (s *Service) SweepWaits(ctx context.Context, after store.WaitCursor, limit int) (store.WaitCursor, int, error) {
	return s.Store.WaitSweep(ctx, after, limit)
}

// postponeWait is how long a job that can't be released is left alone.
const postponeWait = time.Minute

// ReleaseJobs releases jobs of an account that wait for others, in one step that notes
// up to limit ends. It returns how many awaited jobs it has considered. It postpones a
// job that the store can't change, and refused says why.
func (s *Service) ReleaseJobs(ctx context.Context, account int64, limit int) (considered int, refused, err error) {
	cancelled, changed := 0, 0
	step := store.WaitStep{
		Account: account, Limit: limit, Begin: func() { cancelled, changed = 0, 0 },
		Decide: func(r *store.Released, m *store.Snapshot) *store.Changes {
			c := lifecycle.Release(r, m, s.Sealer)
			if c != nil {
				changed++
				if c.Job.State.Final() {
					cancelled++
				}
			}
			return c
		},
	}
	for {
		considered, err = s.Store.WaitApply(ctx, step)
		if !store.IsUnstorable(err) {
			break
		}
		if step.Limit == 1 {
			refused = err
			step.Postpone = postponeWait
			considered, err = s.Store.WaitApply(ctx, step)
			break
		}
		step.Limit /= 2
	}
	if err != nil {
		return considered, refused, err
	}
	for range cancelled {
		s.Metrics.Finished(job.Cancelled.String())
	}
	if changed > 0 && s.Listener != nil {
		s.Listener.Wake(account)
	}
	return considered, refused, nil
}
