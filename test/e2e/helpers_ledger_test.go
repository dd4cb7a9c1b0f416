package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// ledger is what a client knows of an account's jobs: their records, their logs
// and the requests that reached the target.
type ledger struct {
	jobs map[int64]harness.JSON
	logs map[int64][]string // names and kinds, the earliest first
	hits map[int64][]harness.Hit
}

// soonDue is how far ahead takeLedger looks: what is due within it is awaited, so that
// no job starts while the ledger is read.
const soonDue = 5 * time.Minute

// takeLedger waits until nothing is due soon or under way and reads everything.
func takeLedger(t *testing.T, c *harness.Client, target *harness.Route) *ledger {
	t.Helper()
	l := &ledger{logs: map[int64][]string{}, hits: map[int64][]harness.Hit{}}
	harness.Eventually(t, 3*soon, "no job to be due soon or under way", func() bool {
		first := c.Get("/api/jobs?state=scheduled&limit=1&order_by=scheduled_at,asc").Want(200).Data().Get("0.job.scheduled_at")
		if first.Exists() && instant(t, first).Before(time.Now().Add(soonDue)) ||
			len(c.Get("/api/jobs?state=executing&limit=1").Want(200).Data().Items()) > 0 {
			return false
		}
		// A job whose claim was released between the two reads was in neither.
		return l.readSettled(t, c)
	})
	for _, log := range everyRecord(t, c, "/api/logs?limit=100") {
		name := strings.TrimPrefix(log.Get("event").Str(), "worker.http.")
		if kind := log.Get("payload.kind").Str(); name == "error" {
			name += " " + kind
		}
		id := log.Get("job_id").Int()
		l.logs[id] = append([]string{name}, l.logs[id]...) // the list has the latest first
	}
	for _, hit := range target.Hits() {
		var id int64
		if _, err := fmt.Sscan(hit.Header.Get("X-Punctual-Job-Id"), &id); err != nil {
			t.Fatalf("a request without a job: %q", hit.Header)
		}
		l.hits[id] = append(l.hits[id], hit)
	}
	return l
}

// readSettled reads the jobs, and reports whether all are final or due much later.
func (l *ledger) readSettled(t *testing.T, c *harness.Client) bool {
	t.Helper()
	near := time.Now().Add(soonDue)
	l.jobs = map[int64]harness.JSON{}
	for _, job := range everyRecord(t, c, "/api/jobs?limit=100") {
		switch job.Get("job.state").Str() {
		case "executing":
			return false
		case "available", "retryable":
			if !instant(t, job.Get("job.scheduled_at")).After(near) {
				return false
			}
		}
		l.jobs[job.Get("job_id").Int()] = job
	}
	return true
}

// check reports every job whose state, timestamps, logs and requests contradict
// each other. It is valid for targets that respond with 2xx and for services
// that are not stopped meanwhile.
func (l *ledger) check(t *testing.T) (states map[string]int) {
	t.Helper()
	states = map[string]int{}
	faults := 0
	for id, job := range l.jobs {
		state := storyOf(job.Get("job"))
		states[state]++
		if problem := l.problem(t, id, state); problem != "" && faults < 10 {
			faults++
			t.Errorf("%s: %s with logs %q and %d requests at the target", problem, job.Raw(), l.logs[id], len(l.hits[id]))
		}
	}
	for id := range l.hits {
		if _, known := l.jobs[id]; !known {
			t.Errorf("a request of a job that is not there: %d", id)
		}
	}
	return states
}

// stories lists the logs, the number of requests and the timestamps that a job
// may have in each state.
var stories = map[string]struct {
	logs        string
	least, most int
	times       []string
}{
	"available": {"", 0, 0, nil},
	"cancelled": {"", 0, 0, []string{"cancelled_at"}},
	"cancelled after an attempt": {"request, error cancelled", 0, 1,
		[]string{"cancelled_at"}}, // the abort may come before the request is sent
	"completed after an attempt": {"request, response", 1, 1, []string{"completed_at"}},
}

func (l *ledger) problem(t *testing.T, id int64, state string) string {
	t.Helper()
	story, known := stories[state]
	if !known {
		return "a forbidden state"
	}
	logs := l.logs[id]
	if !l.jobs[id].Get("schedule_id").IsNull() { // points may pass before a late start, or while a run is under way
		logs = slices.DeleteFunc(slices.Clone(logs), func(name string) bool { return name == "worker.schedule.skipped" })
	}
	logs, unsent := withoutUnsent(logs)
	if unsent && len(logs) == 0 && state == "cancelled after an attempt" {
		story.logs = ""
	}
	if strings.Join(logs, ", ") != story.logs {
		return "logs that don't agree with the state"
	}
	if got := len(l.hits[id]); got < story.least || got > story.most {
		return "requests that don't agree with the state"
	}
	job := l.jobs[id].Get("job")
	for _, name := range []string{"cancelled_at", "completed_at", "discarded_at"} {
		set := len(story.times) > 0 && story.times[0] == name
		if job.Get(name).IsNull() == set {
			return name + " does not agree with the state"
		}
		if set && !job.Get("attempted_at").IsNull() && instant(t, job.Get(name)).Before(instant(t, job.Get("attempted_at"))) {
			return name + " lies before the attempt"
		}
	}
	due := instant(t, job.Get("scheduled_at"))
	if !job.Get("attempted_at").IsNull() && instant(t, job.Get("attempted_at")).Before(due) {
		return "an attempt before the due time"
	}
	for _, hit := range l.hits[id] {
		if hit.At.Before(due) {
			return "a request before the due time"
		}
	}
	return ""
}

// withoutUnsent leaves out attempts that were not sent: on a machine that stood still for a
// moment, a run whose schedule was changed meanwhile ends its attempt as interrupted.
func withoutUnsent(logs []string) (rest []string, unsent bool) {
	for i := 0; i < len(logs); i++ {
		if i+1 < len(logs) && logs[i] == "request" && logs[i+1] == "error interrupted" {
			unsent = true
			i++
			continue
		}
		rest = append(rest, logs[i])
	}
	return rest, unsent
}
