package harness

import (
	"testing"
	"time"
)

// interval is how often Eventually looks.
const interval = 15 * time.Millisecond

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
	deadline := time.Now().Add(within)
	for !check() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(interval)
	}
	return true
}
