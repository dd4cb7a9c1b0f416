package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPatient_CountsALateStepOnce(t *testing.T) {
	for name, c := range map[string]struct{ within, late, want time.Duration }{
		"in time":              {time.Second, 0, time.Second},
		"a process that waits": {time.Second, 2 * patienceStep, 3 * time.Second},
		"less than a step":     {time.Millisecond, 0, time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := patient(t.Context(), c.within, func(d time.Duration) <-chan time.Time { return time.After(d + c.late) })
			defer cancel()
			<-ctx.Done()
			if took := time.Since(began); took != c.want || context.Cause(ctx) != errUnanswered {
				t.Errorf("%s: ended after %s with %v, want %s", name, took, context.Cause(ctx), c.want)
			}
		})
	}
}

func TestPatient_EndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := patient(t.Context(), time.Hour, time.After)
		cancel()
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("a call that has ended has the cause %v", context.Cause(ctx))
		}
	})
}
