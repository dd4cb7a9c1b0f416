package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// complete returns the address in a request at which its attempt is completed.
func complete(r *http.Request) string { return r.Header.Get("X-Punctual-Complete") }

func TestCompletion_TheAddressGoesToTheTargetOnly(t *testing.T) {
	t.Parallel()
	owner, _ := completions(t)
	target := harness.SharedTarget(t).Route(t)
	elsewhere := strings.Replace(target.URL, "127.0.0.1", "localhost", 1)
	target.RespondOnce(harness.Redirect(307, target.URL+"/same"), harness.Redirect(307, elsewhere+"/other"),
		harness.Redirect(307, target.URL+"/back"))
	finished(t, owner.Client, `{"url":"`+target.URL+`","retries":0,"completion":{"within":60}}`, "completed")
	hits := target.Hits()
	if len(hits) != 4 {
		t.Fatalf("%d requests were sent", len(hits))
	}
	for i, sent := range []bool{true, true, false, false} {
		if got := hits[i].Header.Get("X-Punctual-Complete"); (got != "") != sent {
			t.Errorf("%s received %q", hits[i].Path, got)
		}
	}
}

func TestCompletion_TheTokenIsNeverShown(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	receiver := harness.SharedTarget(t).Route(t)
	target := harness.SharedTarget(t).Route(t)
	members := `"url":"` + target.URL + `","retries":0,"completion":{"within":600},"callback_url":"` + receiver.URL + `","webhook_url":"` +
		receiver.URL + `"`
	awaited := func() (job harness.JSON, address string) {
		t.Helper()
		before := len(target.Hits())
		job = create(owner.Client, `{`+members+`}`)
		address = publicURL + completionPath(t, target.Await(t, before+1, soon)[before])
		harness.Eventually(t, soon, "the 202 to be stored", func() bool { return awaitsCompletion(owner.Client, job) })
		return job, address
	}
	var tokens []string
	tokenOf := func(address string) string {
		tokens = append(tokens, address[strings.LastIndex(address, "/")+1:])
		return tokens[len(tokens)-1]
	}

	// In a 202, in its body and its header.
	target.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := complete(r)[strings.LastIndex(complete(r), "/")+1:]
		w.Header().Set("X-Echo", complete(r))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`{"at":"` + complete(r) + `","token":"` + token + `"}`))
	}))
	job, address := awaited()
	payload := logsOf(owner.Client, job)[1].Get("payload")
	wantSame(t, "the body", payload.Get("body"), `{"at":"***","token":"***"}`)
	wantSame(t, "the header", payload.Get("headers.X-Echo"), `"***"`)
	// In reports.
	path := "/api/completions/" + tokenOf(address)
	anyone.Post(path, `{"progress":5,"message":"I report to `+address+`"}`).Want(200)
	anyone.Post(path, `{"result":{"`+tokens[0]+`":"`+address+`"}}`).Want(200)
	job = awaitState(t, owner.Client, job, "completed")

	// In a content coding that the job asks for, and in one that it doesn't.
	target.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(gzipped([]byte(complete(r))))
	}))
	members += `,"headers":{"accept-encoding":"gzip"}`
	coded, address := awaited()
	wantSame(t, "what is stored", logsOf(owner.Client, coded)[1].Get("payload.body"), `null`)
	anyone.Post("/api/completions/"+tokenOf(address), `{"error":"`+address+`","retry":false}`).Want(200)
	awaitState(t, owner.Client, coded, "discarded")

	// In the failure of a redirect.
	target.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := complete(r)[strings.LastIndex(complete(r), "/")+1:]
		http.Redirect(w, r, "https://a"+token+"z.invalid/", http.StatusTemporaryRedirect)
		tokens = append(tokens, token)
	}))
	failed, _ := finished(t, owner.Client, `{`+members+`}`, "discarded")

	texts := map[string][]byte{}
	for i, hit := range receiver.Await(t, 12, soon) {
		texts[hit.Path+" "+string(rune('a'+i))] = hit.Body
	}
	for _, record := range []harness.JSON{job, coded, failed} {
		texts[jobPath(record)] = owner.Get(jobPath(record) + "/details").Want(200).Body
		texts["the logs of "+jobPath(record)] = owner.Get("/api/logs?job_id=" + record.Get("job_id").Raw()).Want(200).Body
	}
	for where, text := range texts {
		for _, token := range tokens {
			if bytes.Contains(text, []byte(token)) {
				t.Errorf("%s shows the token %s: %.300s", where, token, text)
			}
		}
	}
}
