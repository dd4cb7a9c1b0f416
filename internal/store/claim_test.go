package store

import (
	"testing"
	"time"
)

func TestClaimInfo_StartedUnlessItMayBeTakenBack(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, x := range []struct {
		name  string
		node  int64
		after time.Duration // from now to the start
		want  bool
	}{
		{"began", 1, -time.Hour, true},
		{"begins now", 1, 0, true},
		{"begins soon", 1, time.Microsecond, false},
		{"begins as late as a claim permits", 1, ClaimAhead, false},
		{"began before the clock was set back", 1, ClaimAhead + time.Microsecond, true},
		{"awaits its completion", AwaitingNode, -time.Second, true},
		{"awaits its completion since the clock was set back", AwaitingNode, ClaimAhead, true},
	} {
		claim := ClaimInfo{Node: x.node, Attempt: 1, StartAt: now.Add(x.after)}
		if got := claim.Started(now); got != x.want {
			t.Errorf("%s: got %t", x.name, got)
		}
	}
}
