package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// logsOf returns the logs of a job, the earliest first.
func logsOf(c *harness.Client, job harness.JSON) []harness.JSON {
	path := fmt.Sprintf("/api/logs?limit=100&order_by=inserted_at,asc&job_id=%d", job.Get("job_id").Int())
	return c.Get(path).Want(200).Data().Items()
}

// events returns the names of the logs' events without their common prefix.
func events(logs []harness.JSON) []string {
	names := []string{}
	for _, log := range logs {
		names = append(names, log.Get("event").Str()[len("worker."):])
	}
	return names
}

func wantEvents(t *testing.T, logs []harness.JSON, want ...string) {
	t.Helper()
	if got := events(logs); !slices.Equal(got, want) {
		t.Errorf("logs are %q, want %q: %s", got, want, logs)
	}
}

// awaitLogs polls until a job has n logs, and returns them.
func awaitLogs(t *testing.T, c *harness.Client, job harness.JSON, n int, within time.Duration) []harness.JSON {
	t.Helper()
	var logs []harness.JSON
	if !harness.Within(within, func() bool {
		logs = logsOf(c, job)
		return len(logs) >= n
	}) {
		t.Fatalf("waited for %d logs of %s, got %s", n, job.Raw(), logs)
	}
	return logs
}

// finished stores a job, waits until it is final and returns the record and the
// payload of its last log.
func finished(t *testing.T, c *harness.Client, body, state string) (job, payload harness.JSON) {
	t.Helper()
	job = awaitState(t, c, create(c, body), state)
	logs := logsOf(c, job)
	if len(logs) == 0 {
		t.Fatalf("a job without logs: %s", job.Raw())
	}
	return job, logs[len(logs)-1].Get("payload")
}

// everyRecord walks a list to its end and returns its records.
func everyRecord(t *testing.T, c *harness.Client, path string) []harness.JSON {
	t.Helper()
	var records []harness.JSON
	for path != "" {
		answer := c.Get(path).Want(200)
		records = append(records, answer.Data().Items()...)
		path = answer.Next()
	}
	return records
}

// runsOf returns the jobs of a schedule in the order of their due times.
func runsOf(t *testing.T, c *harness.Client, schedule string) []harness.JSON {
	t.Helper()
	runs := everyRecord(t, c, "/api/jobs?limit=100&schedule_id="+schedule)
	slices.SortStableFunc(runs, func(a, b harness.JSON) int {
		return instant(t, a.Get("job.scheduled_at")).Compare(instant(t, b.Get("job.scheduled_at")))
	})
	return runs
}

// schedulePath is the path of a job's schedule.
func schedulePath(job harness.JSON) string {
	return "/api/schedules/" + job.Get("schedule_id").Str()
}

// scheduledAt returns the due time that a request carries.
func scheduledAt(t *testing.T, hit harness.Hit) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.000000Z", hit.Header.Get("X-Punctual-Scheduled-At"))
	if err != nil {
		t.Fatalf("X-Punctual-Scheduled-At has not six digits and Z: %v", err)
	}
	return at
}

// passed waits until a time has passed.
func passed(t *testing.T, at time.Time) {
	t.Helper()
	harness.Eventually(t, time.Until(at)+soon, "a moment to pass", func() bool { return time.Now().After(at) })
}

// seeded returns the seed of a randomized test, and prints it.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("PUNCTUAL_E2E_SEED"), 10, 64); err == nil {
		seed = given
	}
	fmt.Printf("%s: PUNCTUAL_E2E_SEED=%d\n", t.Name(), seed)
	return seed
}

// full reports whether everything is looked at, however long it takes.
func full() bool { return os.Getenv("PUNCTUAL_E2E_FULL") != "" }
