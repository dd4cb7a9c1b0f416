package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// lists are the three collections.
var lists = []string{"/api/jobs", "/api/schedules", "/api/logs"}

// fill stores n recurring waiting jobs: n jobs and n schedules. It returns
// their record ids, newest first.
func fill(c *harness.Client, n int) (jobs, schedules []string) {
	for i := range n {
		job := create(c, with(waiting, fmt.Sprintf(`"repeat_every":60,"name":"n%d"`, i)))
		jobs = append(jobs, job.Get("id").Str())
		schedules = append(schedules, job.Get("schedule_id").Str())
	}
	slices.Reverse(jobs)
	slices.Reverse(schedules)
	return jobs, schedules
}

// ids returns the record ids of a page.
func ids(answer *harness.Answer) []string {
	var ids []string
	for _, item := range answer.Want(200).Data().Items() {
		ids = append(ids, item.Get("id").Str())
	}
	return ids
}

func TestList_ReturnsTheTenMostRecentFirst(t *testing.T) {
	t.Parallel()
	a := account(t)
	jobs, schedules := fill(a.Client, 12)
	for path, want := range map[string][]string{"/api/jobs": jobs, "/api/schedules": schedules} {
		tests := []struct {
			query    string
			from, to int
		}{
			{"", 0, 10}, {"?limit=3", 0, 3}, {"?limit=100", 0, 12}, {"?offset=5", 5, 12}, {"?limit=2&offset=10", 10, 12},
			{"?limit=5&offset=11", 11, 12}, {"?offset=12", 12, 12}, {"?offset=1000000", 12, 12}, {"?limit=1&offset=0", 0, 1},
		}
		for _, test := range tests {
			answer := a.Get(path + test.query)
			if got := ids(answer); !slices.Equal(got, want[test.from:test.to]) {
				t.Errorf("%s%s gave %q, want %q", path, test.query, got, want[test.from:test.to])
			}
			wantKeys(t, "the list", answer.JSON, "data")
		}
	}
}

func TestList_InvalidLimitsAndOffsetsAre422(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Public(t)
	for _, path := range lists {
		for _, value := range []string{"0", "-1", "101", "x", "1.5", "1e1", "", "+", "10x", "99999999999999999999", "%00", "0x1", "null"} {
			c.Get(path + "?limit=" + value).WantParameters("limit")
			if value != "0" && value != "101" {
				c.Get(path + "?offset=" + value).WantParameters("offset")
			}
		}
		c.Get(path+"?limit=0&offset=-1&order_by=nonsense").WantParameters("limit", "offset", "order_by")
	}
}

func TestList_ReportsAllProblemsOfAQuery(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Public(t)
	c.Get("/api/jobs?limit=x&offset=x&order_by=x&state=x&schedule_id=x&idempotency_key=").
		WantParameters("limit", "offset", "order_by", "state", "schedule_id", "idempotency_key")
	c.Get("/api/logs?limit=x&job_id=x").WantParameters("limit", "job_id")
}
