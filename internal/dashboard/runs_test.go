package dashboard

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// startRun starts a run of a workflow.
func (w *site) startRun(owner job.Owner, id, labels string) {
	w.Helper()
	run := &workflow.Run{ID: id, URL: "https://example.com/checkout", Template: rawjson.Value(`{"url":"https://example.com/checkout"}`),
		Labels: rawjson.Value(labels)}
	if _, err := w.service.StartRuns(w.Context(), owner, []service.RunStart{{Run: run, Payload: []byte("swordfish")}}); err != nil {
		w.Fatal(err)
	}
}

// appendSteps adds steps to a run.
func (w *site) appendSteps(owner job.Owner, id string, steps ...service.RunStep) {
	w.Helper()
	if _, err := w.service.AppendRun(w.Context(), owner, id, steps); err != nil {
		w.Fatal(err)
	}
}

func stepOf(kind workflow.Kind, number, concurrent int, name, what string) service.RunStep {
	return service.RunStep{Step: &workflow.Step{Kind: kind, Number: number, Concurrent: concurrent, Name: name, Type: what,
		Body: []byte("swordfish")}}
}

func TestRuns_AreShownAsAWaterfall(t *testing.T) {
	w := newSite(t, false, public)
	b := w.citizen()
	ann, sam := w.owner("ann@example.com"), w.stranger()
	b.want(b.get("/runs"), 200, `href="/docs/guides/workflows"`)
	w.startRun(ann, "wfr a", `["eu","<i>"]`)
	w.startRun(sam, "wfr_sam", `["eu"]`)
	w.pass(time.Second)
	w.appendSteps(ann, "wfr a", stepOf(workflow.Result, 1, 1, "charge <b>", "Run"))
	w.pass(time.Second)
	w.appendSteps(ann, "wfr a", stepOf(workflow.Plan, 2, 2, "print", "Run"), stepOf(workflow.Plan, 3, 2, strings.Repeat("x", 500), "Run"))
	w.pass(time.Second)
	w.appendSteps(ann, "wfr a", stepOf(workflow.Result, 2, 2, "print", "Run"))
	w.pass(time.Second)
	page := b.want(b.get("/runs/wfr%20a"), 200, "charge &lt;b&gt;")
	for _, says := range []string{
		`<rect class="work" x="0%" width="25%"`, `<rect class="work" x="50%" width="25%"`, `<rect class="work" x="50%" width="50%"`,
		"2.00 s so far", `data-part="/runs/wfr%20a?part=run"`,
	} {
		b.want(page, 200, says)
	}
	w.appendSteps(ann, "wfr a", stepOf(workflow.Result, 3, 2, "ship", "Run"))
	sleep := stepOf(workflow.Result, 4, 1, "rest", "SleepFor")
	sleep.Timing = []rawjson.Member{{Name: "schedule_in", Value: rawjson.Value(`3600`)}}
	w.appendSteps(ann, "wfr a", sleep)
	w.pass(4 * time.Second)
	page = b.want(b.get("/runs/wfr%20a?part=run"), 200, `<rect class="rest" x="50%" width="50%"`)
	b.want(page, 200, "Sleeping")
	if strings.Contains(page.body, "swordfish") || strings.Contains(page.body, strings.Repeat("x", 100)) {
		t.Error("the page shows a body or a whole name")
	}
	for _, job := range regexp.MustCompile(`href="(/jobs/[0-9a-f-]{36})"`).FindAllStringSubmatch(page.body, -1) {
		b.want(b.get(job[1]), 200, "example.com")
	}
	b.want(b.get("/runs?state=waiting&label=%3Ci%3E"), 200, `href="/runs/wfr%20a"`)
	if list := b.want(b.get("/runs?label=eu"), 200, "&lt;i&gt;").body; strings.Contains(list, "wfr_sam") {
		t.Error("the list shows a run of another account")
	}
	b.want(b.get("/runs?state=failed"), 200, "No run matches")
	b.want(b.get("/runs?state=odd"), 422, "The state must be")
	b.want(b.get("/runs/wfr_sam"), 404, "no such workflow run")
	b.want(b.post("/runs/wfr_sam/cancel"), 404, "no such workflow run")
	b.want(b.get("/public/runs"), 404, "There is no page")
	b.want(b.post("/runs/wfr%20a/cancel"), 303, "/runs/wfr%20a?done=runcancelled")
	page = b.want(b.get("/runs/wfr%20a?done=runcancelled"), 200, "Not completed")
	if strings.Contains(page.body, "data-part") || strings.Contains(page.body, "Cancel run") {
		t.Error("a run that ended is live")
	}
	b.want(b.post("/runs/wfr%20a/cancel"), 303, "/runs/wfr%20a?done=runended")
}

func TestRuns_AreReadInPages(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	for i := range runsListed + 1 {
		w.startRun(ann, fmt.Sprintf("wfr_%02d", i), `[]`)
		w.pass(time.Millisecond)
	}
	next := regexp.MustCompile(`href="(/runs\?after=[^"]+)" rel="next"`).FindStringSubmatch(b.want(b.get("/runs"), 200, "wfr_01").body)
	if next == nil {
		t.Fatal("the list has no further page")
	}
	if page := b.want(b.get(next[1]), 200, "wfr_00").body; strings.Contains(page, "wfr_01") {
		t.Error("a run is on two pages")
	}
	steps := make([]service.RunStep, 0, 250)
	for i := range cap(steps) {
		steps = append(steps, stepOf(workflow.Plan, i+1, cap(steps), "one", "Run"))
	}
	w.appendSteps(ann, "wfr_00", steps...)
	b.want(b.get("/runs/wfr_00"), 200, "150 further steps are not shown")
}
