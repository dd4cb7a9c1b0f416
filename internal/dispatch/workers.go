package dispatch

import (
	"context"
	"sync"
	"time"
)

// workers are the goroutines that fire attempts. One whose attempt has ended waits for
// the next: the stack of a fresh one grows twice on the way to a signature, which took an
// eighth of the CPU of an attempt. The loop starts and trims them; close ends those that
// wait.
type workers struct {
	run   func(ctx context.Context, e *entry)
	tasks *sync.WaitGroup // has each worker

	mu      sync.Mutex
	idle    []chan assignment // of the workers that wait, the one that ended last at the end
	spare   int               // how many have waited ever since the last trim
	trimmed time.Time
	closed  bool
}

// assignment is an attempt to be fired.
type assignment struct {
	ctx context.Context
	e   *entry
}

// spareFor is for how long more workers wait than are needed, at least.
const spareFor = 5 * time.Second

// fire has a worker fire an attempt.
func (w *workers) fire(a assignment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.idle) - 1
	if last < 0 {
		w.tasks.Go(func() { w.work(a) })
		return
	}
	w.idle[last] <- a // has room
	w.idle[last] = nil
	w.idle = w.idle[:last]
	w.spare = min(w.spare, last)
}

// work fires an attempt, and those that follow.
func (w *workers) work(a assignment) {
	next := make(chan assignment, 1)
	for more := true; more; a, more = <-next {
		w.run(a.ctx, a.e)
		a = assignment{} // what has ended takes no memory
		if !w.wait(next) {
			return
		}
	}
}

// wait has a worker wait for its next attempt, unless workers are closed.
func (w *workers) wait(next chan assignment) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.idle = append(w.idle, next)
	}
	return !w.closed
}

// trim ends workers that were not needed lately.
func (w *workers) trim(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if passed := now.Sub(w.trimmed); passed >= 0 && passed < spareFor {
		return
	}
	w.end(w.spare)
	w.spare, w.trimmed = len(w.idle), now
}

// close ends the workers that wait; the others end with their attempts. Nothing is fired
// after it.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.end(len(w.idle))
}

// end ends the n workers that have waited for longest. Called with mu held.
func (w *workers) end(n int) {
	for _, next := range w.idle[:n] {
		close(next)
	}
	kept := copy(w.idle, w.idle[n:])
	clear(w.idle[kept:])
	w.idle = w.idle[:kept]
}
