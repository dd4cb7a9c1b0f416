package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// control is a service whose operator has jobs with tags and credentials.
type control struct {
	*harness.Service
	client *harness.Client
	target *harness.Route
}

// withControl starts a service and signs up; jobs are created with the API.
func withControl(t *testing.T) (w *control, first *Page) {
	t.Helper()
	w = &control{Service: harness.Start(t, harness.SecretsKey(t))}
	first = signUp(Open(t, w.Service, Wide))
	_, key := w.NewKey(t, "ann@example.com")
	w.client = w.Client(t, key)
	w.target = harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"ok":true}`))
	for i, tags := range []string{`["import","eu"]`, `["import"]`, `["billing"]`} {
		w.client.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"name":"Import %d","tags":%s,"schedule_in":3600,"headers":{"authorization":"Bearer hunter2"},"body":{"page":%d}}`, w.target.URL, i+1, tags, i)).Want(201)
	}
	w.client.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"name":"Nightly report","tags":["billing"],"cron":"0 3 * * *","timezone":"Europe/Berlin"}`, w.target.URL)).Want(201)
	return w, first
}

// workflowRun starts a run of a workflow whose requests are due later, and stores a step
// and a sleep. It returns the run's id.
func (w *control) workflowRun(t *testing.T) (id string) {
	t.Helper()
	post := func(path, body string, header ...harness.RequestOption) harness.JSON {
		header = append(header, harness.Header("Upstash-Delay", "1h"))
		answer, _, err := w.client.Probe("POST", path+w.target.URL, body, header...) // openapi.yaml does not have these paths
		if err != nil {
			t.Fatal(err)
		}
		return answer.Want(200).JSON
	}
	id = post("/v2/trigger/", `{}`).Get("workflowRunId").Str()
	for i, what := range []string{"Run", "SleepFor"} {
		post("/v2/publish/", fmt.Sprintf(`{"stepId":%d,"stepName":"charge","stepType":%q,"out":"1","concurrent":1}`, i+1, what),
			harness.Header("Upstash-Workflow-RunId", id), harness.Header("Upstash-Workflow-Init", "false"))
	}
	return id
}

func TestControl_InEveryLook(t *testing.T) {
	t.Parallel()
	w, first := withControl(t)
	first.Close()
	schedule := w.client.Get("/api/schedules").Want(200).Data().Items()[0].Get("id").Str()
	w.client.Do("PUT", "/api/secrets/github", `{"value":"hunter2hunter2","hosts":["api.github.com"]}`).Want(201)
	w.client.Do("PUT", "/api/alerts/billing", `{"on":["failed"],"to":[{"webhook":"https://example.com/alerts"}]}`).Want(201)
	w.client.Do("PUT", "/api/limits/stripe", `{"rate":{"calls":2,"per":60},"paused":true}`).Want(201)
	w.client.Do("PATCH", "/api/jobs/1", `{"headers":{"authorization":"Bearer swordfish"},"timeout":20}`).Want(200)
	run := w.workflowRun(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := signIn(Open(t, w.Service, look), "ann@example.com").At("/")
			p.Go("/jobs?tag=import&tag=eu").See("Import 1", "tag", "Change all matching jobs").NotSee("Import 2").Check()
			p.Go("/jobs?tag=none&host=nothing.example.com").See("No job matches the filters", "Clear all filters").Check()
			p.Expect(422).Go("/jobs?host=https://x").See("Host must be").Check()
			p.Go("/schedules?tag=billing").See("Nightly report").Check()
			p.Go("/jobs/1").See("Tags", "import", "Credentials in headers are hidden").NotSee("swordfish").Check()
			p.Go("/jobs/1/edit").See("Review changes", "New time").Check()
			p.Go("/jobs/1/rerun/edit").See("Run again with changes").Check()
			p.Go("/jobs/1/history").See("Revision 2", "A credential differs", "Timeout").NotSee("swordfish").Check()
			p.Go("/schedules/"+schedule+"/edit").See("How often", "Time zone", "Nightly report").Check()
			p.Go("/secrets").See("github", "api.github.com", "Save a secret").Check()
			p.Go("/alerts?name=billing").See("Save an alert", "all jobs", "example.com").Check()
			p.Go("/limits?key=stripe").See("Save a limit", "2 calls in 1 minute", "paused").Check()
			p.Go("/limits/stripe").See("Waiting jobs", "Running").Check()
			p.Go("/runs").See("Workflow runs", "Waiting").Check()
			p.Go("/runs/"+run).See("Steps", "charge", "Sleeping").Check()
			p.Go("/operations").See("Operations").Check()
			p.Go("/operations/new?tag=import").See("Count jobs").Check()
		})
	}
}

func TestControl_Filters(t *testing.T) {
	t.Parallel()
	_, p := withControl(t)
	p.Go("/jobs").ClickOn("Filters").Fill("#f-tag",
		"import, eu").Press(kb.Enter).At("/jobs?tag=import&tag=eu").See("Import 1").NotSee("Import 2").Check()
	p.ClickOn("tag").At("/jobs?tag=eu").ClickOn("Import 1").See("Tags").ClickOn("import").At("/jobs?tag=import").See("Import 1",
		"Import 2").NotSee("Import 3")
	if got := p.Value(`document.querySelector(".tabs .count").textContent`); got != "2" {
		t.Errorf("%s jobs are counted as available", got)
	}
}

func TestControl_CredentialsAreRevealedByAClick(t *testing.T) {
	t.Parallel()
	_, p := withControl(t)
	for _, scripts := range []bool{true, false} {
		p.Script(true).Go("/jobs/1").See("Import 1").Script(scripts)
		if p.Is(`document.documentElement.outerHTML.includes("hunter2")`) {
			t.Error("the page has the credential")
		}
		p.ClickOn("Show them").At("/jobs/1?reveal=true")
		if !p.Is(`document.documentElement.outerHTML.includes("hunter2")`) {
			t.Error("the page does not show the credential")
		}
	}
}

func TestControl_EditAJobWithoutScripts(t *testing.T) {
	t.Parallel()
	w, p := withControl(t)
	p.Go("/jobs/1").Script(false).ClickOn("Edit").At("/jobs/1/edit").Fill("#f-name",
		"Renamed").ClickOn("Review changes").See("Your changes", "Import 1", "Renamed")
	// Somebody else changes it before it is saved.
	w.client.Do("PATCH", "/api/jobs/1", `{"timeout":25}`).Want(200)
	p.Expect(412).ClickOn("Save changes").See("It has been changed since", "Timeout", "25").Script(true).Check().Script(false)
	p.ClickOn("Save changes").See("The job has been changed", "Renamed", "Revision")
	record := w.client.Get("/api/jobs/1").Want(200).Data()
	if got := record.Get("args.headers.authorization").Str(); got != "Bearer hunter2" || record.Get("args.timeout").Int() != 25 {
		t.Errorf("the header is %s, the timeout %d", got, record.Get("args.timeout").Int())
	}
}

func TestControl_Operation(t *testing.T) {
	t.Parallel()
	w, p := withControl(t)
	moved := w.client.Post("/api/operations", `{"action":"reschedule","filter":{"tags":["import"]},"set":{"schedule_in":[2,"hours"]}}`).Want(202).Data()
	p.Go("/operations/"+moved.Get("id").Str()).See("finished", "New values").Check()
	p.Go("/jobs?tag=import").ClickOn("Change all matching jobs").At("/operations/new?tag=import")
	p.ClickOn("Count jobs").See("Matching jobs", "2", "Nothing has changed yet").Check()
	p.ClickOn("Start").At("/operations/*").See("finished", "2 of 2").Check()
	if got := w.client.Get("/api/jobs?state=cancelled").Want(200).Data().Items(); len(got) != 2 {
		t.Errorf("%d jobs are cancelled", len(got))
	}
}

func TestControl_Secrets(t *testing.T) {
	t.Parallel()
	_, p := withControl(t)
	p.Go("/settings").ClickOn("Secrets").At("/secrets").See("No secrets yet")
	p.Fill("#f-name", "github").Fill("#f-hosts", "api.github.com").Fill("#f-value",
		"hunter2hunter2").Press(kb.Enter).See("The secret has been stored", "api.github.com").Check()
	p.Click(`input[value="oauth2"]`).See("Token URL").NotSee("You won't see it again")
	p.ClickOn("New value").At("/secrets?name=github").Fill("#f-value", "other").Press(kb.Enter).See("The secret has the new value")
	p.ClickOn("Delete").See("refused while").Check().ClickOn("Delete secret").See("The secret has been deleted", "No secrets yet")
}

func TestControl_Alerts(t *testing.T) {
	t.Parallel()
	w, p := withControl(t)
	p.Go("/settings").ClickOn("Alerts").At("/alerts").See("No alerts yet")
	p.Fill("#f-name", "billing").Fill("#f-tags", "billing").Fill("#f-webhook",
		w.target.URL).ClickOn("Save alert").See("The alert has been created", "failed, recovered", "tagged billing").Check()
	p.ClickOn("Test").See("Test of billing", "200").NotSee("Save an alert").Check()
	p.Script(false).ClickOn("New alert").At("/alerts?new=true").See("Save an alert").Script(true).Check()
	p.Expect(422).Fill("#f-name", "other").Fill("#f-webhook", "nothing").ClickOn("Save alert").See("Correct the marked fields",
		"Webhooks").Check()
	p.ClickOn("Delete").ClickOn("Delete alert").See("The alert has been deleted", "No alerts yet")
}
