package auth

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/punctual-dev/punctual/internal/fault"
)

// busyQueue is a queue of one, whose one is taken.
func busyQueue(t *testing.T) *queue {
	t.Helper()
	q := newQueue()
	q.free = 1
	if w, err := q.enter("taken"); w != nil || err != nil {
		t.Fatalf("the first waits: %v", err)
	}
	return q
}

func TestNetworksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := busyQueue(t)
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		wait := func(network string) {
			all.Go(func() {
				if err := q.do(t.Context(), network, func() {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, network)
				}); err != nil {
					t.Errorf("%s: %v", network, err)
				}
			})
			synctest.Wait()
		}
		for range 8 {
			wait("stranger")
		}
		wait("ann")
		wait("bob")
		wait("ann")
		q.leave()
		all.Wait()
		want := []string{"stranger", "ann", "bob", "stranger", "ann", "stranger", "stranger", "stranger", "stranger", "stranger",
			"stranger"}
		if !slices.Equal(order, want) {
			t.Errorf("the order is %v", order)
		}
		if q.free != 1 || q.waiting != 0 || len(q.lines) != 0 {
			t.Errorf("left are %d free, %d waiting in %d lines", q.free, q.waiting, len(q.lines))
		}
	})
}

func TestFewHashesAreComputedAtOnce(t *testing.T) {
	t.Parallel()
	q := newQueue()
	slots := q.free
	var mu sync.Mutex
	var all sync.WaitGroup
	now, most := 0, 0
	for i := range 100 {
		all.Go(func() {
			err := q.do(t.Context(), fmt.Sprint(i), func() {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				mu.Lock()
				now--
				mu.Unlock()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most > slots || q.free != slots {
		t.Errorf("%d at once and %d free, want at most %d", most, q.free, slots)
	}
}

func TestOneNetworkDoesNotFillTheQueue(t *testing.T) {
	t.Parallel()
	q := busyQueue(t)
	enter := func(network string, want fault.Code) *waiter {
		t.Helper()
		w, err := q.enter(network)
		if want == 0 && err != nil || want != 0 && fault.CodeOf(err) != want {
			t.Fatalf("%s: %v", network, err)
		}
		return w
	}
	var last *waiter
	for range maxWaitingOfOne {
		last = enter("stranger", 0)
	}
	enter("stranger", fault.TooMany)
	for i := range maxWaiting - maxWaitingOfOne {
		enter(fmt.Sprint("other ", i), 0)
	}
	// The queue is full: the longest line makes room, from its end.
	enter("ann", 0)
	select {
	case <-last.called:
	default:
		t.Error("the last of the longest line still waits")
	}
	if !last.refused || q.waiting != maxWaiting {
		t.Errorf("refused: %t, waiting: %d", last.refused, q.waiting)
	}
	// When all lines are short, newcomers wait outside.
	for i := range maxWaitingOfOne - 2 {
		enter(fmt.Sprint("late ", i), 0)
	}
	enter("too late", fault.TooMany)
}

func TestQueue_SkipsWaitersThatGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := busyQueue(t)
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { gone <- q.do(ctx, "gone", func() { t.Error("it is computed for who has left") }) }()
		synctest.Wait()
		stays := make(chan error)
		go func() { stays <- q.do(t.Context(), "stays", func() {}) }()
		synctest.Wait()
		leave()
		if err := <-gone; fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("who left: %v", err)
		}
		q.leave()
		if err := <-stays; err != nil {
			t.Error(err)
		}
		if q.free != 1 || q.waiting != 0 || len(q.lines) != 0 {
			t.Errorf("left are %d free, %d waiting in %d lines", q.free, q.waiting, len(q.lines))
		}
	})
}
