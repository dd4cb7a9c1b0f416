package postgres

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestClock_IsNeverAheadOfTheServer(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		c := newClock()
		offset := r.Int64N(1e15)
		fast := r.Int64N(100) // parts in a million that the node's clock runs ahead
		server := func(elapsed int64) int64 { return offset + elapsed - elapsed*fast/1e6 }
		elapsed, best := int64(0), int64(1e9)
		for range 60 {
			sent := elapsed + r.Int64N(250_000)
			read := sent + r.Int64N(3_000)
			received := read + r.Int64N(3_000)
			c.learn(sent, received, server(read))
			best = min(best, received-read)
			later := received + r.Int64N(100_000)
			elapsed = later
			told := c.at(later).UnixMicro()
			if ahead := told - server(later); ahead > 0 {
				t.Fatalf("%d µs ahead of the server (seed %d)", ahead, seed)
			} else if ahead < -best-2_000-later*100/1e6 {
				t.Fatalf("%d µs behind the server, the best response took %d (seed %d)", -ahead, best, seed)
			}
		}
	}
}

func TestClock_FollowsAServerThatWasSetBack(t *testing.T) {
	c := newClock()
	c.learn(0, 1_000, 5_000_000_000)
	c.learn(250_000, 251_000, 4_000_000_000)
	if got := c.at(260_000).UnixMicro(); got > 4_000_010_000 {
		t.Errorf("the clock shows %d, want the server's time", got)
	}
}

func TestClock_DoesNotGoBackForASlowerResponse(t *testing.T) {
	c := newClock()
	c.learn(0, 100, 1_000_000)
	before := c.at(100_000)
	c.learn(200, 90_200, 1_000_300)
	if after := c.at(100_001); after.Before(before) {
		t.Errorf("the clock went back by %v", before.Sub(after))
	}
}

func TestNodeHoldsLease_ExpiresWithoutHeartbeats(t *testing.T) {
	s := &Store{leases: map[int64]time.Duration{1: awake(), 2: awake() - holdsFor, 3: awake() - holdsFor + time.Second}}
	for node, want := range map[int64]bool{1: true, 2: false, 3: true, 4: false} {
		if got := s.NodeHoldsLease(node); got != want {
			t.Errorf("node %d: holds %v, want %v", node, got, want)
		}
	}
}

func TestNotice_RoundTrips(t *testing.T) {
	n := notice{from: "me", due: 12345, cancels: map[int64]bool{}}
	for node := range int64(3000) {
		n.cancels[node] = true
	}
	seen := map[int64]bool{}
	for _, payload := range n.payloads() {
		if len(payload) >= 8000 {
			t.Errorf("a payload of %d bytes is too long", len(payload))
		}
		read, ok := parseNotice(payload)
		if !ok || read.from != "me" || read.due != 12345 {
			t.Fatalf("read %+v", read)
		}
		for node := range read.cancels {
			seen[node] = true
		}
	}
	if len(seen) != 3000 {
		t.Errorf("%d of 3000 nodes arrived", len(seen))
	}
	for _, payload := range []string{"", "x", "a b c d", "a x c"} {
		if _, ok := parseNotice(payload); ok {
			t.Errorf("%q was read as a notice", payload)
		}
	}
}
