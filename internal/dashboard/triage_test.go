package dashboard

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var (
	triageRow = regexp.MustCompile(`(?s)<li id="triage-.*?</li>`)
	tagOrIcon = regexp.MustCompile(`(?s)<svg.*?</svg>|<details.*?</details>|<[^>]*>`)
	spaces    = regexp.MustCompile(`\s+`)
)

// triageRows returns the texts of the rows of what fails, without its forms.
func triageRows(page string) []string {
	var rows []string
	for _, row := range triageRow.FindAllString(page, -1) {
		rows = append(rows, strings.TrimSpace(spaces.ReplaceAllString(tagOrIcon.ReplaceAllString(row, " "), " ")))
	}
	return rows
}

// wantRows compares the rows of the overview with regular expressions.
func (b *browser) wantRows(want ...string) {
	b.Helper()
	rows := triageRows(b.get("/").body)
	if len(rows) != len(want) {
		b.Errorf("the rows are\n%s\nwant %d", strings.Join(rows, "\n"), len(want))
		return
	}
	for i := range want {
		if !regexp.MustCompile("^" + want[i]).MatchString(rows[i]) {
			b.Errorf("row %d is %q, want %s", i, rows[i], want[i])
		}
	}
}

// discarded stores jobs at a host that have failed, in the order given.
func (w *site) discarded(owner job.Owner, n int, host, payload string) (last *job.Job) {
	w.Helper()
	for range n {
		last = w.create(owner, fmt.Sprintf(`{"url":"https://%s/","retries":0}`, host))
		w.fail(last, job.EventError, payload)
	}
	return last
}

// fail stores that a job was attempted once and failed.
func (w *site) fail(j *job.Job, event, payload string) {
	w.Helper()
	w.logs(j, event, payload)
	if _, err := w.s.JobChange(w.Context(), j.Owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.Begin(w.clock())
		after.Discard(w.clock())
		return &store.Changes{Job: &after}
	}); err != nil {
		w.Fatal(err)
	}
	w.pass(time.Second)
}

// TestTriage_CountsBySubjectAndFoldsWhatIsMuted: there are more failures than the latest of
// which the causes are read, a rerun counts for its schedule, and muted schedules come back.
func TestTriage_CountsBySubjectAndFoldsWhatIsMuted(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	b.wantAll(b.get("/"), "Nothing has run yet")
	w.discarded(w.stranger(), 1, "sam.example.com", timedOut)
	w.discarded(ann, 27, "a.example.com", timedOut)
	w.discarded(ann, 2, "b.example.com", `{"kind":"dns","message":"b.example.com was not found","attempt":1,"retry_at":null}`)
	report := w.create(ann, `{"url":"https://example.com/","repeat_every":3600,"name":"Report","retries":0}`)
	w.fail(report, job.EventResponse, `{"status":200,"headers":{},"body":"","duration_ms":1,"truncated":false,"error":{"kind":"answer","message":"disk full"},"attempt":1,"retry_at":null}`)
	for range 14 {
		w.failing(report, "answer")
	}
	again, _, err := w.service.Rerun(t.Context(), ann, job.Ref{Number: report.Number}, rawjson.Value(`{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.fail(again, job.EventError, timedOut)
	fine := w.create(ann, `{"url":"https://example.com/","repeat_every":3600,"name":"Fine","retries":0}`)
	w.fail(fine, job.EventError, timedOut)

	b.wantAll(b.get("/"), "1 schedule failing · oldest since 12:01 UTC")
	b.wantRows(
		`Report reported by the target disk full 14 in a row since 12:01 UTC Last failure .*Acknowledge.* Rerun…$`,
		`b\.example\.com DNS b\.example\.com was not found 2 in the last day last 12:00 UTC`,
		`a\.example\.com timeout .* 27 in the last day last 12:00 UTC`,
		`Fine timeout .* 1 in the last day last 12:01 UTC, not failing now`,
	)
	if page := b.get("/").body; strings.Contains(page, "sam.example.com") {
		t.Error("another's failures are shown")
	}
	at := "/schedules/" + report.ScheduleID.String()
	b.want(b.post(at+"/mute", "until", "recovered", "from", "overview"), 303, "/?done=acknowledged")
	b.wantAll(b.get("/?done=acknowledged"), "No schedule is failing", "1 muted schedule", "until it succeeds", "Undo")
	b.wantRows(`b\.example`, `a\.example`, `Fine`, `Report .* Acknowledged until it succeeds 14 in a row .*Unmute`)
	if page := b.get("/jobs").body; strings.Contains(page, "count bad") {
		t.Error("the menu counts a muted schedule")
	}
	b.post(at + "/unmute")
	b.wantAll(b.get("/"), "1 schedule failing")
	b.post("/schedules/"+fine.ScheduleID.String()+"/mute", "until", "in 1 hour")
	b.wantRows(`Report`, `b\.example`, `a\.example`, `Fine .* Muted until 13:01 UTC 1 in the last day`)
	w.pass(25 * time.Hour)
	b.wantRows(`Report .*14 in a row since 1 Mar 12:01 UTC`)
}
