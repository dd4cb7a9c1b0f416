package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// runHeader are the headers of a step of a run.
func runHeader(run string, more ...string) http.Header {
	h := http.Header{"Upstash-Workflow-Runid": {run}, "Upstash-Workflow-Init": {"false"}}
	for i := 0; i+1 < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

func runStep(number, concurrent int) string {
	return fmt.Sprintf(`{"stepId":%d,"stepName":"s","stepType":"Run","out":"1","concurrent":%d}`, number, concurrent)
}

// TestRuns_TakeEachStepOnce: steps that come twice, in one call or in several, at once, out
// of order, late, with numbers that can't be, or from another account.
func TestRuns_TakeEachStepOnce(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	defer release()
	trigger := func(a *harness.Account, id string) {
		qstash(t, a, "POST", "/v2/trigger/"+target.URL, `{}`, http.Header{"Upstash-Workflow-Runid": {id}})
	}
	trigger(a, "wfr_same")
	trigger(other, "wfr_same")
	kinds := func(a *harness.Account) string {
		var got []string
		for _, step := range a.Get("/api/runs/wfr_same").Want(200).Data().Get("steps").Items() {
			got = append(got, step.Get("kind").Str())
		}
		return strings.Join(got, " ")
	}
	item := func(body string) string {
		return fmt.Sprintf(`{"destination":%q,"headers":{"Upstash-Workflow-RunId":"wfr_same","Upstash-Workflow-Init":"false"},"body":%q}`,
			target.URL, body)
	}
	plan := `{"stepId":0,"targetStep":%d,"stepName":"p","stepType":"Run","concurrent":2}`
	batch := "[" + strings.Join([]string{item(runStep(1, 1)), item(runStep(1, 1)), item(fmt.Sprintf(plan, 2)), item(fmt.Sprintf(plan, 2)),
		item(fmt.Sprintf(plan, 3))}, ",") + "]"
	status, text := qstashStatus(t, a, "POST", "/v2/batch", batch, nil)
	if status != 200 || strings.Count(text, "deduplicated") != 2 {
		t.Errorf("steps that are twice in a call: %d %s", status, text)
	}
	if got := kinds(a); got != "payload result plan plan" {
		t.Errorf("the records are %s", got)
	}
	if got := kinds(other); got != "payload" {
		t.Errorf("the records of another account's run with the same id are %s", got)
	}
	done := make(chan string)
	const callers = 8
	for range callers {
		go func() {
			status, text := qstashStatus(t, a, "POST", "/v2/publish/"+target.URL, runStep(9, 1), runHeader("wfr_same"))
			done <- fmt.Sprint(status, strings.Contains(text, "deduplicated"))
		}()
	}
	fresh := 0
	for range callers {
		switch got := <-done; got {
		case "200 false":
			fresh++
		case "200 true":
		default:
			t.Errorf("a step at once with others: %s", got)
		}
	}
	if fresh != 1 {
		t.Errorf("%d of %d calls have stored a step", fresh, callers)
	}
	for _, number := range []int{-1, 10_001, 1 << 40} {
		if status, text := qstashStatus(t, a, "POST", "/v2/publish/"+target.URL, runStep(number, 1), runHeader("wfr_same")); status != 412 {
			t.Errorf("the step %d: %d %s", number, status, text)
		}
	}
	for _, call := range [][3]string{
		{"POST", "/v2/publish/" + target.URL, runStep(1, 1)}, {"POST", "/v2/wait/e", `{"timeout":"1d","step":` + runStep(1, 1) + `}`},
		{"DELETE", "/v2/workflows/runs/wfr_forged?cancel=false", `"x"`}, {"DELETE", "/v2/workflows/runs/wfr_forged", ""},
		{"POST", "/v2/notify/wfr_forged/e", "x"}, {"GET", "/v2/workflows/runs/wfr_forged", ""},
	} {
		trigger(a, "wfr_forged")
		if status, text := qstashStatus(t, other, call[0], call[1], call[2], runHeader("wfr_forged")); status != 404 {
			t.Errorf("%s %s for another account's run: %d %s", call[0], call[1], status, text)
		}
	}
	qstash(t, a, "DELETE", "/v2/workflows/runs/wfr_forged?cancel=false", `"x"`, nil)
	if status, text := qstashStatus(t, a, "DELETE", "/v2/workflows/runs/wfr_same", "", nil); status != 200 {
		t.Errorf("cancelling: %d %s", status, text)
	}
	if status, text := qstashStatus(t, a, "POST", "/v2/publish/"+target.URL, runStep(10, 1), runHeader("wfr_same")); status != 400 {
		t.Errorf("a step after the cancel: %d %s", status, text)
	}
	wantSame(t, "the other account's run", other.Get("/api/runs/wfr_same").Want(200).Data().Get("state"), `"started"`)
}

// TestRuns_ResumedOnesKeepTheirHeaders: what merely equals the id of the run stays.
func TestRuns_ResumedOnesKeepTheirHeaders(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.Respond(harness.Status(500))
	for _, id := range []string{"url", "wfr_7"} {
		header := http.Header{"Upstash-Workflow-Runid": {id}, "Upstash-Retries": {"0"}, "Upstash-Forward-X-Order": {id},
			"Upstash-Label": {id}, "Upstash-Failure-Callback": {"https://example.com/"}}
		qstash(t, a, "POST", "/v2/trigger/"+target.URL, `{}`, header)
		harness.Eventually(t, soon, "the run to fail", func() bool {
			return a.Get("/api/runs/"+id).Want(200).Data().Get("state").Str() == "failed"
		})
		status, text := qstashStatus(t, a, "POST", "/v2/workflows/dlq/restart?dlqIds="+id, "", nil)
		if status != 200 {
			t.Errorf("restarting %s: %d %s", id, status, text)
			continue
		}
		again := harness.JSON(text).Get("workflowRuns.0.workflowRunId").Str()
		run := a.Get("/api/runs/" + again).Want(200).Data()
		sent := a.Get("/api/jobs/" + run.Get("steps.0.job").Str()).Want(200).Data()
		headers := sent.Get("args.headers")
		if headers.Get("X-Order").Str() != id || headers.Get("Upstash-Workflow-Runid").Str() != again ||
			sent.Get("args.url").Str() != target.URL {
			t.Errorf("the run %s is restarted with %s", id, sent.Get("args"))
		}
	}
}

// TestRuns_RefuseAStepThatIsWrongWith412: the SDK takes 400 for a run that was cancelled,
// and would end it without its failure function. Whoever starts a run gets 400.
func TestRuns_RefuseAStepThatIsWrongWith412(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	defer release()
	qstash(t, a, "POST", "/v2/trigger/"+target.URL, `{}`, http.Header{"Upstash-Workflow-Runid": {"wfr_wrong"}})
	batch := func(destination, initial, wrong string) string {
		return fmt.Sprintf(`[{"destination":%q,"headers":{"Upstash-Workflow-RunId":"wfr_wrong","Upstash-Workflow-Init":%q%s},"body":%q}]`,
			destination, initial, wrong, runStep(1, 1))
	}
	const delay = `,"Upstash-Delay":"4000d"`
	for _, test := range []struct {
		body string
		want int
	}{
		{batch(target.URL, "false", delay), 412}, {batch("group", "false", ""), 412}, {batch("nonsense://", "false", ""), 412},
		{batch(target.URL, "true", delay), 400},
		{batch(target.URL, "true", `,"Upstash-Workflow-Invoke":"true"`+delay), 412},
		{"[" + strings.Repeat(strings.Trim(batch(target.URL, "false", ""), "[]")+",", service.MaxBatch) +
			strings.TrimPrefix(batch(target.URL, "false", ""), "["), 412},
	} {
		if status, text := qstashStatus(t, a, "POST", "/v2/batch", test.body, nil); status != test.want {
			t.Errorf("%s: got %d %s, want %d", test.body, status, text, test.want)
		}
	}
	for header, want := range map[string]int{"Upstash-Delay": 412, "Upstash-Retries": 412} {
		if status, text := qstashStatus(t, a, "POST", "/v2/publish/"+target.URL, runStep(1, 1),
			runHeader("wfr_wrong", header, "4000d")); status != want {
			t.Errorf("%s: got %d %s, want %d", header, status, text, want)
		}
	}
	if status, _ := qstashStatus(t, a, "POST", "/v2/publish/"+target.URL, runStep(1, 1), runHeader("wfr_wrong")); status != 200 {
		t.Errorf("a step after those refused: got %d", status)
	}
}
