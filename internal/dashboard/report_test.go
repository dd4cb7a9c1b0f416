package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
)

// countRuns stores what was counted of a schedule in February 2026: a run on time, one that
// began two hours late and failed, and three points while the service was down.
func (w *site) countRuns(j *job.Job) {
	w.Helper()
	due := time.Date(2026, 2, 10, 9, 0, 0, 0, time.UTC)
	skip := rawjson.Value(`{"reason":"down","count":3,"from":"2026-02-10T10:00:00.000000Z","to":"2026-02-10T12:00:00.000000Z"}`)
	of := &store.RunMonths{ScheduleKey: store.ScheduleKey{Account: j.Owner.Number, Schedule: j.ScheduleID}, Created: due.Add(-time.Hour)}
	for i, late := range []time.Duration{20 * time.Millisecond, 2 * time.Hour} {
		at := due.Add(time.Duration(i) * 24 * time.Hour)
		run := store.EndedRun{Number: int64(i + 1), State: job.Completed, InsertedAt: due.Add(-time.Hour), ScheduledAt: at, DueAt: at,
			AttemptedAt: at.Add(late), EndedAt: at.Add(late + time.Second), Requests: 1, FirstAt: at.Add(late)}
		if i == 1 {
			run.State, run.Skips = job.Discarded, []rawjson.Value{skip}
		}
		of.Runs = append(of.Runs, run)
	}
	if err := w.s.MonthsCopy(w.Context(), stats.CountRuns(of, w.now)); err != nil {
		w.Fatal(err)
	}
}

func TestReport_ShowsAMonthOfASchedule(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	j := w.create(w.owner("ann@example.com"), `{"url":"https://example.com/hook","cron":"0 9 * * *","name":"Nightly <1>"}`)
	w.countRuns(j)
	path := "/schedules/" + j.ScheduleID.String()
	b.want(b.get(path), http.StatusOK, `href="`+path+`/report"`)
	b.want(b.get(path+"/report"), http.StatusOK, "Report of March 2026 so far, in UTC")
	page := b.want(b.get(path+"/report?month=2026-02"), http.StatusOK, "Report of February 2026, in UTC")
	for _, part := range []string{
		"Nightly &lt;1&gt;", `Due</p><p class="figure-value">5<`, `Made</p><p class="figure-value">2<`, `Completed</p><p class="figure-value">1<`,
		`Failed</p><p class="figure-value">1<`, `Late</p><p class="figure-value">1<`, `Service was down</p><p class="figure-value">3<`,
		`Worst</p><p class="figure-value">2 h<`, "Target: runs failed", "Service: runs were due and did not start", "2026-02-10 10:00:00 UTC",
		`href="` + path + `/report?month=2026-01"`, `href="` + path + `/report?month=2026-03"`, `href="` + path + `/report.csv?month=2026-02"`,
	} {
		if !strings.Contains(page.body, part) {
			t.Errorf("the report does not have %s:\n%s", part, page.body)
		}
	}
	file := b.want(b.get(path+"/report.csv?month=2026-02"), http.StatusOK, "missed down,3,,\r\n")
	if got := file.Header.Get("Content-Disposition"); !strings.Contains(got, `filename="punctuality-2026-02-`) {
		t.Errorf("the file's Content-Disposition is %q", got)
	}
	oldest := b.want(b.get(path+"/report?month=2025-03"), http.StatusOK, "Next month")
	if strings.Contains(oldest.body, "Previous month") || strings.Contains(b.get(path+"/report").body, "Next month") {
		t.Error("a report links to a month that is not kept or has not begun")
	}
	for _, month := range []string{"2025-02", "2026-04", "x"} {
		b.want(b.get(path+"/report?month="+month), http.StatusUnprocessableEntity, "one of the last 13 months")
		b.want(b.get(path+"/report.csv?month="+month), http.StatusUnprocessableEntity, "one of the last 13 months")
	}
}

func TestReport_IsForMembersOfTheAccount(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	mine, theirs := w.create(w.owner("ann@example.com"), `{"url":"https://example.com/","cron":"0 9 * * *"}`),
		w.create(w.stranger(), `{"url":"https://example.com/","cron":"0 9 * * *"}`)
	b.want(b.get("/schedules/"+theirs.ScheduleID.String()+"/report"), http.StatusNotFound, "no such schedule")
	b.want(b.get("/schedules/"+theirs.ScheduleID.String()+"/report.csv"), http.StatusNotFound, "no such schedule")
	if out := w.browser().get("/schedules/" + mine.ScheduleID.String() + "/report"); out.StatusCode == http.StatusOK {
		t.Error("somebody who is not signed in sees a report")
	}
	for _, r := range reportRoutes {
		if least := r.least(http.MethodGet); least != identity.RoleViewer {
			t.Errorf("%s needs the role %s", r.path, least)
		}
	}
}

func TestReport_HasWordsForAllReasons(t *testing.T) {
	t.Parallel()
	for _, reason := range stats.MissedReasons {
		if missedWords[reason] == "" {
			t.Errorf("the reason %q has no words", reason)
		}
	}
}
