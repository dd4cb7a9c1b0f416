package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// honest responds with the request's header X-Key and X-Punctual-Complete, as servers do
// that implement content codings and ranges.
var honest = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	text := []byte("you sent " + r.Header.Get("X-Key") + " " + r.Header.Get("X-Punctual-Complete"))
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		gzipping(w, text)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
})

// gzipping responds with a text in gzip.
func gzipping(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(gzipped(text))
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

func TestSecrets_NoCodingOrRangeHidesThem(t *testing.T) {
	t.Parallel()
	const value = "value-of-a-secret"
	_, a := sealedService(t)
	putSecret(a.Client, "k", value).Want(201)
	target := harness.SharedTarget(t).Route(t).Respond(honest)
	for _, header := range []string{`"accept-encoding":"gzip"`, `"Accept-Encoding":["br","gzip;q=1"]`, `"range":"bytes=0-20"`,
		`"Range":"bytes=12-","If-Range":"\"a\""`} {
		_, payload := finished(t, a.Client, `{"url":"`+target.URL+`","retries":0,"headers":{"X-Key":"{{secret.k}}",`+header+`}}`,
			"completed")
		if wantSame(t, "the body after "+header, payload.Get("body"), `"you sent *** "`); payload.Get("withheld").Raw() == "true" {
			t.Errorf("after %s: %s", header, payload.Raw())
		}
	}
	for _, hit := range target.Hits() {
		if hit.Header.Get("Accept-Encoding") != "identity" || hit.Header.Get("Range") != "" || hit.Header.Get("If-Range") != "" {
			t.Errorf("sent %v", hit.Header)
		}
	}
	// Without secrets the job's headers are sent as they are.
	_, payload := finished(t, a.Client, `{"url":"`+target.URL+`","retries":0,"headers":{"X-Key":"plain","range":"bytes=0-2"}}`, "completed")
	wantSame(t, "a part", payload.Get("body"), `"you"`)

	// What a target encodes unasked is not stored.
	receiver := harness.SharedTarget(t).Route(t)
	target.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { gzipping(w, []byte(r.Header.Get("X-Key"))) }))
	_, payload = finished(t, a.Client, sending(target.URL, "{{secret.k}}", `"callback_url":"`+receiver.URL+`","webhook_url":"`+receiver.URL+
		`"`), "completed")
	wantSame(t, "the body", payload.Get("body"), `null`)
	wantSame(t, "the marker", payload.Get("withheld"), `true`)
	encoded := base64.StdEncoding.EncodeToString(gzipped([]byte(value)))
	for _, hit := range receiver.Await(t, 5, soon) {
		if bytes.Contains(hit.Body, []byte(encoded)) {
			t.Errorf("a receiver gets %s", hit.Body)
		}
	}
}

func TestSecrets_GoOverHTTPOnlyIfPermitted(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t, harness.Flag("allow-http-targets", "true"))
	var hits atomic.Int64
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		_, _ = w.Write([]byte(r.Header.Get("X-Key")))
	}))
	t.Cleanup(plain.Close)
	put := func(http string) *harness.Answer {
		return a.Do("PUT", "/api/secrets/k", `{"value":"value-of-k","hosts":["127.0.0.1"]`+http+`}`)
	}
	body := sending(plain.URL, "{{secret.k}}", "")
	put("").Want(201)
	wantKeys(t, "the secret", a.Get("/api/secrets/k").Want(200).Data(), "name", "hosts", "created_at", "updated_at")
	a.Post("/api/jobs", body).WantProblem(422).WantPointers("#/headers/X-Key")
	a.Post("/api/jobs/batch", "["+body+"]").WantProblem(422).WantPointers("#/0/headers/X-Key")
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, sending(target.URL, "{{secret.k}}", `"schedule_in":3600`))
	a.Do("PATCH", jobPath(job), `{"url":"`+plain.URL+`"}`).WantProblem(422).WantPointers("#/headers/X-Key")
	put(`,"http":"yes"`).WantProblem(422).WantPointers("#/http")

	wantSame(t, "http", put(`,"http":true`).Want(200).Data().Get("http"), `true`)
	wantSame(t, "http in the list", a.Get("/api/secrets").Want(200).Data().Get("0.http"), `true`)
	_, payload := finished(t, a.Client, body, "completed")
	wantSame(t, "the body", payload.Get("body"), `"***"`)
	pending := create(a.Client, sending(plain.URL, "{{secret.k}}", `"schedule_in":3600`))
	put(`,"http":false`).Want(200)
	a.Post(jobPath(pending)+"/run", nil).Want(200)
	pending = awaitState(t, a.Client, pending, "discarded")
	wantSame(t, "the kind", logsOf(a.Client, pending)[1].Get("payload.kind"), `"secret"`)
	// No redirect leads from https to http.
	put(`,"http":true`).Want(200)
	target.Respond(harness.Redirect(307, plain.URL))
	_, payload = finished(t, a.Client, sending(target.URL, "{{secret.k}}", ""), "discarded")
	wantSame(t, "the kind", payload.Get("kind"), `"redirect"`)
	if n := hits.Load(); n != 1 {
		t.Errorf("%d requests were sent over http", n)
	}
}

func TestSecrets_ErrorsDontRepeatTheBody(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	const value = "s3cr3t-v4lue"
	const json, form = "application/json", "application/x-www-form-urlencoded"
	for _, c := range []struct {
		kind, body string
		status     int
	}{
		{form, `{"value":"` + value + `","hosts":["api.github.com"]}`, 422},
		{form, `{"value":"` + value + `"}`, 422},
		{form, ` ["` + value + `"]`, 422},
		{form, "%7B%22value%22:%22" + value, 422},
		{form, value, 422},
		{form, value + "[", 400},
		{form, value + "=1&" + value + "=2", 400},
		{form, value + "%zz", 400},
		{form, value + strings.Repeat("[a]", 200) + "=1", 422},
		{json, `{"value":"` + value + `"x}`, 400},
		{json, value, 400},
		{json, `"` + value, 400},
		{json, `"` + value + `"`, 422},
		{json, `{"` + value + `":1}`, 422},
		{json, `{"` + value + `":1,"` + value + `":2}`, 400},
		{json, `{"` + value + `":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, 422},
		{json, `{"value":["` + value + `"],"hosts":["` + value + `:1"],"http":"` + value + `"}`, 422},
		{json, `{"hosts":["a.example"],"oauth2":{"` + value + `":1,"token_url":"` + value + `","client_id":["` + value + `"]}}`, 422},
		{json, `{"hosts":["a.example"],"oauth2":{"token_url":"https://` + value + `:0/","client_id":"a","client_secret":"b"}}`, 422},
		{"text/" + value, value, 415},
	} {
		for _, path := range []string{"/api/secrets/k", "/api/secrets/%20"} {
			answer := a.Do("PUT", path, c.body, harness.Header("Content-Type", c.kind)).WantProblem(c.status)
			if text := strings.ToLower(string(answer.Body)); strings.Contains(text, "s3cr3t") || strings.Contains(text, "v4lue") {
				t.Errorf("the answer to %.80q repeats it: %s", c.body, text)
			}
		}
	}
	for _, path := range []string{"/api/secrets/k", "/api/limits/k", "/api/schedules/key:k", "/api/alerts/k"} {
		wantTypeNamed(t, a.Do("PUT", path, `{"rate":{"calls":1},"hosts":["a"]}`, harness.Header("Content-Type", form)))
	}
	job := create(a.Client, `{"url":"https://example.com/","schedule_in":3600}`)
	wantTypeNamed(t, a.Do("PATCH", jobPath(job), `{"tags":["a"]}`, harness.Header("Content-Type", form)))
}

// wantTypeNamed verifies the answer to JSON that is sent as a form.
func wantTypeNamed(t *testing.T, answer *harness.Answer) {
	t.Helper()
	answer.WantProblem(422).WantPointers("#")
	if text := string(answer.Body); !strings.Contains(text, "Content-Type: application/json") {
		t.Errorf("the answer doesn't say what to send: %s", text)
	}
}

// issuing responds with access tokens and a name for each of them.
func issuing(name string) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		harness.JSONReply(fmt.Sprintf(`{"access_token":"token-%s-%d","expires_in":3600}`, name, n.Add(1))).ServeHTTP(w, nil)
	})
}

func TestSecrets_ReportsAreMaskedWhateverBecameOfTheSecrets(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Database(inFile(t)), harness.Flag("secrets-key-file", newKeyFile(t)),
		harness.Flag("public-url", publicURL))
	a := s.Account(t)
	login := harness.SharedTarget(t).Route(t).Respond(issuing("old"))
	rotate := func(status int, value string) {
		t.Helper()
		putSecret(a.Client, "word", value).Want(status)
		a.Do("PUT", "/api/secrets/o", `{"hosts":["127.0.0.1"],"oauth2":{"token_url":"`+login.URL+`","client_id":"c","client_secret":"hush-`+
			value+`"}}`).Want(status)
	}
	rotate(201, "former-value")
	job, target, path := accepting(t, a.Client, `"retries":0,"completion":{"within":600},"headers":{"X-Key":"{{secret.word}}","X-Token":"{{secret.o}}"}`)
	if got := target.Hits()[0].Header; got.Get("X-Key") != "former-value" || got.Get("X-Token") != "token-old-1" {
		t.Fatalf("sent %v", got)
	}
	login.Respond(issuing("new"))
	rotate(200, "newer-value")
	s.Stop()
	s.Restart(t)
	a.Client = s.Client(t, a.Key)
	anyone := s.Client(t, "")
	token := path[strings.LastIndex(path, "/")+1:]
	progress := anyone.Post(path, `{"progress":1,"message":"former-value, token-old-1, newer-value and `+publicURL+path+
		`"}`).Want(200).Data()
	wantSame(t, "the message", progress.Get("progress.message"), `"***, ***, *** and `+publicURL+`/api/completions/***"`)
	report := `{"result":{"former-value":["token-old-1","newer-value"],"at":"` + token + `"}}`
	for range 2 {
		anyone.Post(path, report).Want(200)
		job = awaitState(t, a.Client, job, "completed")
	}
	anyone.Post(path, `{"result":{"***":["***","***"],"at":"***"}}`).WantProblem(409)
	logs := logsOf(a.Client, job)
	wantSame(t, "the result", logs[len(logs)-1].Get("payload.result"), `{"***":["***","***"],"at":"***"}`)
}
