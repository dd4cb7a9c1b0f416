package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// terminate sends SIGTERM and waits until the service accepts no more requests.
func terminate(t *testing.T, s *harness.Service, c *harness.Client) {
	t.Helper()
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, soon, "requests to be refused", func() bool {
		answer, err := c.Try("GET", "/healthz", nil, harness.Header("Connection", "close"))
		return err != nil || answer.Status == 503
	})
}

func TestDurabilityStop_AttemptsThatFinishMeanwhileAreFullyRecorded(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.JSONReply(`{"$set":{"a":1}}`))
	job := create(c, `{"method":"post","body":{},"repeat_every":1,"url":"`+target.URL+`","callback_url":"`+receiver.URL+`"}`)
	target.Await(t, 1, soon)
	terminate(t, s, c)
	release()
	if code := s.Wait(2 * soon); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if got := len(target.Hits()); got != 1 {
		t.Errorf("%d requests were made while stopping", got)
	}
	before := len(receiver.Hits())
	s.Restart(t)
	awaitState(t, c, job, "completed")
	wantEvents(t, logsOf(c, job), "http.request", "http.response")
	receiver.Await(t, max(1, before), soon)
	hit := target.Await(t, 2, soon)[1]
	c.Post(schedulePath(job)+"/disable", nil).Want(200)
	wantSame(t, "$state", hit.JSON().Member("$state"), `{"a":1}`)
}

func TestDurabilityStop_DeliveryUnderWayIsFinished(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	release := receiver.Hold(harness.Status(204))
	create(c, `{"url":"`+target.URL+`","webhook_url":"`+receiver.URL+`"}`)
	receiver.Await(t, 1, soon)
	terminate(t, s, c)
	release()
	if code := s.Wait(2 * soon); code != 0 {
		t.Errorf("exit status %d", code)
	}
	wantTypes(t, receiver.Hits(), "started")
	s.Restart(t)
	hits := receiver.Await(t, 4, soon)
	wantTypes(t, hits, "started", "request", "response", "finished")
}

func TestDurabilityStop_RetriesAndDueJobsWaitForTheNextStart(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(c, `{"schedule_in":4,"url":"`+target.URL+`"}`)
	if code := s.Stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	passed(t, instant(t, job.Get("job.scheduled_at")).Add(500*time.Millisecond))
	if len(target.Hits()) != 0 {
		t.Error("a job ran after the service had ended")
	}
	s.Restart(t)
	back := time.Now()
	if hit := target.Await(t, 1, soon)[0]; hit.At.Sub(back) > harness.Allowed(2*time.Second, back) {
		t.Errorf("a job that came due meanwhile was made %s after the start", hit.At.Sub(back))
	}
	done := awaitState(t, c, job, "completed")
	wantSame(t, "scheduled_at stays", done.Get("job.scheduled_at"), job.Get("job.scheduled_at").Raw())
}

// TestDurabilityStop_ReturnedAttemptIsLoggedAsInterrupted takes as long as a
// stop may take.
func TestDurabilityStop_ReturnedAttemptIsLoggedAsInterrupted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	job := create(c, `{"retries":0,"timeout":900,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	if code := s.Stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.Restart(t)
	back := time.Now()
	if hit := target.Await(t, 2, soon)[1]; hit.At.Sub(back) > harness.Allowed(time.Second, back) {
		t.Errorf("made again %s after the restart", hit.At.Sub(back))
	}
	awaitState(t, c, job, "completed")
	logs := logsOf(c, job)
	wantEvents(t, logs, "http.request", "http.error", "http.request", "http.response")
	wantSame(t, "kind", logs[1].Get("payload.kind"), `"interrupted"`)
}
