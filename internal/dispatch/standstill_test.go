package dispatch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// standStill keeps the process from running for a time.
func (q *fakeQueue) standStill(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.still = time.Now().Add(d)
}

// reasons returns for each attempt that was not sent why its context ended.
func (b *bench) reasons() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.withheld)
}

func (q *fakeQueue) questions() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.helds
}

// Item 1 is cancelled by another node while this one stands still, item 2 is not.
func TestStandstill_CancelledItemsAreNotSent(t *testing.T) {
	for name, x := range map[string]struct {
		due      time.Duration // after the start
		at, ends time.Duration // of the standstill
		prepare  func(b *bench)
		dial     time.Duration // longer than until the standstill: item 1 is fired before it
	}{
		"held, due meanwhile":  {due: 90 * time.Millisecond, at: 40 * time.Millisecond, ends: time.Second},
		"held, due afterwards": {due: 90 * time.Millisecond, at: 20 * time.Millisecond, ends: 85 * time.Millisecond},
		"being claimed": {due: 90 * time.Millisecond, at: 20 * time.Millisecond, ends: time.Second,
			prepare: func(b *bench) { b.queue.with(func() { b.queue.answering = 300 * time.Millisecond }) }},
		"waits for a connection": {due: 30 * time.Millisecond, at: 100 * time.Millisecond, ends: time.Second,
			dial: 500 * time.Millisecond},
		"waits, while it goes on": {due: 30 * time.Millisecond, at: 100 * time.Millisecond, ends: 400 * time.Millisecond,
			dial: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 10, nil)
				due := b.queue.Now().Add(x.due)
				b.queue.add(ref(1, 1, 1, due), ref(2, 1, 2, due))
				b.dials(x.dial)
				if x.prepare != nil {
					x.prepare(b)
				}
				pause.For(t.Context(), x.at)
				b.queue.with(func() {
					if b.queue.claims != 2 {
						t.Fatalf("%d items are claimed", b.queue.claims)
					}
				})
				b.queue.standStill(x.ends - x.at)
				pause.For(t.Context(), 10*time.Millisecond)
				b.queue.remove(store.ItemID{Number: 1})
				pause.For(t.Context(), x.ends-x.at)
				pause.For(t.Context(), time.Second)
				fired := b.firings()
				if len(fired) != 1 || fired[0].ref.Number != 2 {
					t.Fatalf("fired %+v, want 2 alone", fired)
				}
				if late := fired[0].at.Sub(due.Add(x.dial)); late > max(0, x.ends-x.due)+100*time.Millisecond {
					t.Errorf("item 2 was %v late", late)
				}
				if x.dial > 0 && (!slices.Equal(b.reasons(), []error{execute.ErrCancelled})) {
					t.Errorf("withheld: %v, want one, cancelled", b.reasons())
				}
				pause.For(t.Context(), time.Second)
				if used, unsent := b.InUse(store.KindJob), b.unsent.Load(); used != 0 || unsent != 0 {
					t.Errorf("%d slots are still held, %d requests unsent", used, unsent)
				}
			})
		})
	}
}

// The schedule of item 1 is changed by another node while this one stands still: the item
// is held, and its request is not sent.
func TestStandstill_RunsOfChangedSchedulesAreNotSent(t *testing.T) {
	for name, dial := range map[string]time.Duration{"held": 0, "fired": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 10, nil)
				b.dials(dial)
				due := b.queue.Now().Add(90 * time.Millisecond)
				if dial > 0 {
					due = b.queue.Now()
				}
				b.queue.add(ref(1, 1, 1, due), ref(2, 1, 2, due))
				pause.For(t.Context(), 50*time.Millisecond)
				b.queue.standStill(400 * time.Millisecond)
				b.queue.with(func() { b.queue.edited = map[store.ItemID]bool{{Number: 1}: true} })
				pause.For(t.Context(), 2*time.Second)
				fired := b.firings()
				if len(fired) != 1 || fired[0].ref.Number != 2 || !slices.Equal(b.reasons(), []error{nil}) {
					t.Errorf("fired %+v, withheld %v; want 2, and 1 withheld without being aborted", fired, b.reasons())
				}
			})
		})
	}
}

// A run whose request leaves long after its start is not sent if its schedule was changed
// meanwhile. If the store can't tell, it is sent soon.
func TestDelay_AChangeOfTheScheduleHolds(t *testing.T) {
	for name, x := range map[string]struct {
		dial  time.Duration
		fails bool
		takes time.Duration
		fired []int64
	}{
		"late":                  {dial: maxDelay + time.Millisecond, fired: []int64{1, 3}},
		"in time":               {dial: maxDelay - time.Millisecond, fired: []int64{1, 2, 3}},
		"the store is away":     {dial: 2 * maxDelay, fails: true, fired: []int64{1, 2, 3}},
		"the store is too slow": {dial: 2 * maxDelay, takes: time.Minute, fired: []int64{1, 2, 3}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 10, nil)
			b.dials(x.dial)
			now := b.queue.Now()
			refs := []store.QueueKey{ref(1, 1, 1, now), ref(2, 1, 2, now), ref(3, 1, 3, now)}
			b.queue.with(func() {
				for i, ref := range refs {
					b.queue.items[ref.ItemID] = &store.QueueItem{QueueKey: ref}
					if i > 0 {
						b.queue.items[ref.ItemID].Schedule = &job.Schedule{ID: uuid.New()}
					}
				}
				b.queue.edited = map[store.ItemID]bool{{Number: 1}: true, {Number: 2}: true}
				b.queue.heldFails, b.queue.heldTakes = x.fails, []time.Duration{x.takes}
			})
			b.Notice(store.Notice{Items: refs})
			pause.For(t.Context(), x.dial+delayedLimit+50*time.Millisecond)
			var fired []int64
			for _, f := range b.firings() {
				fired = append(fired, f.ref.Number)
			}
			slices.Sort(fired)
			if !slices.Equal(fired, x.fired) {
				t.Errorf("%s: %v were sent, want %v; withheld %v", name, fired, x.fired, b.reasons())
			}
			pause.For(t.Context(), 2*time.Minute)
		})
	}
}

// An attempt that expires while the process stands still is not sent. One that only waits
// for its target has started in time.
func TestStandstill_ExpiredAttemptsAreNotSent(t *testing.T) {
	for name, x := range map[string]struct {
		still time.Duration
		sent  int
	}{
		"expired meanwhile": {still: 800 * time.Millisecond},
		"soon enough":       {still: 200 * time.Millisecond, sent: 1},
		"never stood still": {sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 10, nil)
				const dial, lasts = 300 * time.Millisecond, 500 * time.Millisecond
				b.dials(dial)
				if x.still == 0 {
					b.dials(2 * lasts)
				}
				b.mu.Lock()
				b.lasts = lasts
				b.mu.Unlock()
				b.queue.add(ref(1, 1, 1, b.queue.Now()))
				pause.For(t.Context(), 50*time.Millisecond)
				if x.still > 0 {
					b.queue.standStill(x.still)
				}
				pause.For(t.Context(), 2*time.Second)
				if fired := b.firings(); len(fired) != x.sent || len(b.reasons()) != 1-x.sent {
					t.Errorf("fired %+v, withheld %v, want %d sent", fired, b.reasons(), x.sent)
				}
			})
		})
	}
}

// An attempt that a standstill keeps from starting for long is told of its later start, on
// which the points that its run stands for depend. Waiting for its target is no such delay.
func TestStandstill_LateAttemptsStartAgain(t *testing.T) {
	for name, x := range map[string]struct {
		still, dial time.Duration
		restarts    int
	}{
		"for long":            {still: slotWait + time.Second, dial: 300 * time.Millisecond, restarts: 1},
		"shortly":             {still: slotWait / 2, dial: 300 * time.Millisecond},
		"while it waits only": {dial: 2 * slotWait},
		"shortly, waiting":    {still: slotWait / 2, dial: 2 * slotWait},
		"for long, waiting":   {still: slotWait + time.Second, dial: 2 * slotWait, restarts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 10, nil)
				b.dials(x.dial)
				b.queue.add(ref(1, 1, 1, b.queue.Now()))
				pause.For(t.Context(), 50*time.Millisecond)
				if x.still > 0 {
					b.queue.standStill(x.still)
				}
				pause.For(t.Context(), 5*time.Second)
				b.mu.Lock()
				defer b.mu.Unlock()
				if len(b.fired) != 1 || len(b.restarted) != x.restarts || x.restarts > 0 && b.restarted[0] != b.fired[0].at {
					t.Errorf("fired %+v, started again at %v, want %d times", b.fired, b.restarted, x.restarts)
				}
			})
		})
	}
}

// A standstill while the store answers counts once, not as a wait for the answer too.
func TestStandstill_WhileTheStoreAnswersCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.dials(300 * time.Millisecond)
		b.queue.add(ref(1, 1, 1, b.queue.Now()))
		pause.For(t.Context(), 50*time.Millisecond)
		const first, second = slotWait / 5, slotWait * 3 / 5
		b.queue.standStill(first)
		b.queue.with(func() { b.queue.heldTakes = []time.Duration{second} })
		pause.For(t.Context(), 270*time.Millisecond)
		b.queue.standStill(second)
		pause.For(t.Context(), 5*time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		if asked := b.queue.questions(); len(b.fired) != 1 || len(b.restarted) != 0 || asked != 2 {
			t.Errorf("fired %+v, started again at %v, the store was asked %d times", b.fired, b.restarted, asked)
		}
	})
}

// A request that can't be confirmed is not sent.
func TestStandstill_UnconfirmedRequestIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.dials(300 * time.Millisecond)
		b.queue.add(ref(1, 1, 1, b.queue.Now()))
		pause.For(t.Context(), 50*time.Millisecond)
		b.queue.with(func() { b.queue.heldFails = true })
		b.queue.standStill(200 * time.Millisecond)
		pause.For(t.Context(), 500*time.Millisecond)
		if fired := b.firings(); len(fired) != 0 || !slices.Equal(b.reasons(), []error{nil}) {
			t.Errorf("fired %+v, withheld %v", fired, b.reasons())
		}
	})
}

// A request is not sent if the lease of its claim ended before it left.
func TestLeave_WithoutALeaseIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.dials(300 * time.Millisecond)
		b.queue.add(ref(1, 1, 1, b.queue.Now()))
		pause.For(t.Context(), 50*time.Millisecond)
		b.queue.with(func() { b.queue.leaseLapsed = true })
		pause.For(t.Context(), 500*time.Millisecond)
		if fired := b.firings(); len(fired) != 0 || !slices.Equal(b.reasons(), []error{nil}) {
			t.Errorf("fired %+v, withheld %v", fired, b.reasons())
		}
	})
}

// A process that stands still again while the store answers asks once more.
func TestStandstill_AnswersThatComeLateAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.dials(300 * time.Millisecond)
		b.queue.add(ref(1, 1, 1, b.queue.Now()))
		pause.For(t.Context(), 50*time.Millisecond)
		b.queue.standStill(200 * time.Millisecond)
		b.queue.with(func() { b.queue.heldTakes = []time.Duration{200 * time.Millisecond} })
		pause.For(t.Context(), 260*time.Millisecond)
		b.queue.standStill(150 * time.Millisecond)
		pause.For(t.Context(), time.Second)
		if fired := b.firings(); len(fired) != 1 {
			t.Errorf("fired %+v, withheld %v", fired, b.reasons())
		}
		if asked := b.queue.questions(); asked != 2 {
			t.Errorf("the store was asked %d times", asked)
		}
	})
}

// After a standstill, few queries confirm many claims, and they are sent.
func TestStandstill_ManyClaimsAreConfirmedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 5000, nil)
		b.dials(30 * time.Millisecond)
		due := b.queue.Now().Add(90 * time.Millisecond)
		const n = 2000
		for i := range int64(n) {
			b.queue.add(ref(i+1, 1+i%5, uint32(i%7), due))
		}
		pause.For(t.Context(), 80*time.Millisecond)
		b.queue.standStill(time.Second)
		pause.For(t.Context(), 2*time.Second)
		if fired := b.firings(); len(fired) != n {
			t.Errorf("%d of %d fired", len(fired), n)
		}
		if asked := b.queue.questions(); asked == 0 || asked > 10 {
			t.Errorf("the store was asked %d times", asked)
		}
	})
}

// A node that runs asks the store nothing, however long its requests take.
func TestStandstill_NodeThatRunsAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, func(ctx context.Context, _ store.QueueKey) { pause.For(ctx, 700*time.Millisecond) })
		b.dials(400 * time.Millisecond)
		now := b.queue.Now()
		const n = 20 // most wait for a slot
		for i := range int64(n) {
			b.queue.add(ref(i+1, 1, 1, now.Add(time.Duration(i)*130*time.Millisecond)))
		}
		pause.For(t.Context(), time.Minute)
		if fired, asked := b.firings(), b.queue.questions(); len(fired) != n || asked != 0 {
			t.Errorf("%d of %d fired, the store was asked %d times", len(fired), n, asked)
		}
	})
}

func TestClocks_NoticeWhatEitherClockShows(t *testing.T) {
	for name, x := range map[string]struct {
		wait time.Duration
		wall time.Duration // by which the other clock went on beside that
		want bool
	}{
		"nothing":                       {want: true},
		"some time":                     {wait: standstill, want: true},
		"long":                          {wait: standstill + 1, want: true}, // certain
		"longer":                        {wait: certain + 1},
		"the machine was suspended":     {wait: 10 * time.Millisecond, wall: time.Hour},
		"the clock was set back":        {wait: 10 * time.Millisecond, wall: -time.Hour, want: true},
		"set back while it stood still": {wait: time.Second, wall: -time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newClocks()
			p := c.look()
			time.Sleep(x.wait)
			c.wall -= int64(x.wall)
			p.wall -= int64(x.wall)
			if got := c.prove(p); got != x.want {
				t.Errorf("%s: %t", name, got)
			}
		})
	}
}

// Goroutines that look together after a standstill count it once, and the first look
// counts none.
func TestClocks_CountAStandstillOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClocks()
		const rounds, gap = 1000, 2 * standstill
		var looking sync.WaitGroup
		for range 4 {
			looking.Go(func() {
				for range rounds {
					time.Sleep(gap)
					c.look()
				}
			})
		}
		looking.Wait()
		if stood, n := c.stoodFor(), c.look().standstills; stood != rounds*gap || n != rounds {
			t.Errorf("stood still %d times for %v, want %d times for %v", n, stood, rounds, rounds*gap)
		}
	})
}
