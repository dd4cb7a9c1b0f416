package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestScheduleEnd_AfterFailuresInARow: a success and a cancelled run in between don't
// add to the row, and enabling begins to count anew.
func TestScheduleEnd_AfterFailuresInARow(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	failing := harness.Status(500)
	target.RespondOnce(failing, harness.Status(200), failing, failing, failing, failing, failing, failing, failing)
	first := create(a.Client, `{"repeat_every":1,"disable_after":2,"retries":0,"url":"`+target.URL+`"}`)
	path := schedulePath(first)
	wantEnded(t, a.Client, first, "failures")
	if n := len(target.Hits()); n != 4 {
		t.Errorf("%d runs", n)
	}
	last := a.Get(path + "/details").Want(200).Data()
	wantSame(t, "last_run", last.Get("last_run.job.state"), `"discarded"`)
	wantSame(t, "failures_in_a_row", last.Get("failures_in_a_row"), `2`)
	wantSame(t, "next_run_at", last.Get("next_run_at"), `null`)
	wantETag(t, "the schedule", a.Get(path).Want(200), 1)
	if logs := events(logsOf(a.Client, last.Get("last_run"))); !strings.Contains(strings.Join(logs, " "), "schedule.ended") {
		t.Errorf("the last run's logs are %s", logs)
	}

	wantSame(t, "disabled_at", a.Post(path+"/enable", nil).Want(200).Data().Get("disabled_at"), `null`)
	harness.Eventually(t, soon, "the second end", func() bool { return !a.Get(path).Want(200).Data().Get("disabled_at").IsNull() })
	if n := len(target.Hits()); n != 6 {
		t.Errorf("%d runs, want two more", n)
	}
	// Also if disable_after is raised before.
	a.Do("PATCH", path, `{"disable_after":3}`).Want(200)
	a.Post(path+"/enable", nil).Want(200)
	harness.Eventually(t, soon, "the third end", func() bool { return !a.Get(path).Want(200).Data().Get("disabled_at").IsNull() })
	if n := len(target.Hits()); n != 9 {
		t.Errorf("%d runs, want three more", n)
	}
	a.Do("PATCH", path, `{"disable_after":null}`).Want(200)
	wantSame(t, "args", a.Get(path).Want(200).Data().Get("args.disable_after"), ``)
}

func TestScheduleEnd_DisableAfterIsForSchedules(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/jobs", with(waiting, `"disable_after":3`)).WantProblem(422).WantPointers("#/disable_after")
	for _, value := range []string{"0", "1001", "1.5", `"3"`, "true", "[3]"} {
		a.Post("/api/jobs", with(waiting, `"repeat_every":60,"disable_after":`+value)).WantProblem(422).WantPointers("#/disable_after")
	}
	job, path := recurring(a.Client, `"repeat_every":60,"scheduled_at":"`+far+`","disable_after":1000`)
	wantSame(t, "args", a.Get(path).Want(200).Data().Get("args.disable_after"), `1000`)
	a.Do("PATCH", jobPath(job), `{"disable_after":3}`).WantProblem(422).WantPointers("#/disable_after")
	a.Do("PATCH", path, `{"disable_after":3}`).Want(200)
	a.Do("PUT", "/api/schedules/key:k", `{"url":"https://example.com/","repeat_every":60,"disable_after":5}`).Want(201)
	if document := string(a.Get("/api/export").Want(200).Body); !strings.Contains(document, `"disable_after":5`) {
		t.Errorf("the export is %s", document)
	}
	applied := a.Post("/api/apply", `{"owner":"o","schedules":[{"key":"k","url":"https://example.com/","repeat_every":60,"disable_after":6}]}`).Want(200)
	wantSame(t, "diff", applied.Data().Get("0.diff.0"), `{"path":"/disable_after","from":5,"to":6}`)
}

func TestCallbackOn_SelectsTheEnds(t *testing.T) {
	t.Parallel()
	a := account(t)
	ok := harness.SharedTarget(t).Route(t)
	broken := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	both, failure, success := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	for _, target := range []*harness.Route{ok, broken} {
		for on, receiver := range map[string]*harness.Route{"final": both, "failure": failure, "success": success} {
			create(a.Client, `{"url":"`+target.URL+`","retries":0,"callback_url":"`+receiver.URL+`","callback_on":"`+on+`"}`)
		}
	}
	states := func(receiver *harness.Route, n int) (got string) {
		for _, hit := range receiver.Await(t, n, soon) {
			got += hit.JSON().Get("job.job.state").Str() + " "
		}
		return got
	}
	if got := states(failure, 1); got != "discarded " {
		t.Errorf("failure: %s", got)
	}
	if got := states(success, 1); got != "completed " {
		t.Errorf("success: %s", got)
	}
	states(both, 2)
	if !failure.Quiet(time.Second) || !success.Quiet(100*time.Millisecond) {
		t.Error("there are more callbacks")
	}
	run := create(a.Client, `{"url":"`+ok.URL+`","repeat_every":1,"callback_url":"`+failure.URL+`","callback_on":"success"}`)
	if got := states(failure, 3); got != "discarded completed completed " {
		t.Errorf("runs: %s", got)
	}
	a.Do("DELETE", schedulePath(run), nil).Want(204)
	a.Post("/api/jobs", with(waiting, `"callback_on":"final"`)).WantProblem(422).WantPointers("#/callback_on")
	for _, value := range []string{`"never"`, `true`, `["final"]`} {
		a.Post("/api/jobs", with(waiting, `"callback_url":"`+ok.URL+`","callback_on":`+value)).WantProblem(422).WantPointers(
			"#/callback_on")
	}
	job := create(a.Client, with(waiting, `"callback_url":"`+ok.URL+`","callback_on":"failure"`))
	a.Do("PATCH", jobPath(job), `{"callback_url":null}`).Want(200)
	wantSame(t, "callback_on goes with callback_url", a.Get(jobPath(job)).Want(200).Data().Get("args.callback_on"), ``)
}

func TestScheduleList_IncludesTheNextRun(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	pending, _ := recurring(a.Client, `"repeat_every":3600,"scheduled_at":"`+far+`"`)
	disabled, path := recurring(a.Client, `"repeat_every":3600,"scheduled_at":"`+far+`"`)
	a.Post(path+"/disable", nil).Want(200)
	running := create(a.Client, `{"url":"`+target.URL+`","repeat_every":3600}`)
	last := create(a.Client, `{"url":"`+target.URL+`","repeat_every":3600,"max_runs":1}`)
	target.Await(t, 2, soon)
	defer release()
	want := map[string]string{}
	for _, job := range []harness.JSON{pending, disabled, running, last} {
		details := a.Get(schedulePath(job) + "/details").Want(200).Data()
		want[job.Get("schedule_id").Str()] = details.Get("next_run_at").Raw()
	}
	if want[pending.Get("schedule_id").Str()] != `"2031-05-06T07:08:09.000000Z"` || want[last.Get("schedule_id").Str()] != "null" ||
		want[running.Get("schedule_id").Str()] == "null" {
		t.Errorf("the details say %s", want)
	}
	listed := everyRecord(t, a.Client, "/api/schedules?include=next_run_at&limit=1")
	if len(listed) != 4 {
		t.Fatalf("%d schedules", len(listed))
	}
	for _, record := range listed {
		raw := record.Raw()
		if next := want[record.Get("id").Str()]; !strings.HasSuffix(raw, `,"next_run_at":`+next+`}`) {
			t.Errorf("the list has %s, want %s as its last member", raw, next)
		}
		plain := a.Get("/api/schedules/" + record.Get("id").Str()).Want(200).Data().Raw()
		if !strings.HasPrefix(raw, strings.TrimSuffix(plain, "}")) {
			t.Errorf("the list has %s, want all of %s", raw, plain)
		}
	}
	for _, record := range a.Get("/api/schedules").Want(200).Data().Items() {
		if record.Get("next_run_at").Exists() {
			t.Errorf("without include the list has %s", record.Raw())
		}
	}
	for _, query := range []string{"include=", "include=last_run", "include=next_run_at,last_run",
		"include=next_run_at&include=next_run_at", "include[]=next_run_at"} {
		a.Get("/api/schedules?" + query).WantProblem(422).WantParameters("include")
	}
}
