package manage

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// standing is an engine in which every run stands alike.
type standing struct {
	Engine
	is dispatch.Standing
}

func (s standing) Revoke(int64, time.Time) dispatch.Standing { return s.is }

// TestAClaimOfAnotherNodeCountsAsBegunBeforeItCanHearOfAChange wants nothing to
// be called off that may yet be made.
func TestAClaimOfAnotherNodeCountsAsBegunBeforeItCanHearOfAChange(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, x := range []struct {
		is    dispatch.Standing
		after time.Duration
		want  bool
	}{
		{dispatch.NotHere, -time.Second, true},
		{dispatch.NotHere, 0, true},
		{dispatch.NotHere, reach, true},
		{dispatch.NotHere, reach + time.Microsecond, false},
		{dispatch.Unbegun, time.Microsecond, false},
		{dispatch.Begun, -time.Microsecond, true},
	} {
		c := &coordination{engine: standing{is: x.is}}
		if got := c.begun(&job.Job{Number: 1}, &store.Held{Node: 2, BeginAt: now.Add(x.after)}, now); got != x.want {
			t.Errorf("standing %v, %s from now: begun is %t", x.is, x.after, got)
		}
	}
}
