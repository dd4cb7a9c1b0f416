package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestWebhookSequence_IsConsistentInARaceOfCancelAndStart tests that the events
// of a job are consistent, also when a claim is rolled back at the last moment.
func TestWebhookSequence_IsConsistentInARaceOfCancelAndStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	receiver := harness.SharedTarget(t).Route(t)
	o := outcomesOf("cancelled", "cancelled after an attempt", "completed after an attempt")
	rounds := race(t, 500, o, func(r *rand.Rand, _ int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s","webhook_url":"%s"}`, r.Float64()*0.02, target.URL,
			receiver.URL))
		if err != nil {
			return err
		}
		aside(r, 25*time.Millisecond)
		got, err := try(a.Client, http.MethodPost, jobPath(job)+"/cancel")
		if err == nil {
			o.saw(storyOf(got.Get("job")))
		}
		return err
	})
	wantStories(t, a.Client, target, receiver, rounds)
}

// TestWebhookSequence_OmitsAnAttemptCancelledBeforeItStarts cancels jobs so
// shortly before they are due that their attempts have been prepared.
func TestWebhookSequence_OmitsAnAttemptCancelledBeforeItStarts(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	race(t, 100, nil, func(r *rand.Rand, _ int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":0.3,"url":"%s","webhook_url":"%s"}`, target.URL, receiver.URL))
		if err != nil {
			return err
		}
		timer := time.NewTimer(time.Until(instant(t, job.Get("job.scheduled_at"))) - time.Duration(20+r.IntN(40))*time.Millisecond)
		<-timer.C
		_, err = try(a.Client, http.MethodPost, jobPath(job)+"/cancel")
		return err
	})
	wantStories(t, a.Client, target, receiver, 100)
}

// wantStories fails the test unless the events of each of n jobs agree with its
// final state.
func wantStories(t *testing.T, c *harness.Client, target, receiver *harness.Route, n int) {
	t.Helper()
	l := takeLedger(t, c, target)
	l.check(t)
	told := func() map[int64][]string {
		told := map[int64][]string{}
		for _, hit := range receiver.Hits() {
			id := hit.JSON().Get("data.job.job_id").Int()
			told[id] = append(told[id], strings.TrimPrefix(hit.JSON().Get("type").Str(), "job."))
		}
		return told
	}
	harness.Eventually(t, soon, "the end of every job to be told", func() bool {
		ended := 0
		for _, events := range told() {
			if slices.Contains(events, "finished") {
				ended++
			}
		}
		return ended >= n && receiver.Quiet(soon/20)
	})
	counts := map[string]int{}
	for id, events := range told() {
		story := storyOf(l.jobs[id].Get("job"))
		counts[story]++
		want := map[string]string{
			"cancelled after an attempt": "started request finished", "cancelled": "finished",
			"completed after an attempt": "started request response finished",
		}[story]
		if got := strings.Join(events, " "); got != want {
			t.Errorf("of a job that is %s came %q: %s", story, got, l.jobs[id].Raw())
		}
	}
	t.Logf("%v", counts)
}

// storyOf returns a job's state, and whether it was attempted.
func storyOf(job harness.JSON) string {
	if job.Get("attempted_at").IsNull() {
		return job.Get("state").Str()
	}
	return job.Get("state").Str() + " after an attempt"
}
