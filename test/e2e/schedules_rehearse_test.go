package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// rehearsed returns what a rehearsal says about the first schedule.
func rehearsed(t *testing.T, a *harness.Client, body string) harness.JSON {
	t.Helper()
	return a.Post("/api/rehearse", body).Want(200).Data().Get("schedules.0")
}

func TestRehearse_StartsFromWhatIsStored(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	a.Post("/api/jobs", `{"url":"`+target.URL+`","repeat_every":[1,"hour"],"schedule_in":3600,"max_runs":4,"idempotency_key":"x"}`).Want(
		201)
	a.Post("/api/schedules/key:x/run", nil).Want(200)
	harness.Eventually(t, soon, "the run ends", func() bool {
		return a.Get("/api/schedules/key:x/details").Want(200).Data().Get("runs_left").Raw() == "3"
	})
	before := a.Get("/api/schedules/key:x/details").Data().Raw()
	got := rehearsed(t, a.Client, `{}`)
	if got.Get("runs").Raw() != "3" || got.Get("ends.reason").Raw() != `"max_runs"` || got.Get("key").Raw() != `"x"` {
		t.Errorf("got %s, want the three runs that are left", got.Raw())
	}
	if next := a.Get("/api/schedules/key:x/details").Data().Get("next_run_at").Raw(); got.Get("first.0").Raw() != next {
		t.Errorf("the first run is due at %s, rehearsed at %s", next, got.Get("first.0").Raw())
	}
	if again := rehearsed(t, a.Client, `{"from":"2027-01-01","to":"2027-01-02"}`); again.Get("runs").Raw() != "3" {
		t.Errorf("later: %s", again.Raw())
	}
	if after := a.Get("/api/schedules/key:x/details").Data().Raw(); after != before {
		t.Errorf("a rehearsal changed %s to %s", before, after)
	}
	a.Post("/api/schedules/key:x/disable", nil).Want(200)
	if got := rehearsed(t, a.Client, `{}`); got.Get("runs").Raw() != "0" || got.Get("disabled").Raw() != "true" {
		t.Errorf("disabled: %s", got.Raw())
	}
}

func TestRehearse_RefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/apply", document("", dailyItem("a", ""))).Want(200)
	for body, pointers := range map[string][]string{
		`{"from":"2027-01-02","to":"2027-01-01"}`:   {"#/to"},
		`{"from":"2027-01-01","to":"2037-06-01"}`:   {"#/to"},
		`{"from":"soon","untill":1}`:                {"#/untill", "#/from"},
		`{"keys":["a","b"],"fail":{"c":1}}`:         {"#/keys/1", "#/fail/c"},
		`{"fail":{"a":2},"duration":{"a":"1h"}}`:    {"#/fail/a", "#/duration/a"},
		`{"outages":[{"at":"2027-01-01","fro":1}]}`: {"#/outages/0/fro", "#/outages/0/for"},
		`{"owner":"x"}`: {"#/owner"},
		`{"schedules":[` + dailyItem("k", `,"nme":1`) + `],"keys":["z"]}`: {"#/schedules/0/nme"},
		`[]`: {"#"},
	} {
		a.Post("/api/rehearse", body).WantPointers(pointers...)
	}
	a.Service.Public(t).Post("/api/rehearse", `{}`).WantProblem(403)
}

func TestRehearse_ChangesBeforeTheyAreMade(t *testing.T) {
	t.Parallel()
	a := account(t)
	prefer := harness.Header("Prefer", "rehearse")
	daily := func(key string) string { return `{"key":"` + key + `","url":"https://example.com/","cron":"@daily"}` }
	a.Post("/api/apply", document("", daily("a"), daily("b"))).Want(200)
	before := string(a.Get("/api/export").Want(200).Body)

	patched := a.Do("PATCH", "/api/schedules/key:a", `{"cron":"0 * * * *"}`, prefer).Want(200)
	if applied := patched.Header.Get("Preference-Applied"); applied != "rehearse" {
		t.Errorf("Preference-Applied is %q", applied)
	}
	one := patched.Data().Get("schedules.0")
	if one.Get("result").Raw() != `"changed"` || one.Get("before.runs").Raw() != "365" || one.Get("after.runs").Raw() != "8760" ||
		one.Get("difference.first.before").Raw() == "null" {
		t.Errorf("PATCH: %s", one.Raw())
	}
	a.Do("PATCH", "/api/schedules/key:a", `{"cron":"61 * * * *"}`, prefer).WantPointers("#/cron")
	a.Do("PATCH", "/api/schedules/key:none", `{}`, prefer).WantProblem(404)

	put := a.Do("PUT", "/api/schedules/key:new", `{"url":"https://example.com/","cron":"@daily"}`,
		prefer).Want(200).Data().Get("schedules.0")
	if put.Get("result").Raw() != `"created"` || put.Get("before").Raw() != "null" || put.Get("difference.added").Raw() != "365" {
		t.Errorf("PUT: %s", put.Raw())
	}
	applied := a.Post("/api/apply", document(`,"prune":true`, daily("a"), daily("c")), prefer).Want(200).Data()
	var results []string
	for _, s := range applied.Get("schedules").Items() {
		results = append(results, fmt.Sprint(s.Get("key").Raw(), s.Get("result").Raw(), s.Get("difference.added").Raw(),
			s.Get("difference.dropped").Raw()))
	}
	if got := strings.Join(results, " "); got != `"a""unchanged"00 "c""created"3650 "b""removed"0365` {
		t.Errorf("apply: %s", got)
	}
	if after := string(a.Get("/api/export").Want(200).Body); after != before {
		t.Errorf("a rehearsal changed %s to %s", before, after)
	}
}

func TestRehearse_CalendarAndCommands(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/apply", document("", dailyItem("a", ""))).Want(200)
	calendar := string(a.Post("/api/rehearse", `{"from":"2027-01-01","to":"2027-01-08"}`,
		harness.Header("Accept", "text/calendar")).Want(200).Body)
	if n := strings.Count(calendar, "BEGIN:VEVENT\r\n"); n != 7 || !strings.Contains(calendar, "SUMMARY:a\r\n") {
		t.Errorf("%d events in %s", n, calendar)
	}
	wantSaid(t, client(t, a, "rehearse", "--from", "2027-01-01", "--to", "2027-01-08", "--outage", "2027-01-02T00:00:00Z/3d", "--duration",
		"a:20m"), 0, "timeout")
	wantSaid(t, client(t, a, "rehearse", "--from", "2027-01-01", "--to", "2027-01-08", "--ics"), 0, "END:VCALENDAR")
	file := t.TempDir() + "/a.json"
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(document("", `{"key":"a","url":"https://example.com/","cron":"0 0 13 * FRI"}`))
	wantSaid(t, client(t, a, "apply", "-f", file, "--rehearse"), 0, "Nothing was applied")
	wantSaid(t, client(t, a, "lint", file), 1, "either_day")
	wantSaid(t, client(t, a, "lint", file, "--ignore", "either_day"), 0, "")
	write(`{"schedules":[{"key":"a"}]}`)
	wantSaid(t, client(t, a, "lint", file), 2, "url")
}

// A rehearsal ends when its client goes away, and one account's rehearsals delay nobody
// else's calls by more than a moment.
func TestRehearse_OneAtATimeForAnAccount(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	var items []string
	for i := range 500 {
		items = append(items, fmt.Sprintf(`{"key":"k%d","url":"https://example.com/","cron":"* * * * *","retries":0}`, i))
	}
	body := `{"schedules":[` + strings.Join(items, ",") + `]}`
	done := make(chan struct{})
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			if _, err := a.Try("POST", "/api/rehearse", body); err != nil {
				t.Errorf("rehearse: %v", err)
			}
		}()
	}
	began := time.Now()
	if got := rehearsed(t, other.Client, `{"schedules":[{"key":"x","url":"https://example.com/","cron":"@daily"}]}`); got.Get("runs").Raw() != "365" {
		t.Errorf("got %s", got.Raw())
	}
	if took := time.Since(began); took > harness.Allowed(15*time.Second, began) {
		t.Errorf("another account's rehearsal took %s", took)
	}
	for range 4 {
		<-done
	}
}
