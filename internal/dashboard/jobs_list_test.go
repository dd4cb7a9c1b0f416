package dashboard

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var jobTitles = regexp.MustCompile(`(?s)<td class="main">.*?>([^<]*)</a>`)

// titles returns the jobs of a list in order.
func titles(page string) string {
	var all []string
	for _, m := range jobTitles.FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, " ")
}

func TestJobs_ShowWhyTheyFailed(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	fails := func(name, payload, event string, change func(*job.Job)) {
		j := w.create(ann, fmt.Sprintf(`{"url":"https://example.com","name":%q,"retries":3}`, name))
		w.logs(j, job.EventRequest, sent, event, payload)
		if _, err := w.s.JobChange(t.Context(), ann, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
			after := *m.Job
			change(&after)
			return &store.Changes{Job: &after}
		}); err != nil {
			t.Fatal(err)
		}
	}
	discard := func(j *job.Job) { j.Begin(w.clock()); j.Discard(w.clock()) }
	fails("Down", broken, job.EventResponse, discard)
	fails("Slow", timedOut, job.EventError, discard)
	page := b.want(b.get("/jobs"), 200, `<span class="below">503 · attempt 1/4</span>`)
	b.want(page, 200, `<span class="below">timeout · attempt 2/4</span>`)
	b.want(b.get("/jobs?state=discarded"), 200, "503 · attempt 1/4")
}

func TestJobs_NewOnesAreAnnouncedAndDoNotMoveTheRows(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	for i := range 3 {
		w.create(ann, fmt.Sprintf(`{"url":"https://example.com","name":"Old-%d","schedule_in":60}`, i))
	}
	self := regexp.MustCompile(`data-part="([^"]*)"`)
	part := func(page string) string {
		m := self.FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("there is no live part: %s", page)
		}
		return strings.ReplaceAll(m[1], "&amp;", "&")
	}
	at := part(b.get("/jobs").body)
	for i := range 2 {
		w.create(ann, fmt.Sprintf(`{"url":"https://example.com","name":"New-%d","schedule_in":60}`, i))
	}
	page := b.want(b.get(at), 200, `<a class="button small" href="/jobs">2 new jobs</a>`)
	if got := titles(page.body); got != "Old-2 Old-1 Old-0" || part(page.body) != at {
		t.Errorf("%s shows %q and leads to %s", at, got, part(page.body))
	}
	if strings.Count(page.body, "top=") != 1 {
		t.Error("links lead to the list as it was")
	}
	for range jobsShown {
		w.create(ann, `{"url":"https://example.com","name":"More","schedule_in":60}`)
	}
	b.want(b.get(at), 200, "25 or more new jobs")
	if got := titles(b.get("/jobs?part=list&top=nonsense").body); !strings.HasPrefix(got, "More More") {
		t.Errorf("without a place it shows %q", got)
	}
	b.want(b.get("/jobs"), 200, `href="/jobs?follow=off"`)
	if paused := b.want(b.get("/jobs?follow=off"), 200, "Follow live"); strings.Contains(paused.body, "data-live") {
		t.Error("it is live while it is paused")
	}
}

func TestJobs_DueFirst(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	for name, seconds := range map[string]int{"Later": 3000, "Soon": 60, "Between": 600} {
		w.create(ann, fmt.Sprintf(`{"url":"https://example.com","name":%q,"schedule_in":%d}`, name, seconds))
	}
	page := b.want(b.get("/jobs?state=available&order=due"), 200, `aria-current="true"`)
	if got := titles(page.body); got != "Soon Between Later" {
		t.Errorf("by due time: %q", got)
	}
	b.want(b.get("/jobs?state=available"), 200, `href="/jobs?order=due&amp;state=available"`)
	if page := b.get("/jobs?order=due"); strings.Contains(page.body, "Due first") {
		t.Error("all jobs can be sorted by due time")
	}
}

func TestJobs_OperationsOnAllThatMatch(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	w.create(ann, `{"url":"https://example.com","name":"One","tags":["eu"],"schedule_in":60}`)
	for query, want := range map[string]string{"state=discarded": "Run all again", "state=available": "Run all now Cancel all",
		"tag=eu": "Run all again Cancel all", "state=executing": "Cancel all", "": "", "q=one&tag=eu": ""} {
		var got []string
		for _, m := range regexp.MustCompile(`<button type="submit" class="button small">([^<…]*)…`).FindAllStringSubmatch(
			b.get("/jobs?"+query).body, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("?%s offers %q, want %q", query, got, want)
		}
	}
	page := b.get("/jobs?tag=eu")
	form := url.Values{}
	_, rest, _ := strings.Cut(page.body, `<form method="post" action="/operations">`)
	_, rest, _ = strings.Cut(rest, `<form method="post" action="/operations">`) // the second: Cancel all
	rest, _, _ = strings.Cut(rest, "</form>")
	for _, m := range regexp.MustCompile(`name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		form.Set(m[1], m[2])
	}
	b.want(b.do("POST", "/operations", form), 200, "<strong>1</strong>")
}
