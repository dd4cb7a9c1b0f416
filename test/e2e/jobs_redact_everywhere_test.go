package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// The markers are values that redact hides: nobody may see one but the targets.
const (
	hiddenBody, hiddenHeader, hiddenAnswer = "b0dy-of-a-hidden-job", "h3ader-of-a-hidden-job", "answ3r-to-a-hidden-job"
	hideAll                                = `"redact":["body","response","headers"]`
)

// hiddenCase is a job of which everything is hidden, and what its target does.
type hiddenCase struct {
	name, fields string
	answer       http.HandlerFunc
	report       string // of its completion
	state        string
}

// hiddenAnswering responds with the marker in the header and the body.
func hiddenAnswering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Answer", hiddenAnswer)
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

// redirecting redirects to an address.
func redirecting(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}
}

// TestRedact_NowhereBesideOtherFeatures runs jobs of which everything is hidden through the
// features that pass requests and responses on, rotates the key that encrypts them, copies
// the database, and looks for what is hidden in all that anyone can read.
func TestRedact_NowhereBesideOtherFeatures(t *testing.T) {
	t.Parallel()
	first := newSecretsKey(t)
	keys := newKeyFile(t, first)
	start := func(database string) *harness.Service {
		return harness.Start(t, harness.Flag("secrets-key-file", keys), harness.Flag("log-level", "debug"),
			harness.Flag("public-url", publicURL), harness.Database(database))
	}
	s := start(inFile(t))
	a, anyone := s.Account(t), s.Client(t, "")
	receiver, alerted, other := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	a.Do("PUT", "/api/alerts/a", `{"on":["failed","recovered"],"to":[{"webhook":"`+alerted.URL+`"}]}`).Want(201)
	s.SetPassword(t, a.Email, "correct horse battery")
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	other.Respond(hiddenAnswering(200, `{"echo":"`+hiddenAnswer+`"}`))
	program := newProgram(t, hiddenAnswering(500, hiddenAnswer))
	l := harness.Listen(t, s.URL(), a.Key, "--forward-to", program.URL, "--name", "dev")
	l.AwaitReady(t, 1)
	base64Body := base64.StdEncoding.EncodeToString([]byte("\xff" + hiddenBody))

	cases := []hiddenCase{
		{name: "success", answer: hiddenAnswering(200, `{"$set":{"seen":1},"a":"`+hiddenAnswer+`"}`), state: "completed"},
		{name: "status", answer: hiddenAnswering(500, `"`+hiddenAnswer+`"`), state: "discarded"},
		{name: "$fail", answer: hiddenAnswering(200, `{"$fail":"`+hiddenAnswer+`"}`), state: "discarded"},
		{name: "bytes", fields: `"body_base64":"` + base64Body + `"`, answer: hiddenAnswering(200, hiddenAnswer), state: "completed"},
		{name: "redirect", answer: redirecting(elsewhere), state: "completed"},
		{name: "failed redirect", answer: redirecting("https://" + hiddenAnswer + ".invalid/"), state: "discarded"},
		{name: "wrong redirect", answer: redirecting("ftp://example.com/" + hiddenAnswer), state: "discarded"},
		{name: "result", fields: `"completion":{"within":600}`, answer: hiddenAnswering(202, `"`+hiddenAnswer+`"`),
			report: `{"result":{"a":"` + hiddenAnswer + `"}}`, state: "completed"},
		{name: "error", fields: `"completion":{"within":600}`, answer: hiddenAnswering(202, ""),
			report: `{"error":"` + hiddenAnswer + `","retry":false}`, state: "discarded"},
		{name: "schedule", fields: `"cron":"0 0 1 1 *","idempotency_key":"hidden"`, answer: hiddenAnswering(500, hiddenAnswer),
			state: "available"},
	}
	var targets, groups []string
	routes := map[string]*harness.Route{}
	var jobs []harness.JSON
	texts := map[string]string{}
	for i, c := range cases {
		route := harness.SharedTarget(t).Route(t).Respond(c.answer)
		routes[c.name] = route
		targets = append(targets, fmt.Sprintf(`{"name":"t%d","url":%q,"headers":{"X-Target":"%s"}}`, i, route.URL, hiddenHeader))
		body := `"body":{"a":"` + hiddenBody + `"}`
		if strings.Contains(c.fields, "body_base64") {
			body = ""
		}
		j := create(a.Client, with(`{"name":"`+c.name+`","method":"post","url":"`+route.URL+`","retries":0,"headers":{"X-Key":"`+hiddenHeader+
			`"},"callback_url":"`+receiver.URL+`","webhook_url":"`+receiver.URL+`",`+hideAll+`}`, joined(body, c.fields)))
		jobs = append(jobs, j)
	}
	for i, c := range cases {
		if c.report != "" {
			path := completionPath(t, routes[c.name].Await(t, 1, soon)[0])
			harness.Eventually(t, soon, "the 202 to be stored", func() bool { return awaitsCompletion(a.Client, jobs[i]) })
			anyone.Post(path, `{"progress":50,"message":"`+hiddenAnswer+`"}`).Want(200)
			texts["details while it awaits "+c.name] = string(a.Get(jobPath(jobs[i]) + "/details").Want(200).Body)
			anyone.Post(path, c.report).Want(200)
		}
		if c.name == "schedule" {
			a.Post(schedulePath(jobs[i])+"/run", nil).Want(200)
			c.state = "discarded"
		}
		awaitState(t, a.Client, jobs[i], c.state)
	}
	if hits := other.Await(t, 1, soon); !strings.Contains(string(hits[0].Body), hiddenBody) {
		t.Errorf("the body was not redirected: %s", hits[0].Body)
	}
	listened := create(a.Client, `{"url":"https://listen.invalid/dev/x","method":"post","retries":0,"body":"`+hiddenBody+
		`","headers":{"X-Key":"`+hiddenHeader+`"},`+hideAll+`}`)
	awaitState(t, a.Client, listened, "discarded")
	if got := program.await(t, 1)[0]; !strings.Contains(got.body, hiddenBody) || got.header.Get("X-Key") != hiddenHeader {
		t.Errorf("the listener got %+v", got)
	}

	// A group's own record shows its headers, the jobs that hide them don't.
	a.Do("PUT", "/api/groups/g", `{"targets":[`+strings.Join(targets[:2], ",")+`]}`).Want(201)
	for _, body := range []string{`{"group":"g"}`, `{"group":"g","cron":"0 0 1 1 *","idempotency_key":"grouped"}`} {
		made := a.Post("/api/jobs", with(body, `"method":"post","retries":0,"body":"`+hiddenBody+`",`+hideAll)).Want(201).Data()
		if strings.Contains(body, "cron") {
			a.Post(schedulePath(made)+"/run", nil).Want(200)
			awaitState(t, a.Client, made, "completed")
			groups = append(groups, schedulePath(made))
			continue
		}
		for i, j := range made.Items() {
			awaitState(t, a.Client, j, cases[i].state)
		}
	}
	then := a.Post("/api/jobs/batch", `{"jobs":[{"url":"`+routes["status"].URL+`","retries":0,`+hideAll+`}],"then":{"method":"post","url":"`+
		routes["success"].URL+`","body":{"a":"`+hiddenBody+`"},`+hideAll+`}}`).Want(201).JSON.Get("then")
	awaitState(t, a.Client, then, "completed")

	alerted.Await(t, 1, soon)
	read := func(when string, c *harness.Client, s *harness.Service) {
		t.Helper()
		for _, path := range []string{"/api/jobs", "/api/logs", "/api/logs/export", "/api/schedules", "/api/export", "/api/alerts",
			"/api/account/audit", "/metrics"} {
			texts[when+path] = string(c.Get(path).Want(200).Body)
		}
		for _, j := range append(jobs, listened, then) {
			for _, below := range []string{"", "/details", "/revisions"} {
				texts[when+jobPath(j)+below] = string(c.Get(jobPath(j) + below).Want(200).Body)
			}
		}
		last := schedulePath(jobs[len(jobs)-1])
		for _, path := range append(groups, last, last+"/details", last+"/state", last+"/revisions") {
			texts[when+path] = string(c.Get(path).Want(200).Body)
		}
		texts[when+"standard error"], texts[when+"standard output"] = s.Stderr(), s.Stdout()+"-"
	}
	read("", a.Client, s)
	ann := newSurfer(t, s)
	if status, to, text := ann.open("POST", "/sign-in", credentials(a.Email, "correct horse battery")); status != 303 {
		t.Fatalf("signing in: %d %s %s", status, to, text)
	}
	pages := []string{"/", "/jobs", "/logs", "/attempts", "/schedules", "/groups/g", "/failing", "/settings/audit"}
	for _, j := range append(jobs, listened, then) {
		page := "/jobs/" + j.Get("job_id").Raw()
		pages = append(pages, page, page+"?reveal=true", page+"/text/body", page+"/text/args", page+"/text/headers", page+"/rerun/edit",
			page+"/history", "/jobs/new?from="+j.Get("job_id").Raw())
	}
	for _, page := range pages {
		if status, _, text := ann.open("GET", page, nil); status == 200 {
			texts["page "+page] = text
		} else if status != 404 && status != 303 {
			t.Errorf("%s: %d", page, status)
		}
	}
	for i, job := range jobs {
		number := job.Get("job_id").Raw()
		for _, command := range [][]string{{"why", number}, {"jobs", "show", number}, {"logs", "--job", number}} {
			r := harness.Command(t, []string{"PUNCTUAL_URL=" + s.URL(), "PUNCTUAL_API_KEY=" + a.Key}, command...)
			texts[fmt.Sprint(command)+cases[i].name] = r.Stdout + r.Stderr
		}
	}
	texts["listen"] = l.Output() + l.Notes()

	// With another key, and in a copy, what is hidden is sent and not shown.
	second := newSecretsKey(t)
	writeKeyFile(t, keys, second, first)
	if r := command(t, s, "secrets", "rotate-key", "--secrets-key-file", keys, "--json"); r.Get("unreadable").Int() != 0 {
		t.Errorf("the rotation: %s", r.Raw())
	}
	document := string(a.Get("/api/export").Want(200).Body)
	if applied := string(a.Post("/api/apply", document).Want(200).Body); strings.Contains(applied, `"result":"changed"`) {
		t.Errorf("applying the export: %s", applied)
	}
	s.Stop()
	to := inFile(t)
	texts["copy"] = copied(t, s.DatabaseURL, to).Raw()
	copyOf := start(to)
	c := copyOf.Client(t, a.Key)
	before := len(routes["success"].Hits())
	again := c.Post(jobPath(jobs[0])+"/rerun", nil).Want(201).Data()
	awaitState(t, c, again, "completed")
	if hit := routes["success"].Await(t, before+1, soon)[before]; !strings.Contains(string(hit.Body), hiddenBody) ||
		hit.Header.Get("X-Key") != hiddenHeader {
		t.Errorf("the copy sent %s with %v", hit.Body, hit.Header)
	}
	read("copy: ", c, copyOf)
	for i, hit := range receiver.Hits() {
		texts[fmt.Sprint("message ", i)] = string(hit.Body)
	}
	for i, hit := range alerted.Hits() {
		texts[fmt.Sprint("alert ", i)] = string(hit.Body)
	}
	path := strings.TrimPrefix(to, "sqlite:")
	for _, file := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = strings.ReplaceAll(string(text), `"X-Target":"`+hiddenHeader+`"`, "")
	}

	wantUnseen(t, texts, hiddenBody, hiddenHeader, hiddenAnswer)
}

// joined joins members of an object.
func joined(members ...string) string {
	var all []string
	for _, m := range members {
		if m != "" {
			all = append(all, m)
		}
	}
	return strings.Join(all, ",")
}
