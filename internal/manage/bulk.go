package manage

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// MaxCancel is how many jobs CancelMany takes.
const MaxCancel = 100

// cancelsAtOnce is how many jobs of one call are cancelled side by side, so that
// they share commits.
const cancelsAtOnce = 16

// CancelMany cancels jobs and gives them as they are afterwards, in the order
// given. When there are ids without a job, none is cancelled, and the fault
// names each by its place in job_ids. Each job is cancelled by itself: when the
// store fails midway some are, and the call can be made again.
func (m *Manager) CancelMany(ctx context.Context, owner job.Owner, ids []store.JobID) ([]*job.Job, error) {
	jobs, err := m.Store.JobGetMany(ctx, owner, ids)
	if err != nil {
		return nil, err
	}
	var missing []fault.Problem
	places := map[int64][]int{}
	for i, j := range jobs {
		if j == nil {
			missing = append(missing, fault.Problem{Pointer: "#/job_ids/" + strconv.Itoa(i), Detail: "is no job of this account"})
			continue
		}
		places[j.Number] = append(places[j.Number], i)
	}
	if len(missing) > 0 {
		return nil, &fault.Error{Code: fault.NotFound, Message: "there are no jobs with some of these ids; none was cancelled", Problems: missing}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	slots := make(chan struct{}, cancelsAtOnce)
	for number, at := range places {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			j, err := m.Cancel(ctx, owner, store.JobID{Number: number})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && fault.CodeOf(err) == fault.NotFound: // final, and removed by retention just now
			case err != nil:
				failed = errors.Join(failed, err)
			default:
				for _, i := range at {
					jobs[i] = j
				}
			}
		})
	}
	group.Wait()
	if failed != nil && fault.CodeOf(failed) == fault.Unavailable {
		failed = &fault.Error{
			Code: fault.Unavailable, Message: "some of the jobs may not have been cancelled; send the same call again shortly",
			RetryAfter: time.Second, Cause: failed,
		}
	}
	if failed != nil {
		return nil, failed
	}
	return jobs, nil
}
