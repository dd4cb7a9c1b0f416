package dispatch

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/punctual-dev/punctual/internal/store"
)

func entryOf(number, account int64, lane uint32, due int64) *entry {
	return &entry{ref: store.QueueKey{ItemID: store.ItemID{Number: number}, Account: account, Lane: lane, Due: time.UnixMicro(due)}}
}

func TestTake_AccountsTakeTurns(t *testing.T) {
	l := newLanes()
	for i := range int64(100) {
		l.add(entryOf(i, 1, 1, i))
	}
	l.add(entryOf(1000, 2, 1, 5000))
	l.add(entryOf(1001, 2, 1, 5001))
	var order []int64
	for range 4 {
		order = append(order, l.take(0, 1000, 0).ref.Account)
	}
	if order[0] == order[1] || order[2] == order[3] {
		t.Errorf("served accounts %v, want them in turns", order)
	}
}

func TestTake_LoneLaneMayHoldThreeQuarters(t *testing.T) {
	l := newLanes()
	for i := range int64(200) {
		l.add(entryOf(i, 1, 1, i))
	}
	taken := 0
	for l.take(taken, 160, 0) != nil {
		taken++
	}
	if want := 113; taken != want { // 120, less a last sixteenth for other lanes
		t.Errorf("took %d of 160 slots, want %d", taken, want)
	}
}

// In whatever order items are added, taken and released: each comes out once, a
// lane's earliest due first, never more than there are slots, and an account
// without a slot is never refused while one is free.
func TestLanesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, total := newLanes(), rapid.IntRange(1, 40).Draw(t, "total")
		waiting, using := map[int64]*entry{}, []*entry{}
		for i := range int64(rapid.IntRange(1, 200).Draw(t, "steps")) {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				e := entryOf(i, rapid.Int64Range(1, 3).Draw(t, "account"), uint32(rapid.IntRange(1, 3).Draw(t, "lane")),
					rapid.Int64Range(0, 20).Draw(t, "due"))
				l.add(e)
				waiting[i] = e
			case 1:
				e := l.take(len(using), total, 0)
				if e == nil {
					checkRefusal(t, waiting, using, total)
					continue
				}
				for _, other := range waiting {
					if other.ref.Account == e.ref.Account && other.ref.Lane == e.ref.Lane && other.ref.Due.Before(e.ref.Due) {
						t.Fatalf("took an item due at %v before one due at %v", e.ref.Due, other.ref.Due)
					}
				}
				if waiting[e.ref.Number] == nil || len(using) >= total {
					t.Fatalf("took item %d, which does not wait, or a slot too many", e.ref.Number)
				}
				delete(waiting, e.ref.Number)
				using = append(using, e)
			case 2:
				if len(using) > 0 {
					i := rapid.IntRange(0, len(using)-1).Draw(t, "release")
					l.release(using[i].ref)
					using = append(using[:i], using[i+1:]...)
				}
			}
			if l.waiting != len(waiting) {
				t.Fatalf("%d wait, want %d", l.waiting, len(waiting))
			}
		}
	})
}

func checkRefusal(t *rapid.T, waiting map[int64]*entry, using []*entry, total int) {
	if len(using) >= total {
		return
	}
	held := map[int64]bool{}
	for _, e := range using {
		held[e.ref.Account] = true
	}
	for _, e := range waiting {
		if !held[e.ref.Account] {
			t.Fatalf("refused item %d, whose account holds no slot, with %d of %d slots held", e.ref.Number, len(using), total)
		}
	}
}

func BenchmarkLanes(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	l := newLanes()
	for i := range int64(10_000) {
		l.add(entryOf(i, random.Int64N(100), uint32(random.IntN(10)), random.Int64N(1e9)))
	}
	b.ReportAllocs()
	for b.Loop() {
		e := l.take(100, 1000, 0)
		l.release(e.ref)
		l.add(e)
	}
}
