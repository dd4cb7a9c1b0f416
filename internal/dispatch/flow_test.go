package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// An account's large runs are fired at a rate of bytes, after a burst; its small
// ones and those of others are not held up by it.
func TestLargeRunsOfAnAccountHaveARateInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		b := start(t, 1000, func(context.Context, store.QueueKey) {}, func(d *Dispatcher) {
			begin := d.Prepare
			d.Prepare = func(run *store.QueueItem, now time.Time) Attempt {
				a := &sizedAttempt{begin(run, now).(*fakeAttempt), lightBytes}
				if run.Account == 1 {
					a.size = size
				}
				return a
			}
		})
		began := b.queue.Now()
		for i := range int64(100) {
			b.queue.add(ref(i+1, 1, uint32(i), began))
		}
		for i := range int64(3000) {
			b.queue.add(ref(1000+i, 2, 1, began.Add(time.Second)))
		}
		pause.For(t.Context(), time.Minute)
		fired := map[int64]int{}
		var bytes int64
		for _, f := range b.firings() {
			fired[f.ref.Account]++
			switch after := f.at.Sub(began); f.ref.Account {
			case 1:
				bytes += size
				// The sizes of the first runs are not known when they are taken.
				if most := int64(flowBurst+after.Seconds()*flowRate) + 2*claimLimit*size; bytes > most {
					t.Fatalf("after %v %d MiB were fired, at most %d expected", after, bytes>>20, most>>20)
				}
			case 2:
				if after > 2*time.Second {
					t.Fatalf("a small run was fired after %v", after)
				}
			}
		}
		if fired[1] != 100 || fired[2] != 3000 {
			t.Errorf("fired %v, want 100 large and 3,000 small runs", fired)
		}
	})
}

func TestFlow(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := flow{}
	if !f.permits(now) {
		t.Fatal("nothing is permitted at the start")
	}
	f.owed += flowBurst + flowRate
	for _, at := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {500 * time.Millisecond, false}, {-time.Hour, false}, {600 * time.Millisecond, true}, {time.Second, true}} {
		if now = now.Add(at.after); f.permits(now) != at.want {
			t.Errorf("%v later permitted is %v, want %v (%d owed)", at.after, !at.want, at.want, f.owed)
		}
	}
	f.owed = 1 << 50 // no more is paid back at once than a minute's
	if now = now.Add(time.Hour); f.permits(now) || f.owed != 1<<50-60*flowRate {
		t.Errorf("%d are owed", f.owed)
	}
	if heavyBytes(lightBytes) != 0 || heavyBytes(lightBytes+5) != 5 {
		t.Error("small runs are not free")
	}
}
