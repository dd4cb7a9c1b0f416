package dashboard

import (
	"net/url"
	"strings"
	"testing"
)

func TestJobs_FiltersAreInTheAddress(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	w.create(ann, `{"url":"https://one.example.com","name":"First","tags":["billing","eu"],"schedule_in":60}`)
	w.create(ann, `{"url":"https://two.example.com","name":"Second","tags":["billing"],"schedule_in":60}`)
	run := w.create(ann, `{"url":"https://two.example.com","name":"Third","repeat_every":3600}`)
	id := run.ScheduleID.String()
	for query, found := range map[string]string{
		"tag=billing": "First Second", "tag=billing&tag=eu": "First", "host=two.example.com": "Second Third", "name=Third": "Third",
		"schedule_id=" + id: "Third", "since=2026-03-01+11:00": "First Second Third", "until=2026-03-01T11:00:00Z": "",
		"state=scheduled&tag=eu":           "First",
		"tag=billing&host=two.example.com": "Second", "q=second&tag=billing": "Second", "q=first&host=two.example.com": "",
	} {
		page := b.want(b.get("/jobs?"+query), 200, "this filter")
		for _, name := range []string{"First", "Second", "Third"} {
			if got := strings.Contains(page.body, ">"+name+"</a>"); got != strings.Contains(found, name) {
				t.Errorf("?%s shows %s: %t", query, name, got)
			}
		}
	}
	// Empty fields of the form and several tags in one are not in the address.
	b.want(b.get("/jobs?q=&tag=billing,+eu&host=&name="), 303, "/jobs?tag=billing&tag=eu")
	page := b.want(b.get("/jobs?tag=billing&tag=eu"), 200, `href="/jobs?tag=eu"`)
	b.want(page, 200, `<span class="count">1</span>`)
	b.want(b.get("/jobs?schedule_id="+id), 200, `<span>Third</span>`)
	for query, says := range map[string]string{
		"tag=NO": "Tags must be 1 to 64 characters", "host=https://x": "Host must be a host name",
		"schedule_id=7": "Schedule must be a UUID",
		"since=noon":    "Created from, in UTC", "state=odd": "State must be one of",
		"until=2020-01-01T00:00:00Z&since=2021-01-01T00:00:00Z": "must not be earlier than since",
	} {
		b.want(b.get("/jobs?"+query), 422, says)
	}
	b.want(b.get("/jobs?name="+strings.Repeat("x", 1500)), 422, "at most 1,500 bytes")
	b.want(b.post("/jobs/cancel?tag=eu&after=7", "job", "1"), 303, "/jobs?count=1&done=selected&tag=eu")
}

func TestSchedules_FilterByTags(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	one := w.create(ann, `{"url":"https://example.com","name":"First","repeat_every":3600,"tags":["eu","billing"]}`)
	w.create(ann, `{"url":"https://example.com","name":"Second","repeat_every":3600}`)
	page := b.want(b.get("/schedules?tag=eu"), 200, "First")
	if strings.Contains(page.body, "Second") {
		t.Error("a schedule without the tag is shown")
	}
	b.want(b.get("/schedules?tag=us"), 200, "No schedule matches")
	b.want(b.get("/schedules?tag=eu+billing"), 303, "/schedules?tag=eu&tag=billing")
	b.want(b.get("/schedules?tag=NO"), 422, "A tag must be")
	b.want(b.get("/schedules/"+one.ScheduleID.String()), 200, `href="/schedules?tag=billing"`)
	b.want(b.get("/jobs/1"), 200, `href="/jobs?tag=billing"`)
}

func TestJobs_QueryBecomesFilters(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	w.create(ann, `{"url":"https://one.example.com","name":"First","tags":["billing"],"schedule_in":60}`)
	one := w.create(ann, `{"url":"https://two.example.com","name":"Second","repeat_every":3600,"idempotency_key":"second"}`)
	query := func(text string) string { return "/jobs?" + url.Values{"query": {text}}.Encode() }
	for text, to := range map[string]string{
		"":                                       "/jobs",
		"failed host:one.example.com":            "/jobs?host=one.example.com&state=discarded",
		`"failed" mail`:                          "/jobs?q=failed+mail",
		"schedule:key:second":                    "/jobs?schedule_id=" + one.ScheduleID.String(),
		`since:"2026-02-01 09:00" x tag:a tag:b`: "/jobs?q=x&since=2026-02-01T09%3A00%3A00Z&tag=a&tag=b",
	} {
		if got := b.get(query(text)); got.StatusCode != 303 || got.Header.Get("Location") != to {
			t.Errorf("%s leads to %d %s, want %s", text, got.StatusCode, got.Header.Get("Location"), to)
		}
	}
	b.wantAll(b.get("/jobs?host=one.example.com&tag=billing&state=available&q=first"),
		`value="available tag:billing host:one.example.com first"`, ">First</a>")
	b.want(b.get(query("hots:<b>")), 422, "“hots” is not a filter; did you mean host:?")
	b.want(b.get(query("hots:<b>")), 422, `value="hots:&lt;b&gt;"`)
	b.want(b.get(query("schedule:key:nope")), 422, "names no schedule")
	b.want(b.get(query(strings.Repeat("x", 301))), 422, "at most 300 bytes of text")
	b.want(b.get(query(strings.Repeat("x", 5000))), 422, "at most 1000 bytes")
}
