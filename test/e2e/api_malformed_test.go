package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/api/apitest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const malformedWorkers = 6

// malformedRequests returns how many requests are sent.
func malformedRequests(t *testing.T) int {
	given := os.Getenv("PUNCTUAL_E2E_MALFORMED")
	if given == "" {
		return 10_000
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1000 {
		t.Fatalf("PUNCTUAL_E2E_MALFORMED=%q is not a number of at least 1000", given)
	}
	return n
}

// TestAPIMalformed_RequestsGetDocumentedResponsesAndStoreNothing derives
// requests from the OpenAPI document and breaks them. Many are refused, some
// happen to be valid. No response may be a 5xx, the document must describe
// each, and exactly the jobs of the 201 responses are stored.
func TestAPIMalformed_RequestsGetDocumentedResponsesAndStoreNothing(t *testing.T) {
	t.Parallel()
	seed, requests := seeded(t), malformedRequests(t)
	s := harness.Start(t, harness.Flag("concurrency", "8"))
	a := s.Account(t)
	target := harness.SharedTarget(t)
	// A stream of events is a response that does not end.
	operations := slices.DeleteFunc(apitest.New(t).Operations(), func(op apitest.Operation) bool { return op.ID == "followEvents" })
	b := newBreaker(operations, target.URL)
	found := &findings{jobs: map[string]bool{}, schedules: map[string]bool{}, faults: map[string]*fault{}}
	var group sync.WaitGroup
	for worker := range malformedWorkers {
		group.Go(func() {
			// Each worker has a sequence of its own, so that a seed gives the
			// same requests however the workers take turns.
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range requests / malformedWorkers {
				found.note(a.Client, b.request(r))
			}
		})
	}
	group.Wait()
	found.report(t, requests)
	wantExactly(t, a.Client, found)
	a.Get("/readyz").Want(200)
}

// findings collects the results of all requests.
type findings struct {
	mu        sync.Mutex
	jobs      map[string]bool // answered with 201
	schedules map[string]bool
	statuses  [600]int
	faults    map[string]*fault
}

// fault is one kind of wrong response, and how often it came.
type fault struct {
	count   int
	example string
}

func (f *findings) note(c *harness.Client, q request) {
	answer, problem, err := c.Probe(q.method, q.path, q.body, q.options...)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.add("no answer to "+q.operation, fmt.Sprintf("%s %s: %v", q.method, q.path, err))
		return
	case answer.Status >= 500:
		f.add(fmt.Sprintf("%s answered %d", q.operation, answer.Status), answer.String())
	case problem != nil:
		f.add(fmt.Sprintf("%s answered %d: %s", q.operation, answer.Status, kindOf(problem)),
			fmt.Sprintf("%v\n%s", problem, answer))
	}
	f.statuses[answer.Status]++
	if answer.Status == 201 && strings.HasPrefix(answer.Header.Get("Location"), "/api/jobs/") {
		f.jobs[answer.Data().Get("id").Str()] = true
		f.schedules[answer.Data().Get("schedule_id").Str()] = true
	}
}

func (f *findings) add(kind, example string) {
	if f.faults[kind] == nil {
		f.faults[kind] = &fault{example: example}
	}
	f.faults[kind].count++
}

var volatile = regexp.MustCompile(`(?s)^.*-> \d+: |\n.*|['"«].*?['"»]|\d+`)

// kindOf removes from an error what differs from one request to the next.
func kindOf(err error) string { return clip(volatile.ReplaceAllString(err.Error(), "")) }

// report fails the test with one example of each kind of fault, at most ten.
func (f *findings) report(t *testing.T, requests int) {
	t.Helper()
	kinds := slices.SortedFunc(maps.Keys(f.faults), func(a, b string) int {
		return cmp.Compare(f.faults[b].count, f.faults[a].count)
	})
	for i, kind := range kinds {
		if i == 10 {
			t.Errorf("and %d more kinds of fault", len(kinds)-i)
			break
		}
		t.Errorf("%d times: %s\n%s", f.faults[kind].count, kind, f.faults[kind].example)
	}
	var line strings.Builder
	for status, count := range f.statuses {
		if count > 0 {
			fmt.Fprintf(&line, " %d: %d", status, count)
		}
	}
	t.Logf("answers by status:%s", line.String())
	if f.statuses[422] < requests/20 || f.statuses[400] < requests/50 || f.statuses[201] == 0 {
		t.Error("the requests are not as varied as they should be")
	}
}

// wantExactly fails the test unless exactly the jobs of the 201 responses are
// stored, apart from further runs of their schedules.
func wantExactly(t *testing.T, c *harness.Client, f *findings) {
	t.Helper()
	missing := maps.Clone(f.jobs)
	for path := "/api/jobs?limit=100"; path != ""; {
		answer := c.Get(path).Want(200)
		for _, record := range answer.Data().Items() {
			id, schedule := record.Get("id").Str(), record.Get("schedule_id").Str()
			delete(missing, id)
			if !f.jobs[id] && (schedule == "" || !f.schedules[schedule]) {
				t.Errorf("a job is stored that no 201 told of: %s", record.Raw())
			}
		}
		path = answer.Next()
	}
	if len(missing) > 0 {
		t.Errorf("%d jobs answered with 201 are not in the list", len(missing))
	}
	for path := "/api/schedules?limit=100"; path != ""; {
		answer := c.Get(path).Want(200)
		for _, record := range answer.Data().Items() {
			if !f.schedules[record.Get("id").Str()] {
				t.Errorf("a schedule is stored that no 201 told of: %s", record.Raw())
			}
		}
		path = answer.Next()
	}
}
