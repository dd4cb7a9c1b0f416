package dispatch

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// fillSlots lets an account take as many slots as it gets, each for a lane of
// its own that hangs, and returns how many it holds then.
func fillSlots(l *lanes, used *int, total int, account int64) int {
	for i := range int64(2 * total) {
		l.add(entryOf(account*1_000_000+i, account, uint32(i), i))
	}
	held := 0
	for {
		e := l.take(*used, total, 0)
		if e == nil {
			return held
		}
		*used++
		held++
	}
}

func TestShares_AnAccountWithManyLanesLeavesSlots(t *testing.T) {
	for _, test := range []struct{ total, alone, second, third int }{
		{1000, 750, 84, 28},
		{10, 8, 1, 1},
		{4, 3, 1, 0},
		{2, 2, 0, 0},
		{1, 1, 0, 0},
	} {
		l, used := newLanes(), 0
		for i, want := range []int{test.alone, test.second, test.third} {
			if got := fillSlots(l, &used, test.total, int64(i)+1); got != want {
				t.Errorf("account %d took %d of %d slots, want %d", i+1, got, test.total, want)
			}
		}
	}
}

func TestShares_AnAccountHoldsHalfBesideOthers(t *testing.T) {
	for total, want := range map[int]int{1000: 500, 10: 5, 4: 2, 3: 1, 2: 1, 1: 1} {
		l := newLanes()
		other := entryOf(1, 2, 1, 1)
		l.add(other)
		l.take(0, total, 0)
		l.release(other.ref) // so it counts as active
		used := 0
		if got := fillSlots(l, &used, total, 1); got != want {
			t.Errorf("the account took %d of %d slots, want %d", got, total, want)
		}
		l.step(l.now.Add(lingers)) // no other account was active for a minute
		more := 0
		for l.take(used, total, 0) != nil {
			used++
			more++
		}
		if alone := total - aloneReserve(total); want+more != alone {
			t.Errorf("alone the account took %d of %d slots, want %d", want+more, total, alone)
		}
	}
}

// Fifty accounts in turn hold all the slots they get and hang. A further
// account still gets a slot, and more as soon as it returns some.
func TestShares_FiftyHangingAccountsLeaveSlots(t *testing.T) {
	const total = 1000
	l, used := newLanes(), 0
	for account := range int64(50) {
		fillSlots(l, &used, total, account+1)
	}
	if used > total-lastReserve(total) {
		t.Fatalf("%d of %d slots are held", used, total)
	}
	var next []*entry
	for i := range int64(10) {
		e := entryOf(99_000_000+i, 99, uint32(i), 0)
		next = append(next, e)
		l.add(e)
	}
	if l.take(used, total, 0) == nil {
		t.Fatal("a new account got no slot")
	}
	used++
	if l.take(used, total, 0) != nil {
		t.Fatal("a new account got a second slot while it had returned none")
	}
	l.release(next[0].ref)
	used--
	for want := 2; want >= 0; want-- {
		e := l.take(used, total, 0)
		if (e != nil) != (want > 0) {
			t.Fatalf("took %+v, want %d more", e, want)
		}
		used++
	}
}

// One account has 10 % more hanging receivers than there are slots, and
// attempts of 15 minutes. Another account's 20 jobs a second are on time.
func TestShares_AnAccountWhoseReceiversAllHangDelaysNoOther(t *testing.T) {
	for _, concurrency := range []int{10, 100, 1000} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, concurrency, func(ctx context.Context, r store.QueueKey) {
				if r.Account == 1 {
					pause.For(ctx, 15*time.Minute)
				} else {
					pause.For(ctx, 10*time.Millisecond)
				}
			})
			now := b.queue.Now()
			for i := range int64(11 * concurrency / 10) {
				b.queue.add(ref(i+1, 1, uint32(i), now))
			}
			pause.For(t.Context(), 2*time.Second)
			const others = 200
			begin := b.queue.Now().Add(time.Second)
			for i := range int64(others) {
				r := ref(10_000+i, 2, 1, begin.Add(time.Duration(i)*50*time.Millisecond))
				b.queue.add(r)
				b.Notice(store.Notice{Items: []store.QueueKey{r}})
			}
			pause.For(t.Context(), 12*time.Second)
			fired := 0
			for _, f := range b.firings() {
				if f.ref.Account != 2 {
					continue
				}
				fired++
				if late := f.at.Sub(f.ref.Due); late > 100*time.Millisecond {
					t.Errorf("concurrency %d: item %d fired %v late", concurrency, f.ref.Number, late)
				}
			}
			if fired != others {
				t.Errorf("concurrency %d: %d of %d items fired", concurrency, fired, others)
			}
			b.stop()
		})
	}
}

// A backlog of more receivers than may wait in memory must not keep other
// accounts' items in the store.
func TestBacklog_OfManyReceiversDelaysNoOtherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := func(d *Dispatcher) { d.maxWaiting = 300 }
		b := start(t, 20, func(ctx context.Context, r store.QueueKey) {
			if r.Account == 1 {
				hang(ctx, r)
			}
		}, room)
		due := b.queue.Now()
		for number := range int64(3000) {
			b.queue.add(ref(number+1, 1, uint32(number), due))
		}
		for i := range int64(50) {
			b.queue.add(ref(10_000+i, 2, 1, due.Add(time.Duration(i)*100*time.Millisecond)))
		}
		pause.For(t.Context(), 10*time.Second)
		fired := 0
		for _, f := range b.firings() {
			if f.ref.Account != 2 {
				continue
			}
			fired++
			if late := f.at.Sub(f.ref.Due); late > 200*time.Millisecond {
				t.Errorf("item %d fired %v late", f.ref.Number, late)
			}
		}
		if fired != 50 {
			t.Errorf("%d of 50 items fired", fired)
		}
	})
}

func TestTake_BoundsAnAccountsRateAndLosesNothing(t *testing.T) {
	l := newLanes()
	l.pace = rate{every: 10 * time.Millisecond, burst: 5}
	l.step(time.UnixMicro(0))
	for i := range int64(20) {
		l.add(entryOf(i, 1, 1, i))
	}
	l.add(entryOf(100, 2, 1, 0))
	take := func() (mine, others int) {
		for e := l.take(0, 1000, 0); e != nil; e = l.take(0, 1000, 0) {
			if e.ref.Account == 1 {
				mine++
			} else {
				others++
			}
		}
		return mine, others
	}
	if mine, others := take(); mine != 5 || others != 1 || !l.delayed {
		t.Fatalf("took %d and %d of another account, delayed %v; want the burst of 5, 1 and true", mine, others, l.delayed)
	}
	for at, want := range []int{0, 1, 1, 1} {
		l.step(time.UnixMicro(int64(at) * 10_500))
		if mine, _ := take(); mine != want {
			t.Errorf("after %d periods it took %d, want %d", at, mine, want)
		}
	}
	l.step(time.UnixMicro(1_000_000))
	if mine, _ := take(); mine != 5 {
		t.Errorf("after a rest it took %d, want the burst of 5", mine)
	}
}

// An account whose receivers respond at once claims ahead. When they hang from
// then on, the claims beyond its share are not fired and don't count against
// other accounts.
func TestClaimAhead_LeavesTheReserveWhenReceiversHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		b := start(t, 40, func(ctx context.Context, r store.QueueKey) {
			if hangs.Load() && r.Account == 1 {
				hang(ctx, r)
			}
			pause.For(ctx, 5*time.Millisecond)
		})
		now := b.queue.Now()
		for i := range int64(3000) {
			b.queue.add(ref(i+1, 1, 1, now))
		}
		pause.For(t.Context(), 100*time.Millisecond)
		hangs.Store(true)
		pause.For(t.Context(), time.Second)
		b.mu.Lock()
		inside := b.inside
		b.mu.Unlock()
		if inside == 0 || inside > 30 {
			t.Errorf("%d of 40 requests are under way for the account whose receivers hang, want 30 at most", inside)
		}
		due := b.queue.Now().Add(time.Second)
		for i := range int64(100) {
			r := ref(10_000+i, 2, 1, due.Add(time.Duration(i)*20*time.Millisecond))
			b.queue.add(r)
			b.Notice(store.Notice{Items: []store.QueueKey{r}})
		}
		pause.For(t.Context(), 4*time.Second)
		fired := 0
		for _, f := range b.firings() {
			if f.ref.Account != 2 {
				continue
			}
			fired++
			if late := f.at.Sub(f.ref.Due); late > 50*time.Millisecond {
				t.Errorf("item %d of the other account fired %v late", f.ref.Number, late)
			}
		}
		if fired != 100 {
			t.Errorf("%d of 100 items of the other account fired", fired)
		}
	})
}
