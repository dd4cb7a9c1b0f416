package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestRaceOfCancelAndFireAsWebhooksTellIt holds that the events of a job tell
// one story, also when a claimed attempt is taken back at the last moment.
func TestRaceOfCancelAndFireAsWebhooksTellIt(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	receiver := harness.SharedTarget(t).Route(t)
	race(t, 500, func(r *rand.Rand, _ int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s","webhook_url":"%s"}`, r.Float64()*0.02, target.URL, receiver.URL))
		if err != nil {
			return err
		}
		aside(r, 25*time.Millisecond)
		_, err = try(a.Client, http.MethodPost, jobPath(job)+"/cancel")
		return err
	})
	l := takeLedger(t, a.Client, target)
	l.check(t)
	finished := func() int { return strings.Count(strings.Join(types(receiver.Hits()), " "), "finished") }
	harness.Eventually(t, soon, "every job to be finished", func() bool { return finished() >= 500 })
	told := map[int64][]string{}
	for _, hit := range receiver.Hits() {
		id := hit.JSON().Get("data.job.job_id").Int()
		told[id] = append(told[id], strings.TrimPrefix(hit.JSON().Get("type").Str(), "job."))
	}
	counts := map[string]int{}
	for id, events := range told {
		job := l.jobs[id].Get("job")
		want := map[string]string{
			"cancelled after an attempt": "started request finished", "cancelled": "finished",
			"completed after an attempt": "started request response finished",
		}[storyOf(job)]
		counts[storyOf(job)]++
		if got := strings.Join(events, " "); got != want {
			t.Errorf("of a job that is %s came %q: %s", storyOf(job), got, job.Raw())
		}
	}
	t.Logf("%v", counts)
}

// storyOf names a job's state, and whether it was attempted.
func storyOf(job harness.JSON) string {
	if job.Get("attempted_at").IsNull() {
		return job.Get("state").Str()
	}
	return job.Get("state").Str() + " after an attempt"
}
