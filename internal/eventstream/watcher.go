package eventstream

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// pollEvery is how often a watcher reads without being woken.
	pollEvery = time.Second
	// minPause is the shortest time between two rounds.
	minPause = 200 * time.Millisecond
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
	// maxPause is the longest time that a watcher rests.
	maxPause = 5 * time.Second
	// maxSmall is how large a record is that is read for all streams at once,
	// maxLoaded how much is read so in a round.
	maxSmall  = 32 << 10
	maxLoaded = 512 << 10
	// remembered is how many sent logs and jobs a watcher remembers.
	remembered = 4096
)

// watcher finds changes in an account.
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
	changed []job.Ref

	// Used only by the goroutine.
	began  time.Time // by the store's clock
	polled time.Time // when it has looked for jobs that became final
	logs   *recent[uuid.UUID, struct{}]
	jobs   *recent[int64, version]
}

// version is the part of a job whose change causes an event.
type version struct {
	state                     job.State
	attempted, due, scheduled int64
}

func versionOf(m *store.JobVersion) version {
	return version{m.State, m.AttemptedAt.UnixMicro(), m.DueAt.UnixMicro(), m.ScheduledAt.UnixMicro()}
}

func newWatcher(h *Hub, owner job.Owner) *watcher {
	w := &watcher{
		hub: h, owner: owner, wake: make(chan struct{}, 1), ready: make(chan struct{}), streams: map[*Stream]bool{}, open: map[bool]int{},
		logs: newRecent[uuid.UUID, struct{}](remembered), jobs: newRecent[int64, version](remembered),
	}
	w.ctx, w.stop = context.WithCancel(h.ctx)
	return w
}

// run makes rounds until there are no more streams.
func (w *watcher) run() {
	defer w.stop()
	w.failed = w.begin()
	close(w.ready)
	if w.failed != nil {
		return // Open takes the streams away again
	}
	poll := time.NewTimer(w.hub.pollEvery())
	defer poll.Stop()
	for {
		polled := false
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		case <-poll.C:
			polled = true
			poll.Reset(w.hub.pollEvery())
		}
		if !w.rest(w.turn(polled)) {
			return
		}
	}
}

// pollEvery is how often a watcher looks without being woken: the more there
// are, the more seldom.
func (h *Hub) pollEvery() time.Duration { return pollEvery * time.Duration(1+h.watched.Load()/50) }

// turn makes a round when it is the watcher's turn, and returns how long it took.
func (w *watcher) turn(polled bool) time.Duration {
	select {
	case w.hub.rounds <- struct{}{}:
	case <-w.ctx.Done():
		return 0
	}
	defer func() { <-w.hub.rounds }()
	begun := time.Now()
	if err := w.round(polled); err != nil && w.ctx.Err() == nil {
		w.hub.Log.Debug("reading events failed; retrying", "error", err)
	}
	return time.Since(begun)
}

// rest waits before the next round, nine times as long as the last one took, so
// that a stream costs a tenth of a core at the most. It reports whether to go on.
func (w *watcher) rest(took time.Duration) bool {
	return pause.For(w.ctx, min(max(minPause, 9*took), maxPause))
}

// begin records what already exists, so that it causes no events.
func (w *watcher) begin() error {
	w.began = w.hub.Store.Now()
	w.polled = w.began
	logs, jobs, err := w.newest()
	for i := range logs {
		w.logs.put(logs[i].ID, struct{}{})
	}
	for i := range jobs {
		w.jobs.put(jobs[i].Number, versionOf(&jobs[i]))
	}
	return err
}

func (w *watcher) newest() (logs []store.LogVersion, jobs []store.JobVersion, err error) {
	logs, err = w.hub.Store.LogVersions(w.ctx, w.owner, roundLogs)
	if err == nil {
		jobs, err = w.hub.Store.JobVersions(w.ctx, w.owner, roundJobs)
	}
	return logs, jobs, err
}

// putBack keeps what a failed round has not looked at.
func (w *watcher) putBack(changed []job.Ref) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	kept := append(changed, w.changed...)
	w.changed = kept[:min(len(kept), maxChanged)]
}

// round sends what has happened since the previous round.
func (w *watcher) round(polled bool) (err error) {
	w.hub.mu.Lock()
	changed := w.changed
	w.changed = nil
	onlyHints := w.open[false] == 0
	w.hub.mu.Unlock()
	defer func() {
		if err != nil {
			w.putBack(changed)
		}
	}()
	logs, jobs, err := w.newest()
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(logs, func(l store.LogVersion) bool { return w.logs.has(l.ID) })
	slices.Reverse(fresh)
	found := map[int64]store.JobVersion{}
	created := w.created(jobs, found)
	if err := w.look(fresh, changed, polled, found); err != nil {
		return err
	}
	maps.DeleteFunc(found, func(number int64, m store.JobVersion) bool {
		known, ok := w.jobs.get(number)
		return ok && known == versionOf(&m)
	})
	if len(found)+len(fresh) == 0 {
		return nil
	}
	events := []event{hint}
	if !onlyHints {
		if events, err = w.load(found, fresh); err != nil {
			return err
		}
		if len(fresh) == roundLogs || created == roundJobs || len(changed) == maxChanged {
			events = append([]event{skipped}, events...)
		}
	}
	for number, m := range found {
		w.jobs.put(number, versionOf(&m))
	}
	for _, l := range fresh {
		w.logs.put(l.ID, struct{}{})
	}
	w.spread(events)
	return nil
}

// created takes in the newest jobs, and tells how many of them are new. One that
// is older than the watcher has only come to be among the newest.
func (w *watcher) created(jobs []store.JobVersion, found map[int64]store.JobVersion) (n int) {
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

// look finds the jobs that new logs refer to, those known to have changed and, when
// a poll is due, those that became final.
func (w *watcher) look(logs []store.LogVersion, changed []job.Ref, polled bool, found map[int64]store.JobVersion) error {
	ids := changed
	for _, l := range logs {
		ids = append(ids, job.Ref{Number: l.Job})
	}
	slices.SortFunc(ids, func(a, b job.Ref) int { return cmp.Compare(a.Number, b.Number) })
	ids = slices.Compact(ids)
	var jobs []store.JobVersion
	var err error
	if len(ids) > 0 {
		if jobs, err = w.hub.Store.JobVersionsOf(w.ctx, w.owner, ids); err != nil {
			return err
		}
	}
	if polled {
		now := w.hub.Store.Now()
		since := w.polled.Add(-overlap)
		if since.Before(w.began) {
			since = w.began
		}
		ended, err := w.hub.Store.JobVersionsEnded(w.ctx, w.owner, since, maxEnded)
		if err != nil {
			return err
		}
		w.polled = now
		jobs = append(jobs, ended...)
	}
	for _, j := range jobs {
		found[j.Number] = j
	}
	return nil
}

// load returns the events of jobs and logs, jobs first. It reads small records, up to
// maxLoaded bytes; the others are read when they are written.
func (w *watcher) load(found map[int64]store.JobVersion, fresh []store.LogVersion) ([]event, error) {
	var jobs []job.Ref
	var logs []uuid.UUID
	left := maxLoaded
	events := make([]event, 0, len(found)+len(fresh))
	for _, number := range slices.Sorted(maps.Keys(found)) {
		events = append(events, event{job: number})
		if size := found[number].Size; size <= min(maxSmall, left) {
			left -= size
			jobs = append(jobs, job.Ref{Number: number})
		}
	}
	for _, l := range fresh {
		events = append(events, event{log: l.ID})
		if l.Size <= min(maxSmall, left) {
			left -= l.Size
			logs = append(logs, l.ID)
		}
	}
	texts, err := w.texts(jobs, logs)
	if err != nil {
		return nil, err
	}
	for i, e := range events {
		events[i].text = texts[event{log: e.log, job: e.job}.key()]
	}
	return events, nil
}

// key names what an event is about.
func (e event) key() [24]byte {
	var k [24]byte
	binary.BigEndian.PutUint64(k[:8], uint64(e.job))
	copy(k[8:], e.log[:])
	return k
}

// texts reads records and returns the texts of their events.
func (w *watcher) texts(jobs []job.Ref, logs []uuid.UUID) (map[[24]byte][]byte, error) {
	texts := map[[24]byte][]byte{}
	if len(jobs) > 0 {
		read, err := w.hub.Store.JobGetMany(w.ctx, w.owner, jobs)
		if err != nil {
			return nil, err
		}
		for _, j := range read {
			if j != nil {
				e := jobEvent(j)
				texts[e.key()] = e.text
			}
		}
	}
	if len(logs) > 0 {
		read, err := w.hub.Store.LogGetMany(w.ctx, w.owner, logs)
		if err != nil {
			return nil, err
		}
		for _, l := range read {
			e := logEvent(l)
			texts[e.key()] = e.text
		}
	}
	return texts, nil
}

// spread passes events to every stream.
func (w *watcher) spread(events []event) {
	w.hub.mu.Lock()
	streams := slices.Collect(maps.Keys(w.streams))
	w.hub.mu.Unlock()
	for _, s := range streams {
		s.push(events)
	}
}

// recent remembers the latest of a number of things.
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
