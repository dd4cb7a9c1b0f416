package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// punctualityOf returns a period of /api/punctuality, and its worst lateness in milliseconds.
func punctualityOf(t *testing.T, a *harness.Answer, period string) (attempts int64, worst float64) {
	t.Helper()
	p := a.Data().Get(period)
	figures := p.Get("lateness_ms")
	last := 0.
	for _, name := range []string{"p50", "p99", "p999", "worst"} {
		if figures.Get(name).IsNull() {
			continue
		}
		v, err := strconv.ParseFloat(figures.Get(name).Raw(), 64)
		if err != nil || v < last {
			t.Errorf("%s of the %s is below the figure before it: %s", name, period, figures.Raw())
		}
		last = v
	}
	return p.Get("attempts").Int(), last
}

// TestPunctuality_CountsTheJobsOfAllAccounts: attempts of two accounts count, also
// after a restart; a job that became due while the service was down is as late as that.
func TestPunctuality_CountsTheJobsOfAllAccounts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	first, second := s.Account(t).Client, s.Account(t).Client
	target := harness.SharedTarget(t).Route(t)
	finished(t, first, `{"url":"`+target.URL+`"}`, "completed")
	finished(t, second, `{"url":"`+target.URL+`"}`, "completed")
	finished(t, second, `{"retries":0,"url":"https://127.0.0.1:1/"}`, "discarded")
	// An attempt counts a moment after its end is stored, and an answer is kept for ten seconds.
	var got *harness.Answer
	harness.Eventually(t, 2*soon, "three attempts to count", func() bool {
		got = first.Get("/api/punctuality").Want(200)
		n, _ := punctualityOf(t, got, "hour")
		return n >= 3
	})
	for _, period := range []string{"hour", "day", "week"} {
		if n, _ := punctualityOf(t, got, period); n != 3 {
			t.Errorf("%d attempts in the last %s, want 3", n, period)
		}
	}
	// Whoever asks again within ten seconds gets the same answer.
	finished(t, first, `{"url":"`+target.URL+`"}`, "completed")
	again := second.Get("/api/punctuality").Want(200)
	if again.Data().Get("at").Raw() == got.Data().Get("at").Raw() && string(again.Body) != string(got.Body) {
		t.Errorf("an answer of the same time differs: %s\n%s", got.Body, again.Body)
	}
	job := create(first, `{"schedule_in":3,"url":"`+target.URL+`"}`)
	s.Stop()
	passed(t, instant(t, job.Get("job.scheduled_at")))
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	awaitState(t, first, job, "completed")
	var n int64
	var worst float64
	harness.Eventually(t, 2*soon, "the attempt after the restart to count", func() bool {
		n, worst = punctualityOf(t, first.Get("/api/punctuality").Want(200), "hour")
		return n >= 5
	})
	if n != 5 || worst <= 0 {
		t.Errorf("after a restart there are %d attempts, the latest by %v ms", n, worst)
	}
}

func TestPunctuality_NeedsAKeyUnlessTheOperatorOpensIt(t *testing.T) {
	t.Parallel()
	page := func(c *harness.Client) int {
		request, err := http.NewRequest(http.MethodGet, c.Service.URL()+"/punctuality", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "text/html")
		response, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(
			request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	closed := harness.Shared(t)
	closed.Client(t, "").Get("/api/punctuality").WantProblem(401)
	closed.Client(t, "sk_nobody_has_this_key_at_all_000000").Get("/api/punctuality").WantProblem(401)
	closed.Public(t).Get("/api/punctuality").Want(200)
	if got := page(closed.Client(t, "")); got != http.StatusSeeOther {
		t.Errorf("without a session the page answers %d, want 303", got)
	}
	open := harness.Start(t, harness.Flag("public-punctuality", "true"))
	open.Client(t, "").Get("/api/punctuality").Want(200)
	open.Client(t, "sk_nobody_has_this_key_at_all_000000").Get("/api/punctuality").WantProblem(401)
	open.Client(t, "").Get("/api/stats").WantProblem(401)
	if got := page(open.Client(t, "")); got != http.StatusOK {
		t.Errorf("without a session the open page answers %d, want 200", got)
	}
}

// monthOf returns the report of a schedule once it has a number of runs.
func monthOf(t *testing.T, c *harness.Client, path string, made int64) harness.JSON {
	t.Helper()
	var report harness.JSON
	harness.Eventually(t, soon, "the runs to be reported", func() bool {
		report = c.Get(path + "/punctuality").Want(200).Data()
		return report.Get("made").Int() >= made
	})
	return report
}

// TestPunctuality_OfAScheduleOutlivesItsRuns: each run is counted once, whether it is stored,
// was removed, or the service was killed meanwhile.
func TestPunctuality_OfAScheduleOutlivesItsRuns(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("retention", "5s"))
	c, other := s.Public(t), s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	created := create(c, `{"url":"`+target.URL+`","retries":0,"repeat_every":86400,"schedule_in":3600,"idempotency_key":"nightly"}`)
	path := schedulePath(created)
	empty := c.Get("/api/schedules/key:nightly/punctuality").Want(200).Data()
	wantSame(t, "runs before the first", empty.Get("due"), "0")
	wantSame(t, "the lateness", empty.Get("lateness_ms"), `{"p50":null,"p99":null,"p999":null,"worst":null}`)

	first := runOnce(t, c, path, target, 503)
	runOnce(t, c, path, target, 200)
	before := monthOf(t, c, path, 2)
	for name, want := range map[string]string{"due": "2", "completed": "1", "failed": "1", "late": "0", "complete": "true",
		"missed": `{"down":0,"overlap":0,"limit":0,"expired":0,"next":0}`, "outages.0.reason": `"target"`, "outages.0.runs": "1"} {
		wantSame(t, name, before.Get(name), want)
	}
	s.Kill()
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, 10*soon, "the first run to be removed", func() bool { return c.Get(jobPath(first)).Status == 404 })
	wantSame(t, "the report after the runs are gone", c.Get(path+"/punctuality").Want(200).Data(), before.Raw())
	runOnce(t, c, path, target, 200)
	wantSame(t, "one more", monthOf(t, c, path, 3).Get("completed"), "2")

	sheet := c.Get(path+"/punctuality?month="+before.Get("month").Str(), harness.Header("Accept", "text/csv")).Want(200)
	if got := string(sheet.Body); !strings.HasPrefix(got, "figure,value,from,to\r\nschedule,") || !strings.Contains(got, "\r\nmade,3,,\r\n") ||
		!strings.Contains(got, "\r\noutage target,1,") {
		t.Errorf("the table is %q", got)
	}
	other.Get(path + "/punctuality").WantProblem(404)
	for _, month := range []string{"", "2020-01", "9999-12", "2026-13", "november", "2026-11-01", "0000-00"} {
		c.Get(path + "/punctuality?month=" + month).WantProblem(422).WantParameters("month")
	}
	c.Do(http.MethodDelete, path, nil).Want(204)
	c.Get(path + "/punctuality").WantProblem(404)
}
