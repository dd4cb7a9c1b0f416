package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestRun_FiresEveryItemExactlyWhenDue(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, nil)
		now := b.queue.Now()
		const n = 800
		for i := range int64(n) {
			r := ref(i+1, 1+i%7, uint32(i%3), now.Add(time.Duration(random.Int64N(int64(time.Minute)))).Truncate(time.Microsecond))
			b.queue.add(r)
			if i%2 == 0 {
				b.Notice(store.Notice{Items: []store.QueueKey{r}}) // the others are found by reading the queue
			}
		}
		pause.For(t.Context(), 61*time.Second)
		fired := b.firings()
		if len(fired) != n {
			t.Fatalf("%d of %d fired", len(fired), n)
		}
		for _, f := range fired {
			if late := f.at.Sub(f.ref.Due); late < 0 || late > time.Second && f.ref.Number%2 == 0 || late > 0 &&
				f.ref.Due.Sub(now) > 2*time.Second {
				t.Errorf("item %d due after %v fired %v late", f.ref.Number, f.ref.Due.Sub(now), late)
			}
		}
		if b.queue.claims != n {
			t.Errorf("%d claims for %d items", b.queue.claims, n)
		}
	})
}

// The hint of an item's new due time arrives while the old one is still known.
func TestNotice_RescheduledItemFiresAtItsNewTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		pause.For(t.Context(), 10*time.Millisecond)
		old := ref(1, 1, 1, b.queue.Now().Add(90*time.Millisecond))
		b.queue.add(old)
		b.Notice(store.Notice{Items: []store.QueueKey{old}})
		synctest.Wait()
		moved := ref(1, 1, 1, old.Due.Add(20*time.Millisecond))
		b.queue.add(moved)
		b.Notice(store.Notice{Cancelled: []store.Cancelled{{Number: 1}}, Items: []store.QueueKey{moved}})
		pause.For(t.Context(), 110*time.Millisecond)
		synctest.Wait()
		if fired := b.firings(); len(fired) != 1 || !fired[0].at.Equal(moved.Due) {
			t.Errorf("fired %+v, want it at %v alone", fired, moved.Due)
		}
	})
}

func TestNotice_FiresAnItemDueNowAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		pause.For(t.Context(), 10*time.Millisecond)
		r := ref(1, 1, 1, b.queue.Now())
		b.queue.add(r)
		b.Notice(store.Notice{Items: []store.QueueKey{r}})
		synctest.Wait()
		if fired := b.firings(); len(fired) != 1 || !fired[0].at.Equal(r.Due) {
			t.Errorf("fired %+v, want item 1 at once", fired)
		}
	})
}

func TestScan_FindsItemsOfLostHintsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		pause.For(t.Context(), 10*time.Millisecond)
		r := ref(1, 1, 1, b.queue.Now())
		b.queue.add(r)
		pause.For(t.Context(), recheck+time.Millisecond)
		if fired := b.firings(); len(fired) != 1 {
			t.Errorf("fired %+v, want item 1", fired)
		}
	})
}

func TestRevoke_KeepsItemsFromFiringUntilRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		due := b.queue.Now().Add(50 * time.Millisecond)
		for number := range int64(3) {
			b.queue.add(ref(number+1, 1, 1, due))
		}
		pause.For(t.Context(), 20*time.Millisecond) // claimed and held by now
		for number := range int64(2) {
			if got := b.Revoke(number+1, due); got != NotStarted {
				t.Fatalf("Revoke(%d) = %d, want NotStarted", number+1, got)
			}
		}
		if got := b.Revoke(9, due); got != NotOwned {
			t.Errorf("Revoke of an unknown item = %d", got)
		}
		b.queue.remove(store.ItemID{Number: 1})
		b.Abort(1)
		pause.For(t.Context(), 100*time.Millisecond)
		b.Restore(2)
		synctest.Wait()
		var numbers []int64
		for _, f := range b.firings() {
			numbers = append(numbers, f.ref.Number)
		}
		if len(numbers) != 2 || numbers[0] != 3 || numbers[1] != 2 {
			t.Errorf("fired %v, want 3 and, once restored, 2", numbers)
		}
		pause.For(t.Context(), later)
		synctest.Wait()
		if used := b.InUse(store.KindJob); used != 0 {
			t.Errorf("%d slots are still held", used)
		}
	})
}

func TestAbort_CancelsARequestUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, hang)
		b.queue.add(ref(1, 1, 1, b.queue.Now()))
		pause.For(t.Context(), 5*time.Millisecond)
		if got := b.Revoke(1, b.queue.Now()); got != Started {
			t.Fatalf("Revoke = %d, want Started", got)
		}
		b.Abort(1)
		synctest.Wait()
		if fired := b.firings(); len(fired) != 1 || !errors.Is(fired[0].cause, execute.ErrCancelled) {
			t.Errorf("fired %+v, want one that was cancelled", fired)
		}
	})
}

func TestConcurrency_IsNeverExceededAndAlwaysUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i, concurrency := range []int{1, 3, 40} {
			b := start(t, concurrency, func(ctx context.Context, _ store.QueueKey) { pause.For(ctx, 10*time.Millisecond) })
			due := b.queue.Now()
			n := 20 * concurrency
			for i := range int64(n) {
				b.queue.add(ref(i+1, i%3, uint32(i%5), due))
			}
			pause.For(t.Context(), 3*time.Second)
			if fired := len(b.firings()); fired != n || b.most > concurrency || b.most < []int{1, 2, 29}[i] {
				t.Errorf("concurrency %d: %d of %d fired, at most %d at once", concurrency, fired, n, b.most)
			}
			b.stop()
		}
	})
}

func TestLanes_OneAccountsBacklogDoesNotDelayAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 100, func(ctx context.Context, _ store.QueueKey) { pause.For(ctx, 20*time.Millisecond) })
		now := b.queue.Now()
		for i := range int64(10_000) {
			b.queue.add(ref(i+1, 1, 1, now.Add(-time.Minute)))
		}
		pause.For(t.Context(), 500*time.Millisecond)
		small := ref(1_000_000, 2, 2, b.queue.Now())
		b.queue.add(small)
		b.Notice(store.Notice{Items: []store.QueueKey{small}})
		pause.For(t.Context(), 100*time.Millisecond)
		for _, f := range b.firings() {
			if f.ref.Account == 2 {
				if late := f.at.Sub(f.ref.Due); late > 50*time.Millisecond {
					t.Errorf("fired %v late", late)
				}
				return
			}
		}
		t.Error("the other account's item has not fired")
	})
}

func TestLanes_HangingReceiversLeaveSlotsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 160, func(ctx context.Context, r store.QueueKey) {
			if r.Lane < 100 {
				hang(ctx, r)
			}
		})
		now := b.queue.Now()
		for i := range int64(5000) {
			b.queue.add(ref(i+1, 1, uint32(i%100), now)) // 100 receivers that never respond
		}
		pause.For(t.Context(), 2*time.Second)
		before := len(b.firings())
		good := b.queue.Now()
		for i := range int64(200) {
			r := ref(10_000+i, 1, 1000+uint32(i%10), good)
			b.queue.add(r)
			b.Notice(store.Notice{Items: []store.QueueKey{r}})
		}
		pause.For(t.Context(), 50*time.Millisecond)
		if fired := len(b.firings()) - before; fired != 200 {
			t.Errorf("%d of 200 items for receivers that respond have fired, %d hang", fired, before)
		}
	})
}

func TestRun_FiresAfterAStoreOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		r := ref(1, 1, 1, b.queue.Now().Add(time.Second))
		b.queue.add(r)
		b.queue.mu.Lock()
		b.queue.failing = true
		b.queue.mu.Unlock()
		pause.For(t.Context(), 2*time.Second)
		b.queue.mu.Lock()
		b.queue.failing = false
		b.queue.mu.Unlock()
		pause.For(t.Context(), 300*time.Millisecond)
		if fired := b.firings(); len(fired) != 1 {
			t.Errorf("fired %+v, want item 1 after the store came back", fired)
		}
	})
}

// TestStartMessage_OfAnotherNodesAttemptIsConfirmed: the message that reports the start
// of an attempt is deleted if the attempt is cancelled before, of which only the node
// that holds the attempt is told.
func TestStartMessage_OfAnotherNodesAttemptIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		due := b.queue.Now().Add(90 * time.Millisecond)
		var messages []store.QueueKey
		for number := range int64(2) {
			m := ref(number+1, 1, 1, due)
			m.Kind = store.KindDelivery
			messages = append(messages, m)
		}
		b.queue.add(messages...)
		b.Notice(store.Notice{Items: messages})
		pause.For(t.Context(), 50*time.Millisecond)
		claims := 0
		b.queue.set(func() { claims = b.queue.claims })
		if claims != 2 {
			t.Fatalf("%d messages were claimed ahead, want 2", claims)
		}
		b.queue.remove(messages[0].ItemID)
		pause.For(t.Context(), 100*time.Millisecond)
		if fired := b.firings(); len(fired) != 1 || fired[0].ref.Number != 2 {
			t.Errorf("fired %+v, want only message 2", fired)
		}
	})
}

// TestScan_RestsNoLongerAfterAnOutage: reads that fail or hang are no reason to read
// the queue less often, so that an item whose hint is lost is found.
func TestScan_RestsNoLongerAfterAnOutage(t *testing.T) {
	for name, outage := range map[string]func(q *fakeQueue, on bool){
		"failing": func(q *fakeQueue, on bool) { q.failing = on },
		"hanging": func(q *fakeQueue, on bool) {
			if q.reading = 0; on {
				q.reading = 10 * time.Minute
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 10, nil)
				set := func(on bool) {
					b.queue.mu.Lock()
					defer b.queue.mu.Unlock()
					outage(b.queue, on)
				}
				set(true)
				pause.For(t.Context(), 10*time.Minute)
				set(false)
				pause.For(t.Context(), 5*time.Second)
				now := b.queue.Now()
				for number := range int64(2) { // the second one hides the first from reads that go on from it
					b.queue.add(ref(number+1, 1, 1, now.Add(time.Duration(1-number)*time.Millisecond)))
					pause.For(t.Context(), 21*time.Second)
				}
				if fired := b.firings(); len(fired) != 2 {
					t.Errorf("fired %+v, want both items", fired)
				}
			})
		})
	}
}

func TestRun_FollowsAClockStepWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.queue.add(ref(1, 1, 1, b.queue.Now().Add(time.Hour)), ref(2, 1, 1, b.queue.Now().Add(2*time.Hour)))
		pause.For(t.Context(), 10*time.Second)
		set := func(step time.Duration) {
			b.queue.mu.Lock()
			b.queue.step = step
			b.queue.mu.Unlock()
		}
		set(time.Hour) // also what a suspended machine looks like
		pause.For(t.Context(), recheck+recheck/10)
		if fired := b.firings(); len(fired) != 1 || fired[0].ref.Number != 1 {
			t.Fatalf("fired %+v, want item 1 within a second of the step", fired)
		}
		set(-time.Hour)
		pause.For(t.Context(), 3*time.Hour-time.Minute)
		if fired := b.firings(); len(fired) != 1 {
			t.Fatalf("item 2 fired early: %+v", fired)
		}
		pause.For(t.Context(), time.Minute+recheck)
		if fired := b.firings(); len(fired) != 2 || fired[1].at.Before(fired[1].ref.Due) {
			t.Errorf("fired %+v, want item 2 when the clock shows its time", fired)
		}
	})
}

func TestDrain_ReleasesHeldClaimsAndFinishesAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, func(ctx context.Context, _ store.QueueKey) { pause.For(ctx, 5*time.Second) })
		now := b.queue.Now()
		b.queue.add(ref(1, 1, 1, now), ref(2, 1, 1, now.Add(60*time.Millisecond)))
		pause.For(t.Context(), 20*time.Millisecond)
		b.stop()
		fired := b.firings()
		if len(fired) != 1 || fired[0].cause != nil || b.queue.Now().Sub(now) < 5*time.Second {
			t.Errorf("fired %+v, want item 1, finished", fired)
		}
		if len(b.queue.released) != 1 || b.queue.released[0].Number != 2 {
			t.Errorf("released %+v, want item 2", b.queue.released)
		}
	})
}

func TestDrain_InterruptsAttemptsAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, hang)
		now := b.queue.Now()
		b.queue.add(ref(1, 1, 1, now))
		pause.For(t.Context(), 20*time.Millisecond)
		b.stop()
		fired := b.firings()
		if len(fired) != 1 || !errors.Is(fired[0].cause, execute.ErrInterrupted) {
			t.Errorf("fired %+v, want item 1, interrupted", fired)
		}
		if took := b.queue.Now().Sub(now); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("stopping took %v, want the grace of 30 s", took)
		}
	})
}

func TestRevoke_ReportsStartedOnceTheStartTimeHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{Queue: &fakeQueue{items: map[store.ItemID]*store.QueueItem{}}, Node: 1, Concurrency: 1})
		now := d.Queue.Now()
		late := &entry{ref: ref(1, 1, 1, now), start: now, phase: phaseHeld}
		ahead := &entry{ref: ref(2, 1, 1, now), start: now.Add(time.Second), phase: phaseHeld}
		d.items.known[late.ref.ItemID], d.items.known[ahead.ref.ItemID] = late, ahead
		if got := d.Revoke(1, late.start); got != Started || late.revocation != revoked {
			t.Errorf("start time in the past: %d, revocation %d", got, late.revocation)
		}
		if got := d.Revoke(2, ahead.start); got != NotStarted || ahead.revocation != withheld {
			t.Errorf("start time ahead: %d, revocation %d", got, ahead.revocation)
		}
		d.Abort(1)
		d.Restore(2)
		if !late.gone || ahead.gone || ahead.revocation != notRevoked || ahead.confirmation != claimDoubted {
			t.Errorf("late %+v, ahead %+v", late, ahead)
		}
	})
}

// A start message shares the revocation of its attempt, whether this process
// learns of it before, during or after Revoke.
func TestRevoke_WithholdsStartMessagesWheneverTheyAreAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{Queue: &fakeQueue{items: map[store.ItemID]*store.QueueItem{}}, Node: 1, Concurrency: 1})
		begin := d.Queue.Now().Add(time.Second)
		message := func(number int64) store.QueueKey {
			return store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: number}, Due: begin}
		}
		e := &entry{ref: ref(1, 1, 1, begin), start: begin, phase: phaseClaiming}
		d.items.known[e.ref.ItemID] = e
		d.admit(message(10))
		if got := d.Revoke(1, begin); got != NotStarted {
			t.Fatalf("Revoke = %d, want NotStarted", got)
		}
		e.claim.Deliveries = []job.Delivery{{Number: 10}, {Number: 11}}
		d.items.claimed(1, d.items.clocks.look(), []*entry{e})
		d.admit(message(11))
		revocations := func() [2]revocation {
			return [2]revocation{d.items.known[message(10).ItemID].revocation, d.items.known[message(11).ItemID].revocation}
		}
		if got := revocations(); got != [2]revocation{revoked, revoked} {
			t.Errorf("withheld while revoked: %v", got)
		}
		d.Restore(1)
		if got := revocations(); got != [2]revocation{} {
			t.Errorf("withheld after Restore: %v", got)
		}
		d.forget(e)
		if len(d.items.startMessages) != 0 {
			t.Errorf("still remembered: %v", d.items.startMessages)
		}
	})
}
