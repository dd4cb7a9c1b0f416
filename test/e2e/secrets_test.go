package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// newKeyFile writes a file with keys that the command made, the last one first.
func newKeyFile(t *testing.T, keys ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if len(keys) == 0 {
		keys = []string{newSecretsKey(t)}
	}
	writeKeyFile(t, path, keys...)
	return path
}

func writeKeyFile(t *testing.T, path string, keys ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(keys, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newSecretsKey(t *testing.T) string {
	t.Helper()
	result := harness.Command(t, nil, "secrets", "new-key")
	if result.Code != 0 || len(strings.TrimSpace(result.Stdout)) != 44 {
		t.Fatalf("new-key: %+v", result)
	}
	return strings.TrimSpace(result.Stdout)
}

// sealedService starts a service with a key file and an account.
func sealedService(t *testing.T, opts ...harness.Option) (*harness.Service, *harness.Account) {
	t.Helper()
	s := harness.Start(t, append(opts, harness.Flag("secrets-key-file", newKeyFile(t)))...)
	return s, s.Account(t)
}

// put stores a secret for the host of the targets.
func putSecret(c *harness.Client, name, value string) *harness.Answer {
	return c.Do(http.MethodPut, "/api/secrets/"+name, fmt.Sprintf(`{"value":%q,"hosts":["127.0.0.1"]}`, value))
}

// sending is a job with a header.
func sending(url, header, members string) string {
	return with(`{"retries":0,"url":"`+url+`","headers":{"X-Key":"`+header+`"}}`, members)
}

// echo responds with the header X-Key in its body and its header.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	value := r.Header.Get("X-Key")
	w.Header().Set("X-Echo", "you sent "+value)
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"you":"sent %s"}`, value)
})

func TestSecrets_AreNeverShown(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t-v4lue-nobody-may-see"
	s := harness.Start(t, harness.Flag("secrets-key-file", newKeyFile(t)), harness.Flag("log-level", "debug"), harness.Database(inFile(t)))
	a := s.Account(t)
	events := follow(t, a.Client, "")
	target := harness.SharedTarget(t).Route(t).Respond(echo)
	receiver := harness.SharedTarget(t).Route(t)
	texts := map[string]string{"PUT": string(putSecret(a.Client, "leak", value).Want(201).Body)}
	texts["PUT again"] = string(putSecret(a.Client, "leak", value).Want(200).Body)
	job := create(a.Client, sending(target.URL, "Bearer {{secret.leak}} {{{{x}}",
		`"metadata":false,"body":{"no":"{{secret.leak}}"},"method":"post","callback_url":"`+receiver.URL+`","webhook_url":"`+receiver.URL+
			`"`))
	job = awaitState(t, a.Client, job, "completed")
	if got := target.Hits()[0]; got.Header.Get("X-Key") != "Bearer "+value+" {{x}}" || string(got.Body) != `{"no":"{{secret.leak}}"}` {
		t.Errorf("sent %q with %s", got.Header.Get("X-Key"), got.Body)
	}
	wantSame(t, "the args", job.Get("args.headers"), `{"X-Key":"Bearer {{secret.leak}} {{{{x}}"}`)
	logs := logsOf(a.Client, job)
	wantSame(t, "the request log", logs[0].Get("payload.headers"), `{"X-Key":"Bearer {{secret.leak}} {{{{x}}"}`)
	wantSame(t, "the response log", logs[1].Get("payload.body"), `{"you":"sent Bearer *** {{x}}"}`)
	for i, hit := range receiver.Await(t, 5, soon) {
		texts[fmt.Sprint("message ", i)] = string(hit.Body)
	}
	for _, path := range []string{"/api/jobs", jobPath(job), "/api/logs", "/api/logs/export?job_id=" + job.Get("job_id").Raw(),
		"/api/secrets", "/api/secrets/leak",
		"/api/account/audit", "/api/account", "/metrics"} {
		texts[path] = string(a.Get(path).Want(200).Body)
	}
	harness.Eventually(t, soon, "the events of the job", func() bool {
		events.mu.Lock()
		defer events.mu.Unlock()
		texts["events"] = fmt.Sprint(events.sent)
		for _, e := range events.sent {
			texts["events"] += string(e.data)
		}
		return strings.Contains(texts["events"], `"completed"`)
	})
	texts["standard output"], texts["standard error"] = s.Stdout(), s.Stderr()
	if !strings.Contains(texts["/api/account/audit"], "header_secret.created") || !strings.Contains(texts["/api/account/audit"],
		"header_secret.changed") {
		t.Errorf("the audit log is %s", texts["/api/account/audit"])
	}
	path := strings.TrimPrefix(s.DatabaseURL, "sqlite:")
	for _, file := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	for where, text := range texts {
		if text == "" || strings.Contains(text, value) {
			t.Errorf("%s shows the value, or nothing: %.300s", where, text)
		}
	}
}

func TestSecrets_AreMaskedInReports(t *testing.T) {
	t.Parallel()
	s, a := sealedService(t, harness.Flag("public-url", publicURL))
	anyone := s.Client(t, "")
	putSecret(a.Client, "word", `se"cret-value`).Want(201)
	putSecret(a.Client, "pin", `4711081547`).Want(201)
	const headers = `"headers":{"X-Key":"{{secret.word}}","X-Pin":"{{secret.pin}}"},"completion":{"within":60},"retries":0`
	job, _, path := accepting(t, a.Client, headers)
	progress := anyone.Post(path, `{"progress":1.50,"message":"got se\"cret-value"}`).Want(200).Data().Get("progress")
	wantSame(t, "the message", progress.Get("message"), `"got ***"`)
	report := `{"result":{"you":["sent se\"cret-value",1.10,4711081547],"4711081547":null,"$set":{"k":"se\u0022cret-value"}}}`
	anyone.Post(path, report).Want(200)
	awaitState(t, a.Client, job, "completed")
	anyone.Post(path, report).Want(200)
	logs := logsOf(a.Client, job)
	wantSame(t, "the logged result", logs[len(logs)-1].Get("payload.result"),
		`{"you":["sent ***",1.10,"***"],"***":null,"$set":{"k":"***"}}`)

	job, _, path = accepting(t, a.Client, headers)
	anyone.Post(path, `{"error":"4711081547 is wrong"}`).Want(200)
	awaitState(t, a.Client, job, "discarded")
	logs = logsOf(a.Client, job)
	wantSame(t, "the logged error", logs[len(logs)-1].Get("payload.message"), `"*** is wrong"`)
}

func TestSecrets_AreRefusedWhereTheyCantBeSent(t *testing.T) {
	t.Parallel()
	s, a := sealedService(t, harness.Flag("public-api-key", "sk_public"))
	b := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	putSecret(a.Client, "k", "value-of-k").Want(201)
	for _, c := range []*harness.Client{a.Client, b.Client} {
		c.Post("/api/jobs", sending(target.URL, "{{secret.none}}", "")).WantProblem(422).WantPointers("#/headers/X-Key")
	}
	b.Post("/api/jobs", sending(target.URL, "{{secret.k}}", "")).WantProblem(422).WantPointers("#/headers/X-Key")
	a.Post("/api/jobs", sending("https://example.com/", "{{secret.k}}", "")).WantProblem(422).WantPointers("#/headers/X-Key")
	a.Post("/api/jobs", sending("ftp://example.com/", "{{secret.none}}", `"nmae":1`)).WantProblem(422).WantPointers("#/nmae", "#/url",
		"#/headers/X-Key")
	a.Post("/api/jobs", sending(target.URL, "{{ secret.k }}", "")).WantProblem(422).WantPointers("#/headers/X-Key")
	a.Post("/api/jobs", sending(target.URL, strings.Repeat("{{secret.k}}", 33), "")).WantProblem(422).WantPointers("#/headers")
	a.Post("/api/jobs", `{"url":"`+target.URL+`","headers":{"a/b":["x","{{secret.none}}"]}}`).WantProblem(422)
	a.Post("/api/jobs", `{"url":"`+target.URL+`","headers":{"a":["x","\u007b\u007bsecret.none}}"]}}`).WantProblem(422).WantPointers(
		"#/headers/a/1")
	a.Post("/api/preview", sending(target.URL, "{{secret.none}}", "")).WantProblem(422)
	for method, path := range map[string]string{"GET": "/api/secrets", "PUT": "/api/secrets/k", "DELETE": "/api/secrets/k"} {
		s.Client(t, "sk_public").Do(method, path, nil).WantProblem(403)
	}
	putSecret(a.Client, "a%20b", "value-of-k").WantProblem(422).WantParameters("name")
	a.Get("/api/secrets/none").WantProblem(404)
	for _, path := range []string{"/api/secrets/%00", "/api/secrets/%ff", "/api/limits/%00", "/api/limits/%ff"} {
		a.Get(path).WantProblem(404)
		a.Do("DELETE", path, nil).WantProblem(404)
	}
	b.Get("/api/secrets/k").WantProblem(404)
	b.Do("DELETE", "/api/secrets/k", nil).WantProblem(404)
	_, jobs := s.NewKey(t, a.Email, "--scope", "jobs")
	s.Client(t, jobs).Get("/api/secrets").WantProblem(403)
}

func TestSecrets_NeedAKeyFile(t *testing.T) {
	t.Parallel()
	a := account(t)
	answer := putSecret(a.Client, "k", "value-of-k").WantProblem(422)
	if !strings.Contains(string(answer.Body), "--secrets-key-file") {
		t.Errorf("the answer is %s", answer.Body)
	}
	a.Post("/api/jobs", sending("https://example.com/", "{{secret.k}}", "")).WantProblem(422).WantPointers("#/headers/X-Key")
	wantSame(t, "the secrets", a.Get("/api/secrets").Want(200).Data(), "[]")
	target := harness.SharedTarget(t).Route(t)
	finished(t, a.Client, sending(target.URL, "{{{{secret.k}} {{x}}", ""), "completed")
	if got := target.Hits()[0].Header.Get("X-Key"); got != "{{secret.k}} {{x}}" {
		t.Errorf("sent %q", got)
	}
}

func TestSecrets_ARotationReachesPendingJobs(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	target := harness.SharedTarget(t).Route(t)
	putSecret(a.Client, "r", "old-value").Want(201)
	job := create(a.Client, sending(target.URL, "{{secret.r}}", `"schedule_in":3600`))
	putSecret(a.Client, "r", "new-value").Want(200)
	a.Post(jobPath(job)+"/run", nil).Want(200)
	awaitState(t, a.Client, job, "completed")
	if got := target.Hits()[0].Header.Get("X-Key"); got != "new-value" {
		t.Errorf("sent %q", got)
	}
	// Its hosts can change, too: then nothing is sent.
	job = create(a.Client, sending(target.URL, "{{secret.r}}", `"schedule_in":3600`))
	a.Do("PUT", "/api/secrets/r", `{"value":"newer-value","hosts":["example.com"]}`).Want(200)
	a.Post(jobPath(job)+"/run", nil).Want(200)
	job = awaitState(t, a.Client, job, "discarded")
	wantSame(t, "the kind", logsOf(a.Client, job)[1].Get("payload.kind"), `"secret"`)
	if n := len(target.Hits()); n != 1 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestSecrets_AreDroppedAtOtherHosts(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	target := harness.SharedTarget(t).Route(t)
	putSecret(a.Client, "h", "value-of-h").Want(201)
	elsewhere := strings.Replace(target.URL, "127.0.0.1", "localhost", 1)
	target.RespondOnce(harness.Redirect(307, target.URL+"/same"), harness.Redirect(307, elsewhere+"/other"),
		harness.Redirect(307, target.URL+"/back"))
	// Accept is sent to other origins, unless it has a secret.
	body := `{"url":"` + target.URL + `","headers":{"X-Key":"{{secret.h}}","Accept":"text/{{secret.h}}"}}`
	finished(t, a.Client, body, "completed")
	hits := target.Hits()
	want := [][2]string{{"value-of-h", "text/value-of-h"}, {"value-of-h", "text/value-of-h"}, {"", ""}, {"", "text/value-of-h"}}
	for i, hit := range hits {
		if got := [2]string{hit.Header.Get("X-Key"), hit.Header.Get("Accept")}; got != want[i] {
			t.Errorf("%s received %q, want %q", hit.Path, got, want[i])
		}
	}
	if len(hits) != 4 {
		t.Errorf("%d requests were sent", len(hits))
	}
	// The failure of a redirect may repeat the value.
	leak := harness.SharedTarget(t).Route(t).Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://"+r.Header.Get("X-Key")+".invalid/")
		w.WriteHeader(302)
	}))
	_, payload := finished(t, a.Client, sending(leak.URL, "{{secret.h}}", ""), "discarded")
	if text := payload.Raw(); strings.Contains(strings.ToLower(text), "value-of-h") || !strings.Contains(text, "***.invalid") {
		t.Errorf("the failure is %s", text)
	}
}

func TestSecrets_InUseStay(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	target := harness.SharedTarget(t).Route(t)
	putSecret(a.Client, "d", "value-of-d").Want(201)
	one := create(a.Client, sending(target.URL, "{{secret.d}}", `"schedule_in":3600`))
	two := create(a.Client, sending(target.URL, "{{secret.d}}", `"repeat_every":3600,"schedule_in":3600`))
	answer := a.Do("DELETE", "/api/secrets/d", nil).WantProblem(409)
	if !strings.Contains(string(answer.Body), "2 unfinished jobs use the secret d") {
		t.Errorf("the answer is %s", answer.Body)
	}
	a.Post(jobPath(one)+"/cancel", nil).Want(200)
	a.Post(jobPath(two)+"/cancel", nil).Want(200) // its schedule goes on
	if answer := a.Do("DELETE", "/api/secrets/d", nil).WantProblem(409); !strings.Contains(string(answer.Body), "1 unfinished job uses") {
		t.Errorf("the answer is %s", answer.Body)
	}
	a.Do("DELETE", "/api/schedules/"+two.Get("schedule_id").Str(), nil).Want(204)
	a.Do("DELETE", "/api/secrets/d", nil).Want(204)
	a.Do("DELETE", "/api/secrets/d", nil).WantProblem(404)
	a.Post("/api/jobs", sending(target.URL, "{{secret.d}}", "")).WantProblem(422)
}

func TestSecrets_KeysRotateBesideARunningService(t *testing.T) {
	t.Parallel()
	first, second := newSecretsKey(t), newSecretsKey(t)
	path := newKeyFile(t, first)
	s := harness.Start(t, harness.Flag("secrets-key-file", path))
	a := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	putSecret(a.Client, "k", "value-of-k").Want(201)
	signing := qstash(t, a, "GET", "/v2/keys", "", nil)
	writeKeyFile(t, path, second, first)
	rotated := command(t, s, "secrets", "rotate-key", "--secrets-key-file", path, "--json")
	if rotated.Get("reencrypted").Int() < 2 || rotated.Get("unreadable").Int() != 0 {
		t.Errorf("the first rotation: %s", rotated.Raw())
	}
	if again := command(t, s, "secrets", "rotate-key", "--secrets-key-file", path, "--json"); again.Get("reencrypted").Int() != 0 {
		t.Errorf("the second rotation: %s", again.Raw())
	}
	send := func(when, value string) {
		t.Helper()
		finished(t, a.Client, sending(target.URL, "{{secret.k}}", ""), "completed")
		hits := target.Hits()
		hit := hits[len(hits)-1]
		if got := hit.Header.Get("X-Key"); got != value {
			t.Errorf("%s %q is sent", when, got)
		}
		wantSigned(t, hit, a.Secret)
	}
	send("with both keys", "value-of-k")
	writeKeyFile(t, path, second)
	putSecret(a.Client, "k", "new-value-of-k").Want(200)
	s.Stop()
	s.Restart(t)
	send("with the new key only", "new-value-of-k")
	secrets := a.Get("/api/account/signing-secrets").Want(200).Data()
	wantSame(t, "the signing secret", secrets.Get("0.secret"), `"`+a.Secret+`"`)
	wantSame(t, "the keys that sign tokens", qstash(t, a, "GET", "/v2/keys", "", nil), string(signing))
	if r := s.TryCommand(t, "keys", "qstash", a.Email); r.Code != 1 || !strings.Contains(r.Stderr, "--secrets-key-file") {
		t.Errorf("the token without the key: %+v", r)
	}
	if r := s.TryCommand(t, "accounts", "show", a.Email); r.Code != 1 || !strings.Contains(r.Stderr, "--secrets-key-file") {
		t.Errorf("without the key: %+v", r)
	}
	shown := command(t, s, "accounts", "show", a.Email, "--json", "--secrets-key-file", path)
	wantSame(t, "what the command shows", shown.Get("signing_secrets"), `["`+a.Secret+`"]`)
	// With another key the service starts, says so and sends nothing.
	writeKeyFile(t, path, first)
	s.Stop()
	s.Restart(t)
	harness.Eventually(t, soon, "a log of secrets that can't be decrypted",
		func() bool { return strings.Contains(s.Stderr(), "secrets can't be decrypted") })
	sent := len(target.Hits())
	_, payload := finished(t, a.Client, sending(target.URL, "{{secret.k}}", ""), "discarded")
	wantSame(t, "the kind", payload.Get("kind"), `"secret"`)
	wantSame(t, "the signing secret", a.Get("/api/account/signing-secrets").Want(200).Data().Get("0.secret"), "null")
	if len(target.Hits()) != sent {
		t.Error("a request was sent")
	}
	if status, text := qstashStatus(t, a, "GET", "/v2/keys", "", nil); status != 409 || !strings.Contains(text, "--secrets-key-file") {
		t.Errorf("the keys that sign tokens: %d %s", status, text)
	}
	if rotated := qstash(t, a, "POST", "/v2/keys/rotate", "", nil); len(rotated.Get("next").Str()) < 40 {
		t.Errorf("the keys that sign tokens, rotated: %s", rotated)
	}
	if n := metric(t, a.Client, "punctual_secrets_unreadable"); n < 2 {
		t.Errorf("%v secrets are counted as unreadable", n)
	}
	if r := s.TryCommand(t, "secrets", "rotate-key", "--secrets-key-file", path); r.Code != 1 ||
		!strings.Contains(r.Stderr, "can't be decrypted") {
		t.Errorf("a rotation with the wrong key: %+v", r)
	}
}

func TestSecrets_SigningSecretsAreEncryptedOnStart(t *testing.T) {
	t.Parallel()
	s := harness.Prepare(t, harness.Database(inFile(t)), harness.Flag("secrets-key-file", newKeyFile(t)))
	a := s.Account(t)
	path := strings.TrimPrefix(s.DatabaseURL, "sqlite:")
	if text, err := os.ReadFile(path); err != nil || !bytes.Contains(text, []byte(a.Secret)) {
		t.Fatalf("the command without a key has encrypted the signing secret: %v", err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	a.Client = s.Client(t, a.Key)
	wantSame(t, "the signing secret", a.Get("/api/account/signing-secrets").Want(200).Data().Get("0.secret"), `"`+a.Secret+`"`)
	if code := s.Stop(); code != 0 {
		t.Fatalf("the service ended with status %d", code)
	}
	for _, file := range []string{path, path + "-wal"} {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(a.Secret)) {
			t.Errorf("%s still has the signing secret", filepath.Base(file))
		}
	}
}

func TestSecrets_TokensAreFetchedThroughTheGuard(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	target, login := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	fetched := 0
	login.Respond(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched++
		harness.JSONReply(fmt.Sprintf(`{"access_token":"token-%d-xyz","expires_in":3600}`, fetched)).ServeHTTP(w, nil)
	}))
	a.Do("PUT", "/api/secrets/o", `{"hosts":["127.0.0.1"],"oauth2":{"token_url":"`+login.URL+
		`","client_id":"c","client_secret":"hush-hush-hush"}}`).Want(201)
	target.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "token-2-xyz" {
			w.WriteHeader(401)
		}
		_, _ = w.Write([]byte(r.Header.Get("X-Key")))
	}))
	for range 3 {
		_, payload := finished(t, a.Client, sending(target.URL, "{{secret.o}}", ""), "completed")
		wantSame(t, "the response", payload.Get("body"), `"***"`)
	}
	if got := len(login.Hits()); got != 2 {
		t.Errorf("%d tokens were fetched", got)
	}
	login.Respond(harness.Redirect(307, target.URL))
	a.Do("PUT", "/api/secrets/o", `{"hosts":["127.0.0.1"],"oauth2":{"token_url":"`+login.URL+
		`","client_id":"c","client_secret":"hush-hush-hush"}}`).Want(200)
	sent := len(target.Hits())
	_, payload := finished(t, a.Client, sending(target.URL, "{{secret.o}}", ""), "discarded")
	wantSame(t, "the kind", payload.Get("kind"), `"secret"`)
	if len(target.Hits()) != sent {
		t.Error("the redirect of the token URL was followed, or a request sent")
	}
}

func TestMask_HidesCredentialsInHeaders(t *testing.T) {
	t.Parallel()
	a := account(t)
	const value = "Bearer not-for-everyone"
	target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(200, "text/plain", "", "Set-Cookie", "a="+value))
	job, _ := finished(t, a.Client, `{"url":"`+target.URL+`","schedule_in":0,"repeat_every":3600,"headers":{"Authorization":"`+value+
		`","x-plain":"shown"}}`, "completed")
	number, schedule := job.Get("job_id").Raw(), "/api/schedules/"+job.Get("schedule_id").Str()
	log := "/api/logs/" + logsOf(a.Client, job)[0].Get("id").Str()
	for _, path := range []string{"/api/jobs", jobPath(job), "/api/schedules", schedule, "/api/logs?job_id=" + number, log,
		"/api/logs/export?job_id=" + number} {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		if text := string(a.Get(path).Want(200).Body); !strings.Contains(text, value) {
			t.Errorf("%s hides the value unasked: %s", path, text)
		}
		if text := string(a.Get(path + separator + "mask=false").Want(200).Body); !strings.Contains(text, value) {
			t.Errorf("%s hides the value with mask=false: %s", path, text)
		}
		text := string(a.Get(path + separator + "mask=true").Want(200).Body)
		if strings.Contains(text, value) || !strings.Contains(text, `"***"`) || !strings.Contains(text, "shown") {
			t.Errorf("%s with mask=true: %s", path, text)
		}
		a.Get(path + separator + "mask=yes").WantProblem(422).WantParameters("mask")
	}
}
