package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestLateness_JobsStartOnTimeAndNeverEarly is not parallel, so that it has the
// machine to itself and measures only the service.
func TestLateness_JobsStartOnTimeAndNeverEarly(t *testing.T) {
	const jobs, spread = 300, 3 * time.Second
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := time.Now().Add(2 * time.Second)
	dues := make([]time.Time, jobs)
	var creators sync.WaitGroup
	for worker := range 8 {
		creators.Go(func() {
			for i := worker; i < jobs; i += 8 {
				due := first.Add(spread * time.Duration(i) / jobs).UTC().Truncate(time.Microsecond)
				body := fmt.Sprintf(`{"url":"%s/%d","scheduled_at":"%s"}`, target.URL, i, due.Format(time.RFC3339Nano))
				answer, err := a.Try(http.MethodPost, "/api/jobs", body)
				if err != nil || answer.Status != 201 {
					t.Errorf("creating a job: %v %s", err, answer)
					return
				}
				dues[i] = due
			}
		})
	}
	creators.Wait()
	created := time.Now()
	if created.After(first) {
		t.Logf("creating took %s longer than planned; jobs that were due meanwhile count from its end", created.Sub(first))
	}
	late := lateness(t, target.Await(t, jobs, spread+soon), dues, created)
	t.Logf("lateness of %d jobs: p50 %s, p99 %s, most %s", jobs, late[jobs/2], late[jobs*99/100], late[jobs-1])
	if p99, allowed := late[jobs*99/100], harness.Allowed(time.Second, first); p99 > allowed {
		t.Errorf("p99 of the lateness is %s, allowed are %s", p99, allowed)
	}
	wantAttemptsNotBeforeDue(t, a.Client)
}

// lateness returns how late each request came, in order, and reports early
// ones. Every job must have come once. Before all were created, none is late: the
// machine was busy with that.
func lateness(t *testing.T, hits []harness.Hit, dues []time.Time, created time.Time) []time.Duration {
	t.Helper()
	var late []time.Duration
	seen := map[string]bool{}
	for _, hit := range hits {
		var i int
		if _, err := fmt.Sscanf(hit.Path[len("/r"):], "%d/%d", new(int), &i); err != nil {
			t.Fatalf("a path nobody asked for: %s", hit.Path)
		}
		if seen[hit.Path] {
			t.Errorf("%s came twice", hit.Path)
		}
		seen[hit.Path] = true
		if hit.At.Before(dues[i]) {
			t.Errorf("job %d came %s before it was due", i, dues[i].Sub(hit.At))
		}
		late = append(late, max(0, min(hit.At.Sub(dues[i]), hit.At.Sub(created))))
	}
	slices.Sort(late)
	return late
}

func wantAttemptsNotBeforeDue(t *testing.T, c *harness.Client) {
	t.Helper()
	for _, job := range everyRecord(t, c, "/api/jobs?limit=100") {
		attempted := job.Get("job.attempted_at")
		if attempted.IsNull() {
			continue
		}
		if due := instant(t, job.Get("job.scheduled_at")); instant(t, attempted).Before(due) {
			t.Errorf("a job due %s was attempted at %s", due, attempted.Str())
		}
	}
}
