package dispatch

import (
	"testing"
	"testing/synctest"
	"time"
)

// woken reports whether the loop was woken since the last call.
func (b *inbox) woken() bool {
	select {
	case <-b.wake:
		return true
	default:
		return false
	}
}

func TestInbox_NewsThatHasTimeWakesTheLoopLater(t *testing.T) {
	none := func(*news) {}
	for name, c := range map[string]struct {
		do   func(*inbox)
		want [2]bool // woken at once, and after a while
	}{
		"pressing":                        {func(b *inbox) { b.post(none) }, [2]bool{true, false}},
		"with time":                       {func(b *inbox) { b.postLater(none) }, [2]bool{false, true}},
		"with time, taken meanwhile":      {func(b *inbox) { b.postLater(none); b.take() }, [2]bool{false, false}},
		"with time, as something waits":   {func(b *inbox) { b.setUrgent(true); b.postLater(none) }, [2]bool{true, false}},
		"with time, then something waits": {func(b *inbox) { b.postLater(none); b.setUrgent(true) }, [2]bool{true, true}},
		"something waits, no news":        {func(b *inbox) { b.setUrgent(true) }, [2]bool{false, false}},
		"nothing waits any more": {func(b *inbox) { b.setUrgent(true); b.setUrgent(false); b.postLater(none) },
			[2]bool{false, true}},
		"with time, after it was told": {func(b *inbox) {
			b.postLater(none)
			time.Sleep(later +
				1)
			b.woken()
			b.take()
			b.postLater(none)
		}, [2]bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &inbox{wake: make(chan struct{}, 1)}
				c.do(b)
				var got [2]bool
				got[0] = b.woken()
				time.Sleep(later - time.Millisecond)
				synctest.Wait()
				if b.woken() {
					t.Error("woken too early")
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				got[1] = b.woken()
				if got != c.want {
					t.Errorf("woken at once and after %v: %v, want %v", later, got, c.want)
				}
			})
		})
	}
}
