package service

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// uniformEngine is an engine that reports the same claim state for every job.
type uniformEngine struct {
	Engine
	is dispatch.ClaimState
}

func (s uniformEngine) Revoke(int64, time.Time) dispatch.ClaimState { return s.is }

// TestHasStarted_CountsAnotherNodesClaimAsStartedWhenTooLateToTellIt verifies
// that a change never cancels an attempt that another node may still make.
func TestHasStarted_CountsAnotherNodesClaimAsStartedWhenTooLateToTellIt(t *testing.T) {
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
		{dispatch.NotOwned, reach + store.ClaimAhead, false},
		{dispatch.NotOwned, reach + store.ClaimAhead + time.Microsecond, true},
		{dispatch.NotStarted, time.Microsecond, false},
		{dispatch.Started, -time.Microsecond, true},
	} {
		c := &coordination{engine: uniformEngine{is: x.is}}
		if got := c.hasStarted(&job.Job{Number: 1}, &store.ClaimInfo{Node: 2, StartAt: now.Add(x.after)}, now); got != x.want {
			t.Errorf("state %v, %s from now: started is %t", x.is, x.after, got)
		}
	}
}

func TestCoordination_EndFreesTheLimitsOfCancelledJobs(t *testing.T) {
	j := job.Job{Number: 1, Owner: job.Owner{Number: 7}, Args: rawjson.Value(`{"url":"https://example.com/","limits":["a","b"]}`)}
	for name, x := range map[string]struct {
		state  job.State
		claim  *store.ClaimInfo
		again  bool
		stored bool
		want   string
	}{
		"awaits its completion": {job.Executing, &store.ClaimInfo{Node: store.AwaitingNode}, false, true, "[7 [a b host:example.com]]"},
		"waits":                 {job.Available, nil, false, true, "[]"},
		"waits for a retry":     {job.Retryable, nil, false, true, "[7 [a b host:example.com]]"},
		"not stored":            {job.Executing, &store.ClaimInfo{Node: store.AwaitingNode}, false, false, "[]"},
		"decided again":         {job.Executing, &store.ClaimInfo{Node: store.AwaitingNode}, true, true, "[]"},
	} {
		engine := &countingEngine{revoked: map[int64]int{}}
		c := &coordination{engine: engine}
		j.State = x.state
		c.cancel(&store.Snapshot{Job: &j, Claim: x.claim})
		if x.again {
			c.restart()
		}
		if c.end(x.stored); fmt.Sprint(engine.freed) != x.want {
			t.Errorf("%s: freed %v, want %s", name, engine.freed, x.want)
		}
	}
}
