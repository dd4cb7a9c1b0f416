package harness

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// firstPause is how long Eventually waits before it looks again, lastPause after many
// looks: those of tests that wait long take the time from others.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// Eventually polls until check holds and fails the test when it does not; what
// completes the sentence "waited for …". The time given is what a usual machine needs at
// the most: a test waits longer, see [pace.Guard], and judges what must be in time by
// [Allowed].
func Eventually(t testing.TB, within time.Duration, what string, check func() bool) {
	t.Helper()
	if !Within(within, check) {
		t.Fatalf("waited %s for %s", pace.Guard(within), what)
	}
}

// Within polls until check holds, and reports whether it did in time, which is as with
// [Eventually].
func Within(within time.Duration, check func() bool) bool {
	return poll(pace.Guard(within), check)
}

// Stays reports whether check holds all the time.
func Stays(during time.Duration, check func() bool) bool {
	return !poll(during, func() bool { return !check() })
}

func poll(within time.Duration, check func() bool) bool {
	deadline, pause := time.Now().Add(within), firstPause
	for !check() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
		pause = min(pause*5/4, lastPause)
	}
	return true
}
