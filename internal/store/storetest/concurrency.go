package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var concurrencyTests = group{
	"OneKeyStoresOne":          concurrencyOneKey,
	"EachRunClaimedOnce":       concurrencyClaims,
	"CancelRacesFinish":        concurrencyCancelFinish,
	"CancelRacesClaim":         concurrencyCancelClaim,
	"ReleaseRacesClaim":        concurrencyReleaseClaim,
	"DisableRacesFinish":       concurrencyDisableFinish,
	"EventsOvertakeNobody":     concurrencyEvents,
	"ReadersSeeWholeFinishes":  concurrencyReaders,
	"EachDeliveryTriedOnce":    concurrencyDeliveries,
	"OverlappingFinishBatches": concurrencyFinishBatches,
}

// rounds returns how often a race is run.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// random returns a source whose seed is printed when the test fails.
func (w *world) random() *rand.Rand {
	seed := rand.Uint64()
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// race runs functions concurrently, started in random order.
func race(r *rand.Rand, functions ...func()) {
	r.Shuffle(len(functions), func(i, k int) { functions[i], functions[k] = functions[k], functions[i] })
	start := make(chan struct{})
	var wg sync.WaitGroup
	for _, f := range functions {
		wg.Go(func() {
			<-start
			f()
		})
	}
	close(start)
	wg.Wait()
}

// pending stores n jobs that are due at a time, in one batch.
func (w *world) pending(n int, due time.Time) []*job.Job {
	w.Helper()
	jobs := make([]store.NewJob, n)
	for i := range jobs {
		jobs[i] = w.oneOff(w.owner, due)
	}
	return w.insert(jobs...)
}

// concurrencyOneKey: of simultaneous creates with one key, one is stored, and all
// return the same job.
func concurrencyOneKey(w *world) {
	const workers = 8
	keys := rounds(500)
	heard := make([][]int64, workers)
	stored := make([]int, keys)
	var mu sync.Mutex
	var together []func()
	for i := range workers {
		heard[i] = make([]int64, keys)
		together = append(together, func() {
			for k := range keys {
				batch := []store.NewJob{w.keyed(w.owner, fmt.Sprint(k)), w.keyed(w.owner, fmt.Sprint(k))}
				results, err := w.s.JobInsertMany(w.ctx, batch[:1+(i+k)%2])
				if err != nil {
					w.Errorf("JobInsertMany: %v", err)
					return
				}
				heard[i][k] = results[0].Job.Number
				for _, r := range results {
					if !r.Conflict {
						mu.Lock()
						stored[k]++
						mu.Unlock()
					}
				}
			}
		})
	}
	race(w.random(), together...)
	for k := range keys {
		for i := range workers {
			if heard[i][k] != heard[0][k] {
				w.Fatalf("key %d: jobs %d and %d hold it", k, heard[i][k], heard[0][k])
			}
		}
		if stored[k] != 1 {
			w.Fatalf("key %d: %d jobs stored", k, stored[k])
		}
	}
	if n := len(w.peek()); n != keys {
		w.Errorf("%d items for %d keys", n, keys)
	}
}

// concurrencyClaims: each queue item is claimed exactly once, by whichever node
// and in whatever order.
func concurrencyClaims(w *world) {
	const workers = 6
	r := w.random()
	jobs := w.pending(rounds(2000), w.past())
	got := make([]int, len(jobs))
	var mu sync.Mutex
	var together []func()
	for range workers {
		order := r.Perm(len(jobs))
		size := 1 + r.IntN(50)
		together = append(together, func() {
			for len(order) > 0 {
				part := order[:min(size, len(order))]
				order = order[len(part):]
				claims := make([]store.Claim, len(part))
				for i, k := range part {
					claims[i] = w.claimOf(jobs[k], w.past())
				}
				claimed, err := w.s.QueueClaim(w.ctx, w.node, claims)
				if err != nil {
					w.Errorf("QueueClaim: %v", err)
					return
				}
				mu.Lock()
				for i, k := range part {
					if claimed[i] {
						got[k]++
					}
				}
				mu.Unlock()
			}
		})
	}
	race(r, together...)
	for k, times := range got {
		if times != 1 {
			w.Fatalf("item %d was claimed %d times", k, times)
		}
	}
	logs := w.listLogs(w.owner, job.LogQuery{ListQuery: job.ListQuery{Limit: 10 * len(jobs)}})
	if len(logs) != len(jobs) {
		w.Errorf("%d request logs for %d claims", len(logs), len(jobs))
	}
}

// concurrencyCancelFinish: of a cancel and the finish of an attempt, exactly one
// succeeds.
func concurrencyCancelFinish(w *world) {
	r := w.random()
	for _, j := range w.pending(rounds(500), w.past()) {
		c := w.begin(j)
		var held, cancelled bool
		race(r, func() {
			got, err := w.s.QueueFinish(w.ctx, []store.Finish{w.end(j, c, w.completes)})
			held = err == nil && got[0]
			if err != nil {
				w.Errorf("QueueFinish: %v", err)
			}
		}, func() {
			got, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
				changes := cancel(m)
				cancelled = changes != nil
				if cancelled {
					changes.Logs = []job.Log{w.log(j, job.EventError, w.now)}
				}
				return changes
			})
			if err != nil || !got.State.Final() {
				w.Errorf("JobChange: %v, %s", err, showJob(got))
			}
		})
		want, logs := job.Completed, "http.request http.response"
		if cancelled {
			want, logs = job.Cancelled, "http.request http.error"
		}
		got := w.get(j)
		if held == cancelled || got.State != want || got.CompletedAt.IsZero() != cancelled || got.CancelledAt.IsZero() == cancelled ||
			w.events(j) != logs {
			w.Fatalf("held %v, cancelled %v, but %s with logs %q", held, cancelled, showJob(got), w.events(j))
		}
	}
	if refs := w.peek(); len(refs) != 0 {
		w.Errorf("left in the queue: %s", show(refs, showRef))
	}
}

// concurrencyCancelClaim: a claim after the cancel gets nothing; the cancel sees
// a claim before it.
func concurrencyCancelClaim(w *world) {
	r := w.random()
	for _, j := range w.pending(rounds(300), w.past()) {
		c := w.claimOf(j, w.ahead())
		c.Deliveries = []job.Delivery{w.webhook(j, 1, "started", c.StartAt)}
		var claimed, seen bool
		race(r, func() {
			got, err := w.s.QueueClaim(w.ctx, w.node, []store.Claim{c})
			claimed = err == nil && got[0]
			if err != nil {
				w.Errorf("QueueClaim: %v", err)
			}
		}, func() {
			_, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
				seen = m.Claim != nil
				return cancel(m)
			})
			if err != nil {
				w.Errorf("JobChange: %v", err)
			}
		})
		if got := w.get(j); claimed != seen || got.State != job.Cancelled {
			w.Fatalf("claimed %v, seen by the cancel %v, %s", claimed, seen, showJob(got))
		}
		if item, left := w.load(c.QueueKey), w.peekKind(store.KindDelivery); item != nil || len(left) != 0 {
			w.Fatalf("left over: %+v, %s", item, show(left, showRef))
		}
		if _, err := w.s.LogGet(w.ctx, w.owner, c.Log.ID); err == nil {
			w.Fatalf("the log of the claim is still there")
		}
	}
}

// concurrencyReleaseClaim: an item that is released and claimed repeatedly always
// has exactly one holder.
func concurrencyReleaseClaim(w *world) {
	const workers = 4
	r := w.random()
	jobs := w.pending(4, w.past())
	var together []func()
	for range workers {
		draw := rand.New(rand.NewPCG(r.Uint64(), 0))
		together = append(together, func() {
			for range rounds(150) {
				c := w.claimOf(jobs[draw.IntN(len(jobs))], w.ahead())
				got, err := w.s.QueueClaim(w.ctx, w.node, []store.Claim{c})
				if err == nil && got[0] {
					err = w.s.QueueRelease(w.ctx, w.node, []store.Claim{c})
				}
				if err != nil {
					w.Errorf("claiming and giving back: %v", err)
					return
				}
			}
		})
	}
	race(r, together...)
	for _, j := range jobs {
		w.same("a job given back", showJob(w.get(j)), showJob(j))
		w.settle(j, w.completes)
		if names := w.events(j); names != "http.request http.response" {
			w.Errorf("the logs are %q, want those of the one attempt", names)
		}
	}
}

// disable and enable are simplified decisions about a schedule.
func (w *world) disable(m *store.Snapshot) *store.Changes {
	c := &store.Changes{}
	if m.Job != nil && m.Claim == nil {
		c = cancel(m)
	}
	s := *m.Schedule
	s.DisabledAt = m.Now
	c.Schedule = &s
	return c
}

func (w *world) enable(m *store.Snapshot) *store.Changes {
	if m.Schedule.Live() {
		return nil
	}
	s := *m.Schedule
	s.DisabledAt = time.Time{}
	c := &store.Changes{Schedule: &s}
	if m.Job == nil {
		c.Next = w.nextOf(m.Schedule, w.ahead())
	}
	return c
}

// concurrencyDisableFinish: in any order, an enabled schedule has exactly one
// unfinished job and a disabled one has none.
func concurrencyDisableFinish(w *world) {
	r := w.random()
	for round := range rounds(400) {
		n := w.recurring(w.owner, w.past())
		j := w.insertOne(n)
		end := w.end(j, w.begin(j), w.completes)
		decide := end.Decide
		end.Decide = func(m *store.Snapshot) *store.Changes {
			changes := decide(m)
			if m.Schedule.Live() {
				changes.Next = w.nextOf(n.Schedule, w.ahead())
			}
			return changes
		}
		change := func(decide store.Decide) func() {
			return func() {
				if _, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, decide); err != nil {
					w.Errorf("ScheduleChange: %v", err)
				}
			}
		}
		together := []func(){change(w.disable), func() {
			if held, err := w.s.QueueFinish(w.ctx, []store.Finish{end}); err != nil || !held[0] {
				w.Errorf("QueueFinish: %v, %v", held, err)
			}
		}}
		if round%2 == 0 {
			together = append(together, change(w.enable))
		}
		race(r, together...)
		w.checkSchedule(n.Schedule.ID)
	}
}

func (w *world) checkSchedule(id uuid.UUID) {
	w.Helper()
	want := 0
	if w.schedule(w.owner, id).Live() {
		want = 1
	}
	unfinished := w.listJobs(w.owner, job.Query{
		ListQuery: top, Schedule: id, States: []job.State{job.Available, job.Retryable, job.Executing},
	})
	if len(unfinished) != want {
		w.Fatalf("%d unfinished jobs, want %d: %s", len(unfinished), want, show(unfinished, showJob))
	}
}

// concurrencyEvents: events that are stored while earlier ones are delivered are
// all delivered in order.
func concurrencyEvents(w *world) {
	const jobs = 4
	each := rounds(100)
	stored := w.pending(jobs, w.ahead())
	sent := make([][]string, jobs)
	var together []func()
	for _, j := range stored {
		together = append(together, func() {
			for n := range each {
				event := []job.Delivery{w.webhook(j, 1, fmt.Sprint(n), w.past())}
				_, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: j.Number}, func(*store.Snapshot) *store.Changes {
					return &store.Changes{Deliveries: event}
				})
				if err != nil {
					w.Errorf("JobChange: %v", err)
				}
			}
		})
	}
	together = append(together, func() {
		for left := jobs * each; left > 0 && !w.Failed() && w.ctx.Err() == nil; {
			for _, ref := range w.peekKind(store.KindDelivery) {
				item := w.load(ref)
				k := int(item.Delivery.Job - stored[0].Number)
				sent[k] = append(sent[k], item.Delivery.Event)
				w.try(ref, w.delivered())
				left--
			}
		}
	})
	race(w.random(), together...)
	var want []string
	for n := range each {
		want = append(want, fmt.Sprint(n))
	}
	for _, names := range sent {
		w.same("the events of a job", strings.Join(names, " "), strings.Join(want, " "))
	}
}
