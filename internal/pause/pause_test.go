package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPause(t *testing.T) {
	const d = time.Minute
	for name, test := range map[string]struct {
		wake, end time.Duration // when these happen; 0 for never
		took      time.Duration
		woken     bool
	}{
		"whole": {took: d},
		"woken": {wake: time.Second, end: 2 * time.Second, took: time.Second, woken: true},
		"ended": {wake: 2 * time.Second, end: time.Second, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				wake := make(chan struct{}, 1)
				if test.wake > 0 {
					time.AfterFunc(test.wake, func() { wake <- struct{}{} })
				}
				if test.end > 0 {
					time.AfterFunc(test.end, cancel)
				}
				began := time.Now()
				if woken := Woken(ctx, d, wake); woken != test.woken || time.Since(began) != test.took {
					t.Errorf("woken %t after %s, want %t after %s", woken, time.Since(began), test.woken, test.took)
				}
				if test.end > 0 {
					time.Sleep(test.end)
				}
				began = time.Now()
				if whole := For(ctx, d); whole != (test.end == 0) || whole != (time.Since(began) == d) {
					t.Errorf("waited for %s, reported %t", time.Since(began), whole)
				}
			})
		})
	}
}
