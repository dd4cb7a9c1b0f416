package storetest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// concurrencyReaders: a reader sees either all or nothing of a finish.
func concurrencyReaders(w *world) {
	n := w.recurring(w.owner, w.past())
	w.insertOne(n)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					w.seeOneUnfinished(n.Schedule.ID)
				}
			}
		})
	}
	current := n.Job
	for range rounds(300) {
		next := w.nextOf(n.Schedule, w.past())
		w.finish(w.end(current, w.begin(current), func(j *job.Job, c *store.Changes) {
			w.completes(j, c)
			c.Next = next
		}))
		current = next.Job
	}
	close(done)
	readers.Wait()
}

func (w *world) seeOneUnfinished(id uuid.UUID) {
	jobs, err := w.s.JobList(w.ctx, w.owner, job.Query{
		ListQuery: job.ListQuery{Limit: 10}, Schedule: id, States: []job.State{job.Available, job.Retryable, job.Executing},
	})
	if err != nil || len(jobs) != 1 {
		w.Errorf("a reader saw %d unfinished jobs (%v), want 1", len(jobs), err)
	}
}

// concurrencyDeliveries: concurrent workers attempt each delivery once, and all
// events are delivered whatever the outcomes.
func concurrencyDeliveries(w *world) {
	const workers, events = 4, 5
	r := w.random()
	jobs := w.pending(rounds(100), w.ahead())
	for _, j := range jobs {
		w.sendEvents(j, "a", "b", "c", "d", "e")
	}
	var delivered atomic.Int64
	want := int64(len(jobs) * events)
	var together []func()
	for range workers {
		together = append(together, func() {
			for delivered.Load() < want && w.ctx.Err() == nil && !w.Failed() {
				n, err := w.deliverSome()
				if err != nil {
					w.Errorf("delivering: %v", err)
				}
				delivered.Add(n)
			}
		})
	}
	race(r, together...)
	if n := delivered.Load(); n != want {
		w.Errorf("%d deliveries, want %d", n, want)
	}
	w.wantReleased("in the end", "")
}

// deliverSome claims due deliveries and ends those it got.
func (w *world) deliverSome() (int64, error) {
	refs, err := w.s.QueuePeek(w.ctx, store.QueueKey{}, time.Time{}, 50)
	if err != nil {
		return 0, err
	}
	var claims []store.Claim
	for _, ref := range refs {
		if ref.Kind == store.KindDelivery {
			claims = append(claims, store.Claim{QueueKey: ref, Attempt: 1, StartAt: w.past()})
		}
	}
	got, err := w.s.QueueClaim(w.ctx, w.node, claims)
	if err != nil {
		return 0, err
	}
	var ends []store.Finish
	for i, c := range claims {
		if got[i] {
			ends = append(ends, store.Finish{QueueKey: c.QueueKey, Node: w.node, Attempt: 1, Delivery: &store.DeliveryEnd{Attempt: 1}})
		}
	}
	held, err := w.s.QueueFinish(w.ctx, ends)
	var n int64
	for _, h := range held {
		if h {
			n++
		}
	}
	return n, err
}

// concurrencyFinishBatches: overlapping batches in different orders end each item
// once and don't deadlock.
func concurrencyFinishBatches(w *world) {
	const workers = 4
	r := w.random()
	jobs := w.pending(rounds(1000), w.past())
	ends := make([]store.Finish, len(jobs))
	claims := make([]store.Claim, len(jobs))
	for i, j := range jobs {
		claims[i] = w.claimOf(j, w.past())
		ends[i] = w.end(j, claims[i], w.completes)
	}
	for i := 0; i < len(claims); i += largest {
		w.claim(claims[i:min(i+largest, len(claims))]...)
	}
	ended := make([]atomic.Int64, len(jobs))
	var together []func()
	for range workers {
		order := r.Perm(len(jobs))
		together = append(together, func() {
			for len(order) > 0 {
				part := order[:min(64, len(order))]
				order = order[len(part):]
				batch := make([]store.Finish, len(part))
				for i, k := range part {
					batch[i] = ends[k]
				}
				held, err := w.s.QueueFinish(w.ctx, batch)
				if err != nil {
					w.Errorf("QueueFinish: %v", err)
					return
				}
				for i, k := range part {
					if held[i] {
						ended[k].Add(1)
					}
				}
			}
		})
	}
	race(r, together...)
	for k := range ended {
		if n := ended[k].Load(); n != 1 {
			w.Fatalf("item %d was ended %d times", k, n)
		}
	}
	logs := w.listLogs(w.owner, job.LogQuery{ListQuery: job.ListQuery{Limit: 10 * len(jobs)}, Event: job.EventResponse})
	if len(logs) != len(jobs) {
		w.Errorf("%d response logs for %d jobs", len(logs), len(jobs))
	}
}
