package dispatch

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkers_WaitForTheNext counts the workers that wait: attempts that follow others
// take theirs, what was not needed for a while ends, and close ends the rest.
func TestWorkers_WaitForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tasks sync.WaitGroup
		fired, end := 0, make(chan struct{})
		w := &workers{tasks: &tasks, run: func(context.Context, *entry) { fired++; <-end }}
		start := func(n int) {
			for range n {
				w.fire(assignment{t.Context(), &entry{}})
				synctest.Wait() // fired is this goroutine's alone, then
			}
		}
		over := func(n int) {
			for range n {
				end <- struct{}{}
			}
			synctest.Wait()
		}
		want := func(what string, attempts, idle int) {
			t.Helper()
			if fired != attempts || len(w.idle) != idle {
				t.Errorf("%s: %d attempts were fired and %d workers wait, want %d and %d", what, fired, len(w.idle), attempts, idle)
			}
		}
		trim := func() {
			w.trim(time.Now())
			synctest.Wait()
		}

		trim()
		start(3)
		want("three at once", 3, 0)
		over(3)
		want("their end", 3, 3)
		start(2)
		want("two more", 5, 1)
		over(2)
		trim()
		want("soon after", 5, 3)
		time.Sleep(spareFor)
		trim() // all were needed since the last time
		want("after a while", 5, 3)
		start(2)
		over(2)
		time.Sleep(spareFor)
		trim()
		want("one that was not needed", 7, 2)
		start(1)
		w.close()
		synctest.Wait()
		want("the end", 8, 0)
		over(1) // it is not kept
		tasks.Wait()
		want("the end of the last", 8, 0)
	})
}
