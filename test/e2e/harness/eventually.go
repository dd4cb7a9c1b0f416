package harness

import (
	"testing"
	"time"
)

// firstPause is how long Eventually waits before it looks again, lastPause after many
// looks: those of tests that wait long take the time from others.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// Eventually polls until check holds and fails the test when it does not within
// the time given; what completes the sentence "waited for …".
func Eventually(t testing.TB, within time.Duration, what string, check func() bool) {
	t.Helper()
	if !Within(within, check) {
		t.Fatalf("waited %s for %s", within, what)
	}
}

// Within polls until check holds, and reports whether it did in time.
func Within(within time.Duration, check func() bool) bool {
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
