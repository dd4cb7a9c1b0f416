package follow

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// pollEvery is how often a watcher looks without being woken.
	pollEvery = time.Second
	// pause lies between two rounds at the least.
	pause = 200 * time.Millisecond
	// roundLogs and roundJobs are how many of the newest logs and jobs a round
	// reads, maxEnded how many jobs that have lately become final.
	roundLogs = 100
	roundJobs = 100
	maxEnded  = 200
	// overlap is how far back a poll looks for jobs that became final: their
	// times are older than their commits.
	overlap = 3 * time.Second
	// maxChanged is how many changed jobs wait for a round.
	maxChanged = 200
	// remembered is how many logs and jobs a watcher knows it has told of.
	remembered = 4096
)

// watcher finds out what happens in an account.
type watcher struct {
	hub    *Hub
	owner  job.Owner
	wake   chan struct{}
	ctx    context.Context
	stop   context.CancelFunc
	ready  chan struct{} // closed when it knows what there was before
	failed error         // why it does not; set before ready is closed

	// Guarded by Hub.mu.
	streams map[*Stream]bool
	open    map[bool]int // how many of them are of hints, and how many are not
	changed []*job.Job

	// The goroutine's own.
	began time.Time // by the store's clock
	logs  *recent[uuid.UUID, struct{}]
	jobs  *recent[int64, mark]
}

// mark is what of a job has to change to be told.
type mark struct {
	state                     job.State
	attempted, due, scheduled int64
}

func markOf(j *job.Job) mark {
	return mark{j.State, j.AttemptedAt.UnixMicro(), j.DueAt.UnixMicro(), j.ScheduledAt.UnixMicro()}
}

func newWatcher(h *Hub, owner job.Owner) *watcher {
	w := &watcher{
		hub: h, owner: owner, wake: make(chan struct{}, 1), ready: make(chan struct{}), streams: map[*Stream]bool{}, open: map[bool]int{},
		logs: newRecent[uuid.UUID, struct{}](remembered), jobs: newRecent[int64, mark](remembered),
	}
	w.ctx, w.stop = context.WithCancel(h.ctx)
	return w
}

// run looks again and again until there are no more streams.
func (w *watcher) run() {
	defer w.stop()
	w.failed = w.begin()
	close(w.ready)
	if w.failed != nil {
		return // Open takes the streams away again
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		polled := false
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		case <-poll.C:
			polled = true
		}
		if err := w.round(polled); err != nil && w.ctx.Err() == nil {
			w.hub.Log.Debug("looking for events failed; trying again", "error", err)
		}
		rest := time.NewTimer(pause)
		select {
		case <-w.ctx.Done():
		case <-rest.C:
		}
		rest.Stop()
	}
}

// begin notes what there is, which is not told.
func (w *watcher) begin() error {
	w.began = w.hub.Store.Now()
	logs, jobs, err := w.newest()
	for _, l := range logs {
		w.logs.put(l.ID, struct{}{})
	}
	for _, j := range jobs {
		w.jobs.put(j.Number, markOf(j))
	}
	return err
}

func (w *watcher) newest() (logs []*job.Log, jobs []*job.Job, err error) {
	logs, err = w.hub.Store.LogList(w.ctx, w.owner, store.LogQuery{ListQuery: store.ListQuery{Limit: roundLogs}})
	if err == nil {
		jobs, err = w.hub.Store.JobList(w.ctx, w.owner, store.JobQuery{ListQuery: store.ListQuery{Limit: roundJobs}})
	}
	return logs, jobs, err
}

// round tells what has happened since the last one.
func (w *watcher) round(polled bool) error {
	w.hub.mu.Lock()
	changed := w.changed
	w.changed = nil
	w.hub.mu.Unlock()
	logs, jobs, err := w.newest()
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(logs, func(l *job.Log) bool { return w.logs.has(l.ID) })
	slices.Reverse(fresh)
	found := map[int64]*job.Job{}
	for _, j := range changed {
		found[j.Number] = j
	}
	created := w.created(jobs, found)
	if err := w.read(fresh, polled, found); err != nil {
		return err
	}
	var events []event
	if len(fresh) == roundLogs || created == roundJobs || len(changed) == maxChanged {
		events = append(events, skipped)
	}
	for _, j := range slices.SortedFunc(maps.Values(found), func(a, b *job.Job) int { return cmp.Compare(a.Number, b.Number) }) {
		if known, ok := w.jobs.get(j.Number); !ok || known != markOf(j) {
			w.jobs.put(j.Number, markOf(j))
			events = append(events, jobEvent(j))
		}
	}
	for _, l := range fresh {
		w.logs.put(l.ID, struct{}{})
		events = append(events, logEvent(l))
	}
	w.spread(events)
	return nil
}

// created takes in the newest jobs, and tells how many of them are new. One that
// is older than the watcher has only come to be among the newest.
func (w *watcher) created(jobs []*job.Job, found map[int64]*job.Job) (n int) {
	for _, j := range jobs {
		if w.jobs.has(j.Number) || !j.InsertedAt.Before(w.began) {
			if !w.jobs.has(j.Number) {
				n++
			}
			found[j.Number] = j
		}
	}
	return n
}

// read reads the jobs that logs tell of and, when it is time, those that have
// become final.
func (w *watcher) read(logs []*job.Log, polled bool, found map[int64]*job.Job) error {
	var ids []store.JobID
	for _, l := range logs {
		if id := (store.JobID{Number: l.Job}); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	var jobs []*job.Job
	var err error
	if len(ids) > 0 {
		if jobs, err = w.hub.Store.JobGetMany(w.ctx, w.owner, ids); err != nil {
			return err
		}
	}
	if polled {
		since := w.hub.Store.Now().Add(-pollEvery - overlap)
		if since.Before(w.began) {
			since = w.began
		}
		ended, err := w.hub.Store.JobsEnded(w.ctx, w.owner, since, maxEnded)
		if err != nil {
			return err
		}
		jobs = append(jobs, ended...)
	}
	for _, j := range jobs {
		if j != nil {
			found[j.Number] = j
		}
	}
	return nil
}

// spread hands events to every stream.
func (w *watcher) spread(events []event) {
	w.hub.mu.Lock()
	streams := slices.Collect(maps.Keys(w.streams))
	w.hub.mu.Unlock()
	for _, s := range streams {
		s.push(events)
	}
}

// recent remembers a number of things, the latest.
type recent[K comparable, V any] struct {
	values map[K]V
	order  []K
	next   int
}

func newRecent[K comparable, V any](size int) *recent[K, V] {
	return &recent[K, V]{values: map[K]V{}, order: make([]K, size)}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

func (r *recent[K, V]) has(key K) bool {
	_, ok := r.values[key]
	return ok
}

func (r *recent[K, V]) put(key K, value V) {
	if !r.has(key) {
		if len(r.values) == len(r.order) {
			delete(r.values, r.order[r.next])
		}
		r.order[r.next] = key
		r.next = (r.next + 1) % len(r.order)
	}
	r.values[key] = value
}
