package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// run is one attempt of a job, put together from the API's records and from
// what the target saw.
type run struct {
	role    role
	job     int64
	attempt int
	due     time.Time
	began   time.Time // by the service's own account
	fired   time.Time // when the target had the request; zero when it never had it
	ended   time.Time
	status  int
	failure string // what there was instead of a response
	state   string // of the job, after the run
	retryAt time.Time
	count   int // what the target counted; 0 when it does not count
}

// late is how long after its due time a run fired.
func (r *run) late() time.Duration { return r.fired.Sub(r.due) }

// awaited is what comes next.
type awaited struct {
	role  role
	retry bool
	due   time.Time
}

// watcher follows the runs through the API.
type watcher struct {
	api      *api
	target   *target
	schedule string
	show     func(*run)      // called once for each run, when it has ended
	await    func([]awaited) // called again and again with what is pending, next first

	runs     []*run
	seen     map[string]bool // logs, by id
	disabled bool
}

// glance is how often the watcher looks.
const glance = 100 * time.Millisecond

// watch follows the runs until all have been made that are to be, and nothing
// is under way any more. It ends without an error when ctx ends before that:
// the verdict lists what is missing.
func (w *watcher) watch(ctx context.Context) error {
	w.seen = map[string]bool{}
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		done, err := w.look(ctx)
		switch {
		case done || errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// look reads what is new, and reports whether that was all.
func (w *watcher) look(ctx context.Context) (done bool, err error) {
	if err := w.readRuns(ctx); err != nil {
		return false, err
	}
	if w.made() && !w.disabled {
		// No more runs are needed; what is stored comes to rest.
		if err := w.api.disable(ctx, w.schedule); err != nil {
			return false, err
		}
		w.disabled = true
	}
	pending, err := w.api.jobs(ctx, "scheduled")
	if err != nil {
		return false, err
	}
	w.await(w.next(pending))
	if len(pending) > 0 || !w.disabled {
		return false, nil
	}
	executing, err := w.api.jobs(ctx, "executing")
	if err != nil || len(executing) > 0 {
		return false, err
	}
	// What ended since the logs were read is in them now.
	return true, w.readRuns(ctx)
}

// made reports whether the schedule has run often enough.
func (w *watcher) made() bool {
	n := 0
	for _, r := range w.runs {
		if r.role == recurring {
			n++
		}
	}
	return n >= enough
}

// readRuns shows the runs whose end is new in the logs.
func (w *watcher) readRuns(ctx context.Context) error {
	logs, err := w.api.logs(ctx)
	if err != nil {
		return err
	}
	for _, log := range logs {
		if w.seen[log.ID] || log.Event != eventResponse && log.Event != eventError {
			continue
		}
		r, err := w.readRun(ctx, &log)
		if err != nil {
			return err
		}
		w.seen[log.ID] = true
		w.runs = append(w.runs, r)
		w.show(r)
	}
	return nil
}

// readRun returns the run whose end a log records.
func (w *watcher) readRun(ctx context.Context, log *logRecord) (*run, error) {
	record, err := w.api.job(ctx, log.Job)
	if err != nil {
		return nil, err
	}
	r := &run{
		role: role(record.Name), job: log.Job, attempt: 1,
		due: record.Job.ScheduledAt, began: record.Job.AttemptedAt, ended: log.InsertedAt,
		status: log.Payload.Status, state: record.Job.State, retryAt: log.Payload.RetryAt,
	}
	if log.Event == eventError {
		r.failure = fmt.Sprintf("%s: %s", log.Payload.Kind, log.Payload.Message)
	}
	if before := w.last(log.Job); before != nil {
		r.attempt, r.due = before.attempt+1, before.retryAt
	}
	for _, h := range w.target.Hits() {
		if h.job == r.job && h.attempt == r.attempt {
			r.fired = h.at
			if r.role == recurring {
				r.count = h.count + 1
			}
			break
		}
	}
	return r, nil
}

// last returns the latest run of a job; nil when there is none.
func (w *watcher) last(job int64) *run {
	for _, r := range slices.Backward(w.runs) {
		if r.job == job {
			return r
		}
	}
	return nil
}

// next returns what pending jobs wait for, in the order they come.
func (w *watcher) next(pending []jobRecord) []awaited {
	var all []awaited
	for _, record := range pending {
		a := awaited{role: role(record.Name), due: record.Job.ScheduledAt}
		if before := w.last(record.Number); before != nil {
			a.retry, a.due = true, before.retryAt
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b awaited) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.role, b.role)) })
	return all
}
