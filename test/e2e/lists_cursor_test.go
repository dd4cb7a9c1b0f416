package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// walk follows the links of a list to its end and returns the ids it met;
// between runs after each page.
func walk(t *testing.T, c *harness.Client, path string, between func()) []string {
	t.Helper()
	var met []string
	for pages := 0; path != ""; pages++ {
		if pages > 200 {
			t.Fatalf("the walk does not end: %s", path)
		}
		answer := c.Get(path).Want(200)
		page := ids(answer)
		met = append(met, page...)
		path = answer.Next()
		if path != "" && len(page) == 0 {
			t.Fatalf("a link to more after an empty page: %s", answer)
		}
		if between != nil {
			between()
		}
	}
	return met
}

func TestListCursor_HasNoGapOrRepeatWhileRowsAreCreated(t *testing.T) {
	t.Parallel()
	a := account(t)
	jobs, schedules := fill(a.Client, 11)
	for path, want := range map[string][]string{"/api/jobs?limit=2": jobs, "/api/schedules?limit=3": schedules} {
		before := ids(a.Get(strings.SplitN(path, "?", 2)[0] + "?limit=100"))
		got := walk(t, a.Client, path, func() { create(a.Client, with(waiting, `"repeat_every":60`)) })
		if !slices.Equal(got, before) {
			t.Errorf("%s\n got %q\nwant %q", path, got, before)
		}
		if !slices.Equal(before[len(before)-len(want):], want) {
			t.Errorf("%s lost what was there first", path)
		}
	}
}

func TestListCursor_WalksLogsWhileJobsRun(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	run := func() {
		awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+`"}`), "completed")
	}
	for range 6 {
		run()
	}
	want := ids(a.Get("/api/logs?limit=100"))
	if len(want) != 12 {
		t.Fatalf("want two logs of each of six jobs, got %d", len(want))
	}
	if got := walk(t, a.Client, "/api/logs?limit=5", run); !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestListCursor_LinkIsPresentOnlyWhenThereIsMore(t *testing.T) {
	t.Parallel()
	a := account(t)
	fill(a.Client, 4)
	for query, more := range map[string]bool{
		"": false, "?limit=4": false, "?limit=3": true, "?limit=2&offset=2": false, "?limit=2&offset=1": true,
		"?limit=2&order_by=id": true, "?limit=4&order_by=id": false, "?offset=9": false,
		"?limit=1&state=scheduled": true, "?limit=1&state=completed": false,
	} {
		answer := a.Get("/api/jobs" + query).Want(200)
		if got := answer.Next() != ""; got != more {
			t.Errorf("%s: link is %q, more is %v", query, answer.Header.Get("Link"), more)
		}
	}
}

func TestListCursor_KeepsFiltersAndLimit(t *testing.T) {
	t.Parallel()
	a := account(t)
	jobs, _ := fill(a.Client, 7)
	for _, id := range []string{jobs[1], jobs[4]} {
		a.Post("/api/jobs/"+id+"/cancel", nil).Want(200)
	}
	for _, filter := range []string{"state=scheduled", "state=cancelled"} {
		want := ids(a.Get("/api/jobs?limit=100&" + filter))
		if got := walk(t, a.Client, "/api/jobs?limit=1&"+filter, nil); !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", filter, got, want)
		}
	}
	next := a.Get("/api/jobs?limit=3&state=scheduled").Next()
	if page := ids(a.Get(next)); len(page) != 3 {
		t.Errorf("the next page has %d records, want the limit 3", len(page))
	}
}

// cursorOf returns the cursor of a list's first link.
func cursorOf(t *testing.T, c *harness.Client, path string) string {
	t.Helper()
	answer := c.Get(path + "?limit=1").Want(200)
	link, err := url.Parse(answer.Next())
	if err != nil || link.Query().Get("cursor") == "" {
		t.Fatalf("the link carries no cursor: %q", answer.Header.Get("Link"))
	}
	return link.Query().Get("cursor")
}

func TestListCursor_ForgedIs422(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a, other := s.Account(t), s.Account(t)
	fill(a.Client, 3)
	fill(other.Client, 3)
	target := harness.SharedTarget(t).Route(t)
	awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+`"}`), "completed")
	cursors := map[string]string{}
	for _, path := range lists {
		cursors[path] = cursorOf(t, a.Client, path)
	}
	for _, path := range lists {
		own := cursors[path]
		forged := []string{"", "x", "AAAA", "null", "%00", noUUID, "1", "../..", own + "A", "A" + own, own[:len(own)-1], own[1:],
			strings.ToUpper(own) + "x", own + own, strings.Repeat("A", 4000)}
		for i := 0; i < len(own); i += 5 {
			forged = append(forged, own[:i]+flip(own[i])+own[i+1:])
		}
		for list, cursor := range cursors {
			if list != path {
				forged = append(forged, cursor)
			}
		}
		for _, cursor := range forged {
			a.Get(path + "?cursor=" + cursor).WantParameters("cursor")
		}
		other.Get(path + "?cursor=" + url.QueryEscape(own)).WantParameters("cursor")
		a.Get(path + "?cursor=" + url.QueryEscape(own)).Want(200)
	}
}

// flip returns another character of the alphabet of cursors.
func flip(b byte) string {
	if b == 'B' {
		return "C"
	}
	return "B"
}

func TestListCursor_WithOffsetOrAnotherOrderIsRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	fill(a.Client, 3)
	for _, path := range lists[:2] {
		cursor := path + "?cursor=" + url.QueryEscape(cursorOf(t, a.Client, path))
		for _, query := range []string{"&offset=1", "&order_by=id,asc", "&order_by[]=id&order_by[]=asc"} {
			answer := a.Get(cursor + query).WantProblem(422)
			for _, problem := range answer.Problems() {
				if !slices.Contains([]string{"cursor", "offset", "order_by"}, problem.Parameter) {
					t.Errorf("names %q: %s", problem.Parameter, answer)
				}
			}
			if len(answer.Problems()) == 0 {
				t.Errorf("no problem is named: %s", answer)
			}
		}
		if got := ids(a.Get(cursor + "&limit=1")); len(got) != 1 {
			t.Errorf("a cursor with limit=1 gave %q", got)
		}
	}
}
