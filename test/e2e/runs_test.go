package e2e

import (
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// runIDs returns the ids of runs, in the order given.
func runIDs(runs harness.JSON) (ids []string) {
	for _, run := range runs.Items() {
		ids = append(ids, run.Get("id").Str())
	}
	return ids
}

func TestRuns_AreListedShownAndCancelled(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	defer release()
	var ids []string
	for _, label := range []string{"one", "two", "two"} {
		header := map[string][]string{"Upstash-Label": {label}}
		ids = append(ids, qstash(t, a, "POST", "/v2/trigger/"+target.URL, `{"order":7}`, header).Get("workflowRunId").Str())
	}
	latest := slices.Clone(ids)
	slices.Reverse(latest)
	wantRuns := func(what string, got harness.JSON, want []string) {
		t.Helper()
		if !slices.Equal(runIDs(got), want) {
			t.Errorf("%s: %s, want %v", what, got, want)
		}
	}
	wantRuns("all", a.Get("/api/runs").Want(200).Data(), latest)
	wantRuns("with a label", a.Get("/api/runs?label=two&state=started").Want(200).Data(), latest[:2])
	wantRuns("in another state", a.Get("/api/runs?state=failed").Want(200).Data(), nil)
	wantRuns("of another account", other.Get("/api/runs").Want(200).Data(), nil)
	var paged []string
	for path := "/api/runs?limit=1"; path != ""; {
		answer := a.Get(path).Want(200)
		paged = append(paged, runIDs(answer.Data())...)
		path = answer.Next()
	}
	if !slices.Equal(paged, latest) {
		t.Errorf("the pages have %v, want %v", paged, latest)
	}

	path := "/api/runs/" + ids[0]
	run := a.Get(path).Want(200).Data()
	wantSame(t, "url", run.Get("url"), `"`+target.URL+`"`)
	wantSame(t, "state", run.Get("state"), `"started"`)
	wantSame(t, "kind", run.Get("steps.0.kind"), `"payload"`)
	sent := a.Get("/api/jobs/" + run.Get("steps.0.job").Str()).Want(200).Data()
	wantSame(t, "the job of the payload", sent.Get("args.url"), `"`+target.URL+`"`)
	for _, call := range []string{path, path + "/cancel"} {
		method := "GET"
		if call != path {
			method = "POST"
		}
		other.Do(method, call, nil).WantProblem(404)
	}
	wantSame(t, "cancelled", a.Post(path+"/cancel", nil).Want(200).Data().Get("state"), `"cancelled"`)
	wantSame(t, "cancelled again", a.Post(path+"/cancel", nil).Want(200).Data().Get("state"), `"cancelled"`)
	wantRuns("cancelled ones", a.Get("/api/runs?state=cancelled").Want(200).Data(), ids[:1])
	for _, id := range []string{"%00", "%ff", "wfr_none"} { // what no store could keep is not there
		a.Get("/api/runs/" + id).WantProblem(404)
		a.Post("/api/runs/"+id+"/cancel", nil).WantProblem(404)
		if status, text := qstashStatus(t, a, "DELETE", "/v2/workflows/runs/"+id, "", nil); status != 404 {
			t.Errorf("cancelling %s: %d %s", id, status, text)
		}
		if status, text := qstashStatus(t, a, "POST", "/v2/notify/"+id+"/paid", "", nil); status != 404 {
			t.Errorf("notifying %s: %d %s", id, status, text)
		}
	}
	for _, query := range []string{"?state=done", "?cursor=x", "?limit=0"} {
		a.Get("/api/runs" + query).WantProblem(422)
	}
}
