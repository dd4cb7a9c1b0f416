package nodes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestCompletion_AwaitingJobsOutliveTheirNode kills the nodes whose targets have
// responded with 202. Nothing is sent again; another node takes the reports and ends
// the attempts of silent targets.
func TestCompletion_AwaitingJobsOutliveTheirNode(t *testing.T) {
	t.Parallel()
	c := startClusterWith(t, []harness.Option{harness.Flag("public-url", publicURL)}, same(pgtest.URL(t), 3)...)
	c.Target.Respond(harness.Status(http.StatusAccepted))
	c.steady(t)
	const jobs = 20
	state := func(number int64) string {
		a, err := c.call(context.Background(), c.Nodes[2], http.MethodGet, fmt.Sprintf("/api/jobs/%d", number), "")
		if err != nil || a.status != http.StatusOK {
			return fmt.Sprint(a, err)
		}
		return harness.JSON(a.body).Get("data.job.state").Str()
	}
	numbers := map[string]int64{} // by the job's id in the request
	var silent []int64
	for i := range jobs {
		numbers[fmt.Sprint(c.create(t, c.Nodes[i%2], `"completion":{"within":[1,"hour"]}`).Number)] = 0
	}
	for i := range 4 {
		silent = append(silent, c.create(t, c.Nodes[i%2], `"retries":0,"completion":{"within":3}`).Number)
	}
	paths := map[string]string{}
	for _, hit := range c.Target.AwaitEnds(t, jobs+len(silent), 20*time.Second) {
		paths[hit.Header.Get("X-Punctual-Job-Id")] = strings.TrimPrefix(hit.Header.Get("X-Punctual-Complete"), publicURL)
	}
	harness.Eventually(t, 10*time.Second, "all jobs to await their completion", func() bool {
		a, err := c.call(context.Background(), c.Nodes[2], http.MethodGet, "/api/logs?event=worker.http.response&limit=100", "")
		return err == nil && strings.Count(string(a.body), `"awaiting":true`) == jobs+len(silent)
	})
	c.Nodes[0].Kill()
	c.Nodes[1].Kill()
	for _, number := range silent {
		harness.Eventually(t, 20*time.Second, "a silent target's job to be discarded", func() bool { return state(number) == "discarded" })
	}
	for number := range numbers {
		var id int64
		_, _ = fmt.Sscan(number, &id)
		if got := state(id); got != "executing" {
			t.Errorf("job %s is %s", number, got)
		}
		a, err := c.call(context.Background(), c.Nodes[2], http.MethodPost, paths[number], `{"result":{"by":"another node"}}`)
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("reporting: %v %+v", err, a)
		}
		if got := state(id); got != "completed" {
			t.Errorf("job %s is %s after its result", number, got)
		}
	}
	if n := len(c.Target.Hits()); n != jobs+len(silent) {
		t.Errorf("the target got %d requests, want %d", n, jobs+len(silent))
	}
}

// TestCompletion_ReportsAreMaskedOnEveryNode verifies that a node that has sent nothing
// masks the token of OAuth2 that another node has fetched, and the values that secrets
// had when the request was sent.
func TestCompletion_ReportsAreMaskedOnEveryNode(t *testing.T) {
	t.Parallel()
	c := startClusterWith(t, []harness.Option{harness.Flag("public-url", publicURL), harness.SecretsKey(t)}, same(pgtest.URL(t), 2)...)
	c.steady(t)
	login := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"access_token":"token-of-one-node","expires_in":3600}`))
	call := func(n *Node, method, path, body string, status int) harness.JSON {
		t.Helper()
		a, err := c.call(context.Background(), n, method, path, body)
		if err != nil || a.status != status {
			t.Fatalf("%s %s: %v, %+v", method, path, err, a)
		}
		return harness.JSON(a.body)
	}
	store := func(value string, status int) {
		t.Helper()
		call(c.Nodes[0], http.MethodPut, "/api/secrets/word", `{"hosts":["127.0.0.1"],"value":"`+value+`"}`, status)
		call(c.Nodes[0], http.MethodPut, "/api/secrets/o",
			`{"hosts":["127.0.0.1"],"oauth2":{"token_url":"`+login.URL+`","client_id":"c","client_secret":"client-`+value+`"}}`, status)
	}
	store("former-value", http.StatusCreated)
	c.Target.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, r.Header.Get("X-Key")+" "+r.Header.Get("X-Word"))
	}))
	const members = `"headers":{"X-Key":"{{secret.o}}","X-Word":"{{secret.word}}"},"completion":{"within":600}`
	number := c.create(t, c.Nodes[0], members).Number
	hit := c.Target.AwaitEnds(t, 1, 20*time.Second)[0]
	if hit.Header.Get("X-Key") != "token-of-one-node" || hit.Header.Get("X-Word") != "former-value" {
		t.Fatalf("sent %v", hit.Header)
	}
	store("newer-value", http.StatusOK)
	path := strings.TrimPrefix(hit.Header.Get("X-Punctual-Complete"), publicURL)
	for _, n := range c.Nodes {
		got := call(n, http.MethodPost, path, `{"progress":1,"message":"token-of-one-node, former-value, newer-value"}`, http.StatusOK)
		if got := got.Get("data.progress.message").Str(); got != "***, ***, ***" {
			t.Errorf("%s stores %q", n.Name, got)
		}
	}
	for _, n := range c.Nodes {
		call(n, http.MethodPost, path, `{"result":["token-of-one-node","former-value"]}`, http.StatusOK)
	}
	logs := call(c.Nodes[1], http.MethodGet, fmt.Sprintf("/api/logs?job_id=%d", number), "", http.StatusOK)
	if text := logs.Raw(); strings.Contains(text, "token-of-one-node") || strings.Contains(text, "former-value") ||
		!strings.Contains(text, `"result":["***","***"]`) {
		t.Errorf("the logs are %s", text)
	}
}
