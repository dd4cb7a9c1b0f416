package dispatch

import "testing"

// A lane that hangs is the only active one whenever another has just emptied.
// The other's pace must not let it claim ahead, into the reserve.
func TestTake_HangingLaneDoesNotClaimAheadOnAnothersPace(t *testing.T) {
	const total = 32
	l, used := newLanes(), 0
	take := func(ahead int) *entry {
		e := l.take(used, total, ahead)
		if e != nil {
			used++
		}
		return e
	}
	for i := range int64(100) {
		l.add(entryOf(i, 1, 1, i))
	}
	for take(0) != nil {
	}
	for i := range 10 {
		healthy := entryOf(int64(1000+i), 1, 2, 0)
		l.add(healthy)
		if got := take(i); got != healthy {
			t.Fatalf("item %d of a healthy lane got no slot; %d of %d are used", i, used, total)
		}
		l.release(healthy.ref)
		used--
		for take(i+1) != nil {
		}
		if used > 23 { // three quarters, less the last sixteenth of them
			t.Fatalf("the lane that hangs holds %d slots after item %d of another, want 23 at most", used, i)
		}
	}
}

func TestTake_LoneLaneClaimsAheadOnItsOwnPace(t *testing.T) {
	const total = 32
	l, used := newLanes(), 0
	for i := range int64(100) {
		l.add(entryOf(i, 1, 1, i))
	}
	first := l.take(used, total, 0)
	for used++; l.take(used, total, 0) != nil; used++ {
	}
	for range 5 {
		l.release(first.ref) // all are of one lane
		used--
	}
	for l.take(used, total, 5) != nil {
		used++
	}
	if want := 23 + 5; used != want { // three quarters of 32, less the last sixteenth of them
		t.Errorf("%d slots are used, want %d", used, want)
	}
}
