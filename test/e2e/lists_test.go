package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// lists are the three collections.
var lists = []string{"/api/jobs", "/api/schedules", "/api/logs"}

// fill stores n recurring waiting jobs: n jobs and n schedules. It gives their
// record ids, newest first.
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

// ids gives the record ids of a page.
func ids(answer *harness.Answer) []string {
	var ids []string
	for _, item := range answer.Want(200).Data().Items() {
		ids = append(ids, item.Get("id").Str())
	}
	return ids
}

func TestListsGiveTenMostRecentlyCreatedFirst(t *testing.T) {
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
			{"?unknown=x&limit=1", 0, 1},
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

func TestLimitsAndOffsetsThatAreNoneAre422(t *testing.T) {
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

func TestAllProblemsOfAQueryAreListed(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Public(t)
	c.Get("/api/jobs?limit=x&offset=x&order_by=x&state=x&schedule_id=x&idempotency_key=").
		WantParameters("limit", "offset", "order_by", "state", "schedule_id", "idempotency_key")
	c.Get("/api/logs?limit=x&job_id=x").WantParameters("limit", "job_id")
}

// orderForms are the ways to write an order.
func orderForms(field, direction string) []string {
	return []string{
		"order_by[]=" + field + "&order_by[]=" + direction,
		"order_by=" + field + "&order_by=" + direction,
		"order_by[0]=" + field + "&order_by[1]=" + direction,
		"order_by=" + field + "," + direction,
		"order_by=" + url.QueryEscape(`["`+field+`","`+direction+`"]`),
		"order_by%5B%5D=" + field + "&order_by%5B%5D=" + direction,
		"order_by[1]=" + direction + "&order_by[0]=" + field,
	}
}

func TestOrderByIsReadInAnyOfItsForms(t *testing.T) {
	t.Parallel()
	a := account(t)
	newest, _ := fill(a.Client, 3)
	oldest := slices.Clone(newest)
	slices.Reverse(oldest)
	for _, form := range orderForms("job_id", "asc") {
		if got := ids(a.Get("/api/jobs?" + form)); !slices.Equal(got, oldest) {
			t.Errorf("%s gave %q, want %q", form, got, oldest)
		}
	}
	for _, form := range orderForms("job_id", "desc") {
		if got := ids(a.Get("/api/jobs?" + form)); !slices.Equal(got, newest) {
			t.Errorf("%s gave %q, want %q", form, got, newest)
		}
	}
	for _, form := range []string{"order_by=job_id", "order_by[]=job_id", "order_by[0]=job_id", `order_by=["job_id"]`} {
		if got := ids(a.Get("/api/jobs?" + strings.ReplaceAll(form, `"`, "%22"))); !slices.Equal(got, oldest) {
			t.Errorf("%s gave %q, want ascending %q", form, got, oldest)
		}
	}
}

func TestOrdersThatAreNoneAre422NamingTheAllowedFields(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Public(t)
	for _, path := range lists {
		for _, order := range []string{"nonsense", "", ",", "asc", "nonsense,asc", "id,sideways", "id,asc,desc", "id,ASCENDING",
			`["id"`, `["id",1]`, `{"id":"asc"}`, `[]`, "args", "user_id", "id;drop table jobs"} {
			c.Get(path + "?order_by=" + url.QueryEscape(order)).WantParameters("order_by")
		}
		for _, query := range []string{"order_by[]=id&order_by[]=asc&order_by[]=desc", "order_by[0]=nonsense&order_by[1]=asc",
			"order_by[]=id&order_by[]=up", "order_by=id&order_by=up", "order_by[]=", "order_by[1]=asc"} {
			c.Get(path + "?" + query).WantParameters("order_by")
		}
	}
	for path, fields := range orderFields {
		answer := c.Get(path + "?order_by=nonsense").WantParameters("order_by")
		for _, field := range fields {
			if !strings.Contains(string(answer.Body), field) {
				t.Errorf("%s does not name %s: %s", path, field, answer)
			}
		}
	}
	c.Get("/api/jobs?order_by=name").WantParameters("order_by")
	c.Get("/api/schedules?order_by=state").WantParameters("order_by")
	c.Get("/api/logs?order_by=scheduled_at").WantParameters("order_by")
}
