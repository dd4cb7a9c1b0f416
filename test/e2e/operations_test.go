package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// operationPath is the path of an operation.
func operationPath(o harness.JSON) string { return "/api/operations/" + o.Get("id").Str() }

// awaitOperation polls an operation until it has ended, and returns it.
func awaitOperation(t *testing.T, c *harness.Client, o harness.JSON) harness.JSON {
	t.Helper()
	for o.Get("state").Str() == "running" {
		before := o.Get("done").Raw() + o.Get("skipped").Raw()
		if !harness.Within(3*soon, func() bool {
			o = c.Get(operationPath(o)).Want(200).Data()
			return o.Get("state").Str() != "running" || o.Get("done").Raw()+o.Get("skipped").Raw() != before
		}) {
			t.Fatalf("the operation has not gone on for %s: %s", 3*soon, o.Raw())
		}
	}
	return o
}

// operate carries out an operation and returns it finished.
func operate(t *testing.T, c *harness.Client, body string) harness.JSON {
	t.Helper()
	o := awaitOperation(t, c, c.Post("/api/operations", body).Want(202).Data())
	wantSame(t, "the state", o.Get("state"), `"finished"`)
	return o
}

// wantOperated verifies the counts of an operation.
func wantOperated(t *testing.T, o harness.JSON, matched, done int, skipped string) {
	t.Helper()
	got := fmt.Sprint(o.Get("matched").Raw(), " ", o.Get("done").Raw(), " ", o.Get("skipped").Raw())
	if want := fmt.Sprint(matched, " ", done, " ", skipped); got != want {
		t.Errorf("matched, done and skipped are %s, want %s", got, want)
	}
}

func TestOperations_CancelTheJobsOfTheFilterAndNoOthers(t *testing.T) {
	t.Parallel()
	a := account(t)
	tagged := []harness.JSON{create(a.Client, with(waiting, `"tags":["x"]`)), create(a.Client, with(waiting, `"tags":["x","y"]`))}
	other := create(a.Client, with(waiting, `"tags":["y"]`))
	foreign := account(t)
	theirs := create(foreign.Client, with(waiting, `"tags":["x"]`))
	answer := a.Post("/api/operations", `{"action":"cancel","filter":{"tags":["x"]}}`).Want(202)
	started := answer.Data()
	wantKeys(t, "the operation", started, "id", "action", "filter", "set", "state", "matched", "done", "skipped", "inserted_at",
		"finished_at")
	if got := answer.Header.Get("Location"); got != operationPath(started) {
		t.Errorf("Location is %s", got)
	}
	wantMatch(t, "inserted_at", started.Get("inserted_at"), microsPattern)
	o := awaitOperation(t, a.Client, started)
	wantOperated(t, o, 2, 2, `{}`)
	wantMatch(t, "finished_at", o.Get("finished_at"), microsPattern)
	wantSame(t, "set", o.Get("set"), "null")
	for _, j := range tagged {
		awaitState(t, a.Client, j, "cancelled")
	}
	wantSame(t, "another", a.Get(jobPath(other)).Want(200).Data().Get("job.state"), `"available"`)
	wantSame(t, "another's", foreign.Get(jobPath(theirs)).Want(200).Data().Get("job.state"), `"available"`)
	wantSame(t, "the list", a.Get("/api/operations").Want(200).Data().Get("0"), o.Raw())
	foreign.Get(operationPath(o)).WantProblem(404)
	foreign.Do(http.MethodDelete, operationPath(o), nil).WantProblem(404)
	a.Get("/api/operations/x").WantProblem(404)
	wantSame(t, "stopped when finished", a.Do(http.MethodDelete, operationPath(o), nil).Want(200).Data(), o.Raw())
	events := strings.Join(auditEvents(a.Get("/api/account/audit").Want(200).Data()), " ")
	if !strings.HasPrefix(events, "operation.started ") || strings.Contains(events, "stopped") {
		t.Errorf("the audit log has %s", events)
	}
	again := operate(t, a.Client, `{"action":"cancel","filter":{"tags":["x"]}}`)
	wantOperated(t, again, 2, 0, `{"final":2}`)
}

func TestOperations_RunReachesRetriesAndStartsAtOnce(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	var jobs []harness.JSON
	for i := range 3 {
		jobs = append(jobs, create(a.Client,
			fmt.Sprintf(`{"url":"%s","method":"post","body":%d,"scheduled_at":"%s","tags":["x"]}`, target.URL, i, far)))
	}
	o := operate(t, a.Client, `{"action":"run","filter":{"state":"scheduled"},"set":{}}`)
	wantOperated(t, o, 3, 3, `{}`)
	target.Await(t, 3, soon)
	for _, j := range jobs {
		awaitState(t, a.Client, j, "completed")
	}
	wantOperated(t, operate(t, a.Client, `{"action":"run","filter":{"tags":["x"],"since":"2020-01-01"}}`), 3, 0, `{"final":3}`)
}

func TestOperations_RescheduleToATimeOrSpread(t *testing.T) {
	t.Parallel()
	a := account(t)
	var jobs []harness.JSON
	for range 4 {
		jobs = append(jobs, create(a.Client, waiting))
	}
	create(a.Client, with(waiting, `"name":"other"`))
	a.Post(jobPath(jobs[3])+"/cancel", nil).Want(200)
	all := `"filter":{"host":"example.com","until":"` +
		a.Get(jobPath(create(a.Client, waiting))).Want(200).Data().Get("job.inserted_at").Str() + `"}`
	o := operate(t, a.Client, `{"action":"reschedule",`+all+`,"set":{"scheduled_at":"2032-01-01T00:00:00Z"}}`)
	wantOperated(t, o, 5, 4, `{"final":1}`)
	moved := a.Get(jobPath(jobs[0])).Want(200)
	wantSame(t, "scheduled_at", moved.Data().Get("job.scheduled_at"), `"2032-01-01T00:00:00.000000Z"`)
	wantSame(t, "args.scheduled_at", moved.Data().Get("args.scheduled_at"), `"2032-01-01T00:00:00Z"`)
	if got := moved.Header.Get("ETag"); got != `"2"` {
		t.Errorf("ETag is %s", got)
	}
	o = operate(t, a.Client, `{"action":"reschedule",`+all+`,"set":{"scheduled_at":"2032-01-01T00:00:00Z","spread":[50,"minutes"]}}`)
	wantOperated(t, o, 5, 4, `{"final":1}`)
	for i, want := range []string{"00:00:00", "00:10:00", "00:20:00"} {
		wantSame(t, "scheduled_at", a.Get(jobPath(jobs[i])).Want(200).Data().Get("job.scheduled_at"), `"2032-01-01T`+want+`.000000Z"`)
	}
	// Times count from the call.
	before := time.Now()
	operate(t, a.Client, `{"action":"reschedule",`+all+`,"set":{"schedule_in":[1,"hour"]}}`)
	wantBetween(t, "the due time", instant(t, a.Get(jobPath(jobs[0])).Want(200).Data().Get("job.scheduled_at")), before.Add(time.Hour),
		time.Now().Add(time.Hour))
}

func TestOperations_RerunOnceWithChanges(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.Respond(harness.Status(500))
	failed := create(a.Client, `{"url":"`+target.URL+`","retries":0,"name":"n"}`)
	awaitState(t, a.Client, failed, "discarded")
	target.Respond(harness.Status(200))
	create(a.Client, waiting)
	o := operate(t, a.Client, `{"action":"rerun","filter":{},"all":true,"set":{"method":"put","body":{"v":2},"scheduled_at":"`+far+`"}}`)
	wantOperated(t, o, 2, 1, `{"unfinished":1}`)
	named := a.Get("/api/jobs?name=n").Want(200).Data()
	wantSame(t, "the oldest job of the name", named.Get("1.id"), failed.Get("id").Raw())
	again := named.Get("0")
	wantSame(t, "the rerun's body", again.Get("args.body"), `{"v":2}`)
	wantSame(t, "the rerun's name", again.Get("name"), `"n"`)
	wantSame(t, "the rerun's due time", again.Get("job.scheduled_at"), `"`+strings.TrimSuffix(far, "Z")+`.000000Z"`)
	o = operate(t, a.Client, `{"action":"rerun","filter":{"state":"discarded"},"set":{"headers":null}}`)
	wantOperated(t, o, 1, 0, `{"has_rerun":1}`)
	a.Post("/api/operations", `{"action":"rerun","filter":{"error_kind":"status"},"dry_run":true}`).Want(200)
	wantSame(t, "a dry run", a.Post("/api/operations", `{"action":"rerun","filter":{"error_kind":"status"},"dry_run":true}`).Want(200).JSON,
		`{"data":{"action":"rerun","filter":{"error_kind":"status"},"set":null,"matched":1}}`)
}

func TestOperations_WrongRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	a := account(t)
	j := create(a.Client, with(waiting, `"tags":["x"]`))
	for body, pointers := range map[string]string{
		`{"action":"cancel"}`: "#/filter",
		`{"action":"cancel","filter":{"tags":[],"name":null},"all":false}`:                     "#/filter",
		`{"filter":{"tags":["x"]}}`:                                                            "#/action",
		`{"action":"delete","filter":{"tags":["x"]},"set":{"a":1}}`:                            "#/action",
		`{"action":"cancel","filter":[],"al":true}`:                                            "#/al #/filter",
		`{"action":"cancel","filter":{"tag":"x","error_kind":"slow","host":"a/b"}}`:            "#/filter/error_kind #/filter/host #/filter/tag",
		`{"action":"cancel","filter":{"tags":["x"]},"set":{"spread":1}}`:                       "#/set",
		`{"action":"reschedule","filter":{"tags":["x"]}}`:                                      "#/set",
		`{"action":"reschedule","filter":{"tags":["x"]},"set":{"url":"https://example.com/"}}`: "#/set/url",
		`{"action":"reschedule","filter":{"tags":["x"]},"set":{"spread":[1,"month"]}}`:         "#/set/spread/1",
		`{"action":"rerun","filter":{"tags":["x"]},"set":{"url":null,"cron":"* * * * *"}}`:     "#/set/cron #/set/url",
		`{"action":"rerun","filter":{"since":"2026-02-01","until":"2026-01-01"}}`:              "#/filter/until",
	} {
		var got []string
		for _, e := range a.Post("/api/operations", body).WantProblem(422).JSON.Get("errors").Items() {
			got = append(got, e.Get("pointer").Str())
		}
		if !sameSet(got, strings.Fields(pointers)) {
			t.Errorf("%s: problems at %v, want %s", body, got, pointers)
		}
	}
	big := strings.Repeat("x", 256<<10)
	a.Post("/api/operations", `{"action":"rerun","filter":{"tags":["x"]},"set":{"body":"`+big+`"}}`).WantProblem(422)
	a.Post("/api/operations", `{`).WantProblem(400)
	a.Get("/api/operations?offset=1").WantProblem(422)
	wantSame(t, "the job", a.Get(jobPath(j)).Want(200).Data().Get("job.state"), `"available"`)
	wantSame(t, "the operations", a.Get("/api/operations").Want(200).Data(), `[]`)
}

// sameSet reports whether two lists have the same elements.
func sameSet(a, b []string) bool {
	count := map[string]int{}
	for _, x := range a {
		count[x]++
	}
	for _, x := range b {
		count[x]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestOperations_ThePublicKeyIsRefused(t *testing.T) {
	t.Parallel()
	public := harness.Shared(t).Client(t, harness.PublicKey)
	for _, a := range []*harness.Answer{
		public.Post("/api/operations", `{"action":"cancel","filter":{"tags":["x"]}}`), public.Get("/api/operations"),
		public.Get("/api/operations/01a05e38-7a41-7d7e-8a55-3f1f5c0a9b11"),
		public.Do(http.MethodDelete, "/api/operations/01a05e38-7a41-7d7e-8a55-3f1f5c0a9b11", nil),
	} {
		a.WantProblem(403)
	}
}
