package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// heap creates jobs of almost 1 MB each and returns their ids, the newest
// first.
func heap(c *harness.Client, n int) (numbers []string) {
	for i := range n {
		body := `{"url":"https://example.com/hook","schedule_in":86400,"body":"` + strings.Repeat("x", 1_000_000) + strconv.Itoa(i) + `"}`
		numbers = append(numbers, create(c, body).Get("job_id").Raw())
	}
	slices.Reverse(numbers)
	return numbers
}

// TestListPage_HasAtMost8MiB tests that a page that is full by size has fewer
// rows than requested, and links to the rest.
func TestListPage_HasAtMost8MiB(t *testing.T) {
	t.Parallel()
	a := account(t)
	want := heap(a.Client, 12)
	upwards := slices.Clone(want)
	slices.Reverse(upwards)
	for first, want := range map[string][]string{
		"/api/jobs?limit=100":                                want,
		"/api/jobs?limit=100&state=scheduled":                want,
		"/api/jobs?limit=100&offset=0":                       want,
		"/api/jobs?limit=11&order_by=job_id,asc":             upwards,
		"/api/jobs?limit=100&order_by=scheduled_at,desc":     want,
		"/api/jobs?limit=100&order_by=state&state=available": want,
		"/api/jobs?limit=100&q=example":                      want,
	} {
		var got []string
		path := first
		for pages := 0; path != ""; pages++ {
			answer := a.Get(path).Want(200)
			page := answer.Data().Pluck("job_id")
			if len(answer.Body) > 9<<20 || len(page) == 0 || pages > 3 {
				t.Fatalf("%s: page %d has %d jobs in %d bytes", path, pages, len(page), len(answer.Body))
			}
			if pages == 0 && len(page) > 8 {
				t.Errorf("%s: %d jobs on the first page", path, len(page))
			}
			got = append(got, page...)
			path = answer.Next()
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", first, got, want)
		}
	}
	// Several at once can still be cancelled if they fit.
	ids := "[" + strings.Join(want, ",") + "]"
	a.Post("/api/jobs/cancel", `{"job_ids":`+ids+`}`).WantPointers("#/job_ids")
	for _, j := range a.Post("/api/jobs/cancel", `{"job_ids":[`+strings.Join(want[:3], ",")+`]}`).Want(200).Data().Items() {
		if j.Get("job.state").Str() != "cancelled" {
			t.Errorf("a job is %s", j.Get("job.state"))
		}
	}
}
