package e2e

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// orderFields are the fields by which each list can be sorted.
var orderFields = map[string][]string{
	"/api/jobs": {"inserted_at", "scheduled_at", "attempted_at", "completed_at", "cancelled_at", "discarded_at",
		"state", "job_id", "id"},
	"/api/schedules": {"inserted_at", "disabled_at", "name", "id"},
	"/api/logs":      {"inserted_at", "event", "job_id", "id"},
}

// variety returns an account whose records differ in every field: jobs in all
// states, schedules with and without names, disabled or not, logs of two jobs.
func variety(t *testing.T) *harness.Account {
	t.Helper()
	a := account(t)
	good := harness.SharedTarget(t).Route(t)
	bad := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	// Long enough that no retry changes the lists while they are read.
	later := harness.SharedTarget(t).Route(t).Respond(harness.Reply(503, "", "", "Retry-After", "3600"))
	held := harness.SharedTarget(t).Route(t)
	held.Hold(harness.Status(200))
	for i := range 2 {
		awaitState(t, a.Client, create(a.Client, `{"url":"`+good.URL+`"}`), "completed")
		awaitState(t, a.Client, create(a.Client, `{"retries":0,"url":"`+bad.URL+`"}`), "discarded")
		awaitState(t, a.Client, create(a.Client, `{"url":"`+later.URL+`"}`), "retryable")
		awaitState(t, a.Client, create(a.Client, `{"timeout":900,"url":"`+held.URL+`"}`), "executing")
		a.Post(jobPath(create(a.Client, waiting))+"/cancel", nil).Want(200)
		create(a.Client, fmt.Sprintf(`{"url":"https://example.com","schedule_in":[%d,"days"]}`, 9-i))
		for _, name := range []string{`"b"`, `"a"`, `null`} {
			job := create(a.Client, with(waiting, `"repeat_every":60,"name":`+name))
			if i == 0 {
				a.Post("/api/schedules/"+job.Get("schedule_id").Str()+"/disable", nil).Want(200)
			}
		}
	}
	return a
}

func TestListOrder_ByEveryFieldPutsNullsLastAndTiesNewestFirst(t *testing.T) {
	t.Parallel()
	a := variety(t)
	for _, path := range lists {
		newest := a.Get(path + "?limit=100").Want(200).Data().Items()
		age := map[string]int{} // position in the default order, newest first
		for i, item := range newest {
			age[item.Get("id").Str()] = i
		}
		for _, field := range orderFields[path] {
			for _, direction := range []string{"asc", "desc"} {
				answer := a.Get(path + "?limit=100&order_by=" + field + "," + direction).Want(200)
				got := answer.Data().Items()
				if len(got) != len(newest) {
					t.Errorf("%s by %s has %d items, want %d", path, field, len(got), len(newest))
				}
				for i := 1; i < len(got); i++ {
					if wrong := misplaced(got[i-1], got[i], field, direction, age); wrong != "" {
						t.Errorf("%s by %s %s: %s", path, field, direction, wrong)
						break
					}
				}
			}
		}
	}
}

// misplaced reports why b must not follow a.
func misplaced(a, b harness.JSON, field, direction string, age map[string]int) string {
	x, y := orderValue(a, field), orderValue(b, field)
	switch {
	case x.IsNull() && !y.IsNull():
		return fmt.Sprintf("null before %s", y.Raw())
	case y.IsNull() && !x.IsNull():
		return ""
	}
	order := cmp.Compare(x.Str(), y.Str())
	if field == "job_id" {
		order = cmp.Compare(x.Int(), y.Int())
	}
	if direction == "desc" {
		order = -order
	}
	coarse := !a.Get("job").Exists() && strings.HasSuffix(field, "ed_at") // shown in seconds, kept finer
	older := age[a.Get("id").Str()] > age[b.Get("id").Str()]
	if order > 0 || order == 0 && older && !coarse {
		return fmt.Sprintf("%s (age %d) before %s (age %d)", x.Raw(), age[a.Get("id").Str()], y.Raw(), age[b.Get("id").Str()])
	}
	return ""
}

// orderValue returns what a record is sorted by: of the two forms of a job's
// timestamps the exact one.
func orderValue(record harness.JSON, field string) harness.JSON {
	if exact := record.Get("job." + field); exact.Exists() && field != "id" {
		return exact
	}
	return record.Get(field)
}

func TestListOrder_PagesOfAnyFollowEachOther(t *testing.T) {
	t.Parallel()
	a := variety(t)
	for _, path := range lists {
		for _, field := range orderFields[path] {
			query := path + "?order_by=" + field + ",desc"
			want := ids(a.Get(query + "&limit=100"))
			if got := walk(t, a.Client, query+"&limit=4", nil); !slices.Equal(got, want) {
				t.Errorf("%s page by page\n got %q\nwant %q", query, got, want)
			}
		}
	}
}

func TestListOrder_IsReadInAllItsForms(t *testing.T) {
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

func TestListOrder_InvalidIs422NamingTheAllowedFields(t *testing.T) {
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

// orderForms returns the ways to write an order.
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
