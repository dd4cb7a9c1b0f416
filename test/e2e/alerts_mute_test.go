package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// runOnce makes a run of a schedule that the target answers with a status, and returns the
// run when it is final.
func runOnce(t *testing.T, c *harness.Client, path string, target *harness.Route, status int) harness.JSON {
	t.Helper()
	target.RespondOnce(harness.Reply(status, "text/plain", "told by the target"))
	j := c.Post(path+"/run", nil).Data()
	harness.Eventually(t, soon, "the run is final", func() bool {
		state := c.Get(jobPath(j)).Data().Get("job.state").Str()
		return state == "completed" || state == "discarded"
	})
	return j
}

func TestAlert_MuteHoldsFailuresUntilTheScheduleRecovers(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	putAlert(a.Client, `{"on":["failed","recovered"],"to":[{"webhook":"`+receiver.URL+`"}]}`)
	created := create(a.Client, `{"url":"`+target.URL+`","retries":0,"repeat_every":86400,"schedule_in":3600,"idempotency_key":"nightly"}`)
	path := schedulePath(created)
	mute := func(body string) *harness.Answer {
		return a.Do(http.MethodPut, "/api/schedules/key:nightly/mute", body)
	}
	details := func() harness.JSON { return a.Get(path + "/details?include=mute").Want(200).Data().Get("mute") }

	mute(`{"until":"recovered"}`).WantProblem(409)
	wantSame(t, "the mute", details(), `null`)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second).Format("2006-01-02T15:04:05.000000Z")
	answer := mute(`{"until":"` + until + `","note":"known"}`).Want(200).Data()
	wantSame(t, "until", answer.Get("until"), `"`+until+`"`)
	wantSame(t, "the mute", details(), answer.Raw())
	wantSame(t, "the record", a.Get(path).Want(200).Data().Get("mute"), "")

	runOnce(t, a.Client, path, target, 500) // not sent
	acknowledged := mute(`{"until":"recovered"}`).Want(200).Data()
	wantSame(t, "until", acknowledged.Get("until"), `"recovered"`)
	wantSame(t, "the note", acknowledged.Get("note"), `null`)
	runOnce(t, a.Client, path, target, 500) // not sent
	runOnce(t, a.Client, path, target, 200) // ends the mute
	wantSame(t, "the mute", details(), `null`)
	last := runOnce(t, a.Client, path, target, 503)
	hits := receiver.Await(t, 1, soon)
	data := hits[0].JSON().Get("data")
	if got := messages(hits); got != "failed" || data.Get("job").Raw() != last.Get("job_id").Raw() || data.Get("failures").Int() != 1 {
		t.Errorf("the first message is %s: %s", got, data)
	}

	for _, body := range []string{
		`{"until":"2020-01-01T00:00:00Z"}`, `{"until":"9999-01-01T00:00:00Z"}`, `{"until":"tomorrow"}`, `{"until":7}`,
		`{"note":"` + strings.Repeat("ä", 501) + `"}`,
		`{"note":7}`, `{"till":null}`, `[]`,
	} {
		mute(body).WantProblem(422)
	}
	mute(`{"note":"` + strings.Repeat("ä", 500) + `"}`).Want(200)
	wantSame(t, "until", details().Get("until"), `null`)
	a.Do(http.MethodDelete, path+"/mute", nil, harness.Header("If-Match", `"7"`)).WantProblem(412)
	a.Do(http.MethodPut, path+"/mute", `{}`, harness.Header("If-Match", `"7"`)).WantProblem(412)
	other.Do(http.MethodPut, path+"/mute", `{}`).WantProblem(404)
	other.Do(http.MethodDelete, path+"/mute", nil).WantProblem(404)
	a.Do(http.MethodDelete, path+"/mute", nil, harness.Header("If-Match", `"1"`)).Want(204)
	a.Do(http.MethodDelete, path+"/mute", nil).Want(204)
	wantSame(t, "the mute", details(), `null`)
	want := []string{"schedule.unmuted", "schedule.muted", "schedule.muted", "schedule.muted"}
	for i, e := range a.Get("/api/account/audit?limit=4").Want(200).Data().Items() {
		if got := e.Get("event").Str(); got != want[i] {
			t.Errorf("entry %d is %s, want %s", i, got, want[i])
		}
	}
}
