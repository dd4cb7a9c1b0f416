package service

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
	is dispatch.ClaimState
}

func (s standing) Revoke(int64, time.Time) dispatch.ClaimState { return s.is }

// TestAClaimOfAnotherNodeCountsAsBegunBeforeItCanHearOfAChange wants nothing to
// be called off that may yet be made.
func TestAClaimOfAnotherNodeCountsAsBegunBeforeItCanHearOfAChange(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, x := range []struct {
		is    dispatch.ClaimState
		after time.Duration
		want  bool
	}{
		{dispatch.NotOwned, -time.Second, true},
		{dispatch.NotOwned, 0, true},
		{dispatch.NotOwned, reach, true},
		{dispatch.NotOwned, reach + time.Microsecond, false},
		{dispatch.NotStarted, time.Microsecond, false},
		{dispatch.Started, -time.Microsecond, true},
	} {
		c := &coordination{engine: standing{is: x.is}}
		if got := c.hasStarted(&job.Job{Number: 1}, &store.ClaimInfo{Node: 2, StartAt: now.Add(x.after)}, now); got != x.want {
			t.Errorf("standing %v, %s from now: begun is %t", x.is, x.after, got)
		}
	}
}
