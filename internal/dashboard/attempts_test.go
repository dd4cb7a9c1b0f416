package dashboard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// logs stores logs of a job, one second after another, and returns them.
func (w *site) logs(j *job.Job, eventsAndPayloads ...string) []job.Log {
	w.Helper()
	var logs []job.Log
	for i := 0; i+1 < len(eventsAndPayloads); i += 2 {
		w.pass(time.Second)
		at := w.clock()
		logs = append(logs, job.Log{ID: job.NewID(at), Owner: j.Owner, Job: j.Number, Event: eventsAndPayloads[i], InsertedAt: at,
			Payload: rawjson.Value(eventsAndPayloads[i+1])})
	}
	_, err := w.s.JobChange(w.Context(), j.Owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		return &store.Changes{Job: &after, Logs: logs}
	})
	if err != nil {
		w.Fatal(err)
	}
	return logs
}

const (
	sent      = `{"body":{"n":1},"headers":{"authorization":"Bearer hidden-word"},"query":{},"url":"https://one.example.com/hook"}`
	succeeded = `{"status":200,"headers":{"content-type":"application/json"},"body":{"ok":true},"duration_ms":250,"truncated":false}`
	broken    = `{"status":503,"headers":{},"body":"down","duration_ms":40,"truncated":false,"attempt":1,"retry_at":null}`
	missing   = `{"status":404,"headers":{},"body":"gone","duration_ms":41,"truncated":false,"attempt":1,"retry_at":"2026-03-01T13:00:00.000000Z"}`
	timedOut  = `{"kind":"timeout","message":"no response within 30 s","duration_ms":30000,"attempt":2,"retry_at":null}`
	unknown   = `{"kind":"dns","message":"no such host","duration_ms":3,"attempt":1,"retry_at":null}`
	accepted  = `{"status":202,"headers":{},"body":null,"duration_ms":5,"truncated":false,"awaiting":true}`
	reported  = `{"result":{"rows":3},"duration_ms":5000}`
)

var attemptResult = regexp.MustCompile(`(?s)<span class="attempt-result">.*?</svg>([^<]*)</span>`)

// results returns how the attempts of a list ended.
func results(page string) []string {
	var all []string
	for _, m := range attemptResult.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.TrimSpace(m[1]))
	}
	return all
}

func TestAttempts_OneRowEachWithFilters(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.get("/attempts"), 200, "Nothing has happened yet")
	ann := w.owner("ann@example.com")
	first := w.create(ann, `{"url":"https://one.example.com/hook","method":"put","name":"First","tags":["billing"]}`)
	w.logs(first, job.EventRequest, sent, job.EventResponse, missing, job.EventRequest, sent, job.EventError, timedOut)
	second := w.create(ann, `{"url":"https://two.example.com","name":"Second","repeat_every":60}`)
	w.logs(second, job.EventRequest, sent, job.EventResponse, succeeded, job.EventStateRejected, `{"size":1,"limit":1}`)
	third := w.create(ann, `{"url":"https://one.example.com/long","name":"Third"}`)
	w.logs(third, job.EventRequest, sent, job.EventResponse, accepted, job.EventCompletion, reported)
	w.pass(time.Hour)
	fourth := w.create(ann, `{"url":"https://four.example.com","name":"Fourth"}`)
	w.logs(fourth, job.EventError, unknown, job.EventRequest, sent, job.EventResponse, broken, job.EventRequest, sent)
	for query, want := range map[string]string{
		"":               "Running 503 DNS Reported 200 timeout 404",
		"outcome=failed": "503 DNS timeout 404", "outcome=4xx": "404", "outcome=5xx": "503", "outcome=timeout": "timeout",
		"outcome=dns":                    "DNS",
		fmt.Sprint("job=", first.Number): "timeout 404", "job=" + first.ID.String() + "&tag=billing": "timeout 404",
		fmt.Sprintf("job=%d&host=other.example.com", first.Number): "",
		"schedule=" + second.ScheduleID.String():                   "200", "tag=billing": "timeout 404",
		"host=one.example.com": "Reported timeout 404",
		"name=Fourth":          "Running 503 DNS",
		"tag=billing&host=one.example.com&outcome=4xx": "404", "last=15m": "Running 503 DNS",
		"until=2026-03-01+12:30": "Reported 200 timeout 404", "follow=off&outcome=5xx": "503",
	} {
		page := b.want(b.get("/attempts?"+query), 200, "All events")
		if got := strings.Join(results(page.body), " "); got != want {
			t.Errorf("?%s shows %q, want %q", query, got, want)
		}
	}
	page := b.want(b.get("/attempts?tag=billing&part=list"), 200, "one.example.com/hook")
	b.want(page, 200, `<span class="method">put</span>`)
	b.want(page, 200, `30.00 s`)
	for query, says := range map[string]string{"outcome=odd": "", "job=x": "Job must be", "host=https://x": "Host must be a host name",
		"tag=NO": "Tags must be"} {
		b.want(b.get("/attempts?"+query), 422, says)
	}
	b.want(b.get("/attempts?tag=&host=&outcome=5xx&last="), 303, "/attempts?outcome=5xx")
}

func TestAttempts_PagesShowEachOnce(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	var names, want []string
	long := w.create(ann, `{"url":"https://one.example.com/long","name":"Long","tags":["all"]}`)
	w.logs(long, job.EventRequest, sent)
	for i := range 2*attemptsListed - 1 {
		names = append(names, fmt.Sprintf("Job-%02d", i))
		j := w.create(ann, fmt.Sprintf(`{"url":"https://one.example.com","name":%q,"tags":["all"]}`, names[i]))
		w.logs(j, job.EventRequest, sent, job.EventResponse, succeeded)
	}
	w.logs(long, job.EventResponse, succeeded) // its request is on the last page of logs
	want = append(slices.Clone(names), "Long")
	slices.Sort(want)
	name := regexp.MustCompile(`<span class="attempt-name">([^<]*)</span>`)
	next := regexp.MustCompile(`href="(/attempts\?[^"]*after=[^"]*)"[^>]*rel="next"`)
	for _, at := range []string{"/attempts", "/attempts?tag=all", "/attempts?host=one.example.com&tag=all"} {
		var shown []string
		pages := 0
		for path := at; path != "" && pages < 5; pages++ {
			page := b.want(b.get(path), 200, "attempt-name")
			for _, m := range name.FindAllStringSubmatch(page.body, -1) {
				shown = append(shown, m[1])
			}
			path = ""
			if m := next.FindStringSubmatch(page.body); m != nil {
				path = strings.ReplaceAll(m[1], "&amp;", "&")
			}
		}
		slices.Sort(shown)
		if pages != 2 || !slices.Equal(shown, want) {
			t.Errorf("%s: %d pages show %v, want 2 with %v", at, pages, shown, want)
		}
	}
}

func TestAttempts_Detail(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	j := w.create(w.owner("ann@example.com"), `{"url":"https://one.example.com/hook","name":"<First>"}`)
	logs := w.logs(j, job.EventRequest, sent, job.EventResponse, missing, job.EventRequest, sent, job.EventResponse, succeeded,
		job.EventStateRejected, `{"size":1,"limit":1}`)
	at := func(i int) string { return "/attempts/" + logs[i].ID.String() }
	for _, i := range []int{2, 3} {
		page := b.want(b.get(at(i)), 200, `<span class="jk">&#34;ok&#34;</span>: <span class="jl">true</span>`)
		for _, says := range []string{`<span class="jk">&#34;n&#34;</span>`,
			`<th scope="row"><code>content-type</code></th><td><code>application/json</code></td>`, "&lt;First&gt;", "***",
			"after 250 ms"} {
			b.want(page, 200, says)
		}
		if strings.Contains(page.body, "hidden-word") || strings.Contains(page.body, "404") {
			t.Error("it shows a credential, or another attempt")
		}
	}
	b.want(b.get(at(3)+"?reveal=true"), 200, "hidden-word")
	part := b.want(b.get(at(0)+"?part=detail"), 200, ">gone</pre>")
	if strings.Contains(part.body, "<html") {
		t.Error("the part is a page")
	}
	b.want(b.get(at(4)), 404, "Not found")
	b.want(b.get("/attempts/nonsense"), 404, "Not found")
	strange := w.create(w.stranger(), `{"url":"https://example.com/secret"}`)
	other := w.logs(strange, job.EventRequest, sent)
	b.want(b.get("/attempts/"+other[0].ID.String()), 404, "Not found")
}
