package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestDurabilitySIGTERM_EndsAnIdleServiceAtOnceWithStatus0(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	create(s.Public(t), waiting)
	began := time.Now()
	if code := s.Stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if took := time.Since(began); took > harness.Allowed(5*time.Second, began) {
		t.Errorf("an idle service took %s to end", took)
	}
}

func TestDurabilitySIGTERM_LetsAttemptsUnderWayFinishAndStartsNoMore(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	busy, next := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	release := busy.Hold(harness.Status(200))
	underWay := create(c, `{"url":"`+busy.URL+`"}`)
	busy.Await(t, 1, soon)
	coming := create(c, `{"schedule_in":4,"url":"`+next.URL+`"}`)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, soon, "requests to be refused", func() bool {
		answer, err := c.Try("GET", "/api/jobs", nil, harness.Header("Connection", "close"))
		return err != nil || answer.Status == 503
	})
	passed(t, instant(t, coming.Get("job.scheduled_at")))
	if !next.Quiet(time.Second) {
		t.Error("a run was started after SIGTERM")
	}
	if hit := busy.Hits()[0]; !hit.End.IsZero() {
		t.Error("the attempt under way was broken off")
	}
	release()
	if code := s.Wait(soon); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.Restart(t)
	awaitState(t, c, underWay, "completed")
	awaitState(t, c, coming, "completed")
	if hits := busy.Hits(); len(hits) != 1 {
		t.Errorf("the finished attempt was made %d times", len(hits))
	}
}

// TestDurabilitySIGTERM_ReturnsAttemptsThatTakeTooLong takes as long as a stop
// may take, so it runs in parallel with all others.
func TestDurabilitySIGTERM_ReturnsAttemptsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	s := harness.Start(t)
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	job := create(c, `{"timeout":900,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	began := time.Now()
	code := s.Stop()
	if took := time.Since(began); code != 0 || took < 20*time.Second || took > harness.Allowed(40*time.Second, began) {
		t.Errorf("ended after %s with status %d", took, code)
	}
	if hit := target.AwaitEnds(t, 1, soon)[0]; !hit.Aborted {
		t.Error("the attempt was not broken off")
	}
	s.Restart(t)
	awaitState(t, c, job, "completed")
	if hits := target.Hits(); len(hits) != 2 {
		t.Errorf("want the attempt made again, got %d hits", len(hits))
	}
}
