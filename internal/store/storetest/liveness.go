package storetest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var livenessTests = group{
	"SubscriberHearsEveryRun":  lifeSubscribe,
	"SubscriberHearsNoFailure": lifeSubscribeNoFailure,
	"Ping":                     lifePing,
	"CancelledBefore":          lifeCancelledBefore,
	"CancelledWhileWaiting":    lifeCancelledWhileWaiting,
	"CloseWithWritesUnderWay":  lifeClose,
	"Restarted":                lifeRestarted,
}

// heard collects the notices of a subscriber.
type heard chan []store.QueueKey

// subscribe sets a subscriber that verifies that the items of a notice can be
// read.
func (w *world) subscribe() heard {
	h := make(heard, 1000)
	w.s.Subscribe(func(n store.Notice) {
		if len(n.Items) > 0 {
			h <- slices.Clone(n.Items)
		}
	})
	return h
}

// want waits until exactly these items have been notified.
func (h heard) want(w *world, what string, want ...store.QueueKey) {
	w.Helper()
	var got []store.QueueKey
	for len(got) < len(want) {
		refs := receive(w, "the notice of "+what, h)
		runs, err := w.s.QueueLoad(w.ctx, refs)
		w.ok("QueueLoad", err)
		for i, run := range runs {
			if run == nil {
				w.Errorf("%s: %s was notified before it can be read", what, showRef(refs[i]))
			}
		}
		got = append(got, refs...)
	}
	slices.SortFunc(got, inOrder)
	slices.SortFunc(want, inOrder)
	w.same("heard of "+what, show(got, showRef), show(want, showRef))
}

func lifeSubscribe(w *world) {
	h := w.subscribe()
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(w.oneOff(w.other, w.ahead()))
	h.want(w, "one job", refOf(j))
	jobs := w.insert(n, w.oneOff(w.owner, w.ahead()))
	h.want(w, "two jobs", refOf(jobs[0]), refOf(jobs[1]))

	c := w.claimOf(jobs[0], w.past())
	c.Deliveries = []job.Delivery{w.webhook(jobs[0], 1, "started", w.past()), w.webhook(jobs[0], 1, "request", w.past())}
	w.claim(c)
	h.want(w, "the first event of a claim", w.peekKind(store.KindDelivery)...)

	next := w.nextOf(n.Schedule, w.ahead())
	w.finish(w.end(jobs[0], c, func(j *job.Job, changes *store.Changes) {
		w.completes(j, changes)
		changes.Next = next
		changes.Deliveries = []job.Delivery{w.callback(j, 1, w.ahead())}
	}))
	deliveries := w.peekKind(store.KindDelivery)
	h.want(w, "a finish", refOf(next.Job), deliveries[1])

	w.try(deliveries[0], w.failed())
	deliveries = w.peekKind(store.KindDelivery)
	h.want(w, "a redelivery and the next event", deliveries[0], w.redelivery())
	w.finish(w.end(jobs[1], w.begin(jobs[1]), w.retries(w.past())))
	h.want(w, "a retry", refOf(w.get(jobs[1])))
}

// redelivery returns the webhook that is to be retried.
func (w *world) redelivery() store.QueueKey {
	w.Helper()
	for _, ref := range w.peekKind(store.KindDelivery) {
		if run := w.load(ref); run.Delivery.Attempt == 1 {
			return ref
		}
	}
	w.Fatalf("no redelivery in the queue")
	panic("unreachable")
}

func lifeSubscribeNoFailure(w *world) {
	h := w.subscribe()
	first := w.insertOne(w.oneOff(w.owner, w.ahead()))
	h.want(w, "the first", refOf(first))
	if _, err := w.s.JobInsertMany(w.ctx, []store.NewJob{w.oneOff(w.owner, w.ahead()), w.twin(first)}); err == nil {
		w.Error("a twin was stored")
	}
	held := w.keyed(w.owner, "key")
	h.want(w, "the key's holder", refOf(w.insertOne(held)))
	w.wantHeld(w.keyed(w.owner, "key"), held.Job)
	last := w.insertOne(w.oneOff(w.owner, w.ahead()))
	h.want(w, "the last, and nothing of what was not stored", refOf(last))
}

func lifePing(w *world) { w.ok("Ping", w.s.Ping(w.ctx)) }

// lifeCancelledBefore: a call with a cancelled context fails and changes nothing.
func lifeCancelledBefore(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	before := w.everything()
	gone, leave := context.WithCancel(w.ctx)
	leave()
	never := func(*store.Snapshot) *store.Changes { return nil }
	for range 20 { // a store that draws lots between two channels gets it right by chance
		for what, call := range map[string]func() error{
			"JobInsertMany": func() error {
				_, err := w.s.JobInsertMany(gone, []store.NewJob{w.oneOff(w.owner, w.ahead())})
				return err
			},
			"JobChange": func() error {
				_, err := w.s.JobChange(gone, w.owner, job.Ref{Number: j.Number}, cancel)
				return err
			},
			"ScheduleChange": func() error {
				_, err := w.s.ScheduleChange(gone, w.owner, uuid.New(), never)
				return err
			},
			"QueueClaim": func() error {
				_, err := w.s.QueueClaim(gone, w.node, []store.Claim{w.claimOf(j, w.past())})
				return err
			},
			"JobGet":    func() error { _, err := w.s.JobGet(gone, w.owner, job.Ref{Number: j.Number}); return err },
			"JobList":   func() error { _, err := w.s.JobList(gone, w.owner, job.Query{ListQuery: top}); return err },
			"QueuePeek": func() error { _, err := w.s.QueuePeek(gone, store.QueueKey{}, time.Time{}, 10); return err },
			"JobPrune":  func() error { _, err := w.s.JobPrune(gone, w.ahead(), store.PruneCursor{}, 10); return err },
			"Ping":      func() error { return w.s.Ping(gone) },
		} {
			w.wantCode(what+" for nobody", call(), fault.Unavailable)
		}
	}
	w.same("the store", w.everything(), before)
}

// lifeCancelledWhileWaiting: if the context is cancelled while a write waits, the
// result says whether nothing or everything was stored.
func lifeCancelledWhileWaiting(w *world) {
	blocked := w.insertOne(w.oneOff(w.owner, w.past()))
	for range rounds(200) {
		entered, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: blocked.Number}, func(*store.Snapshot) *store.Changes {
				once.Do(func() { close(entered) })
				<-release
				return nil
			})
			if err != nil {
				w.Errorf("JobChange: %v", err)
			}
		})
		receive(w, "the decision", entered)
		ctx, leave := context.WithCancel(w.ctx)
		n := w.oneOff(w.owner, w.ahead())
		var err error
		wg.Go(func() { _, err = w.s.JobInsertMany(ctx, []store.NewJob{n}) })
		wg.Go(leave)
		wg.Go(func() { close(release) })
		wg.Wait()
		_, missing := w.s.JobGet(w.ctx, w.owner, job.Ref{UUID: n.Job.ID})
		if (err == nil) != (missing == nil) {
			w.Fatalf("the insert returned %v, reading it %v", err, missing)
		}
		if err != nil {
			w.wantCode("an insert whose caller left", err, fault.Unavailable)
		}
	}
}

// lifeClose: a write under way while the store is closed either succeeds or
// fails, and nothing hangs.
func lifeClose(w *world) {
	const writers = 8
	other := &closing{Store: w.s}
	w.s = other
	started := make(chan struct{}, writers)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				_, err := w.s.JobInsertMany(w.ctx, []store.NewJob{w.oneOff(w.owner, w.ahead())})
				if err != nil {
					w.wantCode("a write while closing", err, fault.Unavailable)
					return
				}
				if i == 3 {
					started <- struct{}{}
				}
			}
		})
	}
	for range writers {
		receive(w, "a writer", started)
	}
	w.ok("Close", other.Close())
	wg.Wait()
	w.wantCode("a ping after the end", w.s.Ping(w.ctx), fault.Unavailable)
	_, err := w.s.JobGet(w.ctx, w.owner, job.Ref{Number: 1})
	w.wantCode("a read after the end", err, fault.Unavailable)
}

// closing allows both the test and the suite to close a store.
type closing struct {
	store.Store
	closed atomic.Bool
}

func (c *closing) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	return c.Store.Close()
}

// lifeRestarted: a starting node finds the existing records.
func lifeRestarted(w *world) {
	n := w.recurring(w.owner, w.past())
	w.insert(n, w.keyed(w.owner, "key"))
	before := w.everything()
	node, err := w.s.NodeStart(w.ctx)
	if err != nil || node == 0 {
		w.Fatalf("NodeStart = %d, %v", node, err)
	}
	w.same("the store after another start", w.everything(), before)
}
