package e2e

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// spellingsOf returns a marker as records, pages and files could have it.
func spellingsOf(marker string) []string {
	all := []string{marker}
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + marker))
		all = append(all, encoded[4:len(encoded)-8])
	}
	return all
}

// wantUnseen looks for markers in texts.
func wantUnseen(t *testing.T, texts map[string]string, markers ...string) {
	t.Helper()
	for where, text := range texts {
		if text == "" {
			t.Errorf("%s is empty", where)
		}
		for _, marker := range markers {
			for _, spelling := range spellingsOf(marker) {
				if at := strings.Index(text, spelling); at >= 0 {
					t.Errorf("%s shows %s: %.300s", where, marker, text[max(0, at-150):])
				}
			}
		}
	}
}

// TestRedact_IsSentAndNeverShown runs a schedule twice, of which all is hidden: what its
// second run sends comes from the hidden response to the first.
func TestRedact_IsSentAndNeverShown(t *testing.T) {
	t.Parallel()
	const body, header, answer = "b0dy-nobody-may-see", "h3ader-nobody-may-see", "answ3r-nobody-may-see"
	s := harness.Start(t, harness.Flag("secrets-key-file", newKeyFile(t)), harness.Flag("log-level", "debug"), harness.Database(inFile(t)))
	a := s.Account(t)
	reader := s.Client(t, a.Key)
	target := harness.SharedTarget(t).Route(t).Respond(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Answer", answer)
		_, _ = fmt.Fprintf(w, `{"cursor":"%s","$set":{"seen":1}}`, answer)
	}))
	receiver := harness.SharedTarget(t).Route(t)
	events := follow(t, a.Client, "")
	job := create(a.Client, `{"url":"`+target.URL+`","method":"post","repeat_every":[1,"hour"],"body":{"a":"`+body+
		`","from":"$previous.cursor"},
		"query":{"after":"$previous.cursor"},"headers":{"X-Key":"`+header+`","X-Open":"o"},"redact":["body","response","header:x-key"],
		"idempotency_key":"hidden","callback_url":"`+receiver.URL+`","webhook_url":"`+receiver.URL+`"}`)
	wantSame(t, "the record's body", job.Get("args.body"), `"[redacted]"`)
	wantSame(t, "the record's headers", job.Get("args.headers"), `{"X-Key":"[redacted]","X-Open":"o"}`)
	awaitState(t, a.Client, job, "completed")
	schedule := schedulePath(job)
	next := a.Post(schedule+"/run", nil).Want(200).Data()
	awaitState(t, a.Client, next, "completed")
	hits := target.Await(t, 2, soon)
	sent := harness.JSON(hits[1].Body)
	if sent.Get("a").Str() != body || sent.Get("from").Str() != answer || hits[1].Header.Get("X-Key") != header ||
		!strings.Contains(hits[1].RawQuery, answer) {
		t.Errorf("the second run sent %s with %v to %s", hits[1].Body, hits[1].Header, hits[1].RawQuery)
	}
	wantSame(t, "$state", a.Get(schedule+"/state").Want(200).Data(), `{"state":{"seen":1},"previous":"[redacted]"}`)
	logs := logsOf(a.Client, next)
	wantSame(t, "the request's log", logs[0].Get("payload.headers"), `{"X-Key":"[redacted]","X-Open":"o"}`)
	if response := logs[1].Get("payload"); response.Get("status").Int() != 200 || response.Get("body").Str() != "[redacted]" ||
		response.Get("headers.X-Answer").Str() != "[redacted]" {
		t.Errorf("the response's log is %s", response.Raw())
	}
	texts := map[string]string{"standard output": s.Stdout() + "-", "standard error": s.Stderr()}
	for i, hit := range receiver.Await(t, 10, soon) {
		texts[fmt.Sprint("message ", i)] = string(hit.Body)
	}
	for _, path := range []string{
		"/api/jobs", "/api/jobs?q=nobody", jobPath(next), jobPath(next) + "/details", jobPath(next) + "/revisions", "/api/logs",
		"/api/logs/export", "/api/schedules", schedule, schedule + "/details",
		schedule + "/revisions", schedule + "/state", "/api/export", "/api/stats", "/metrics",
	} {
		texts[path] = string(reader.Get(path).Want(200).Body)
	}
	if strings.Contains(texts["/api/jobs?q=nobody"], `"job_id"`) {
		t.Error("a search finds what is hidden")
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
	path := strings.TrimPrefix(s.DatabaseURL, "sqlite:")
	for _, file := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	wantUnseen(t, texts, body, header, answer)

	// What was exported can be applied, and stays.
	document := string(a.Get("/api/export").Want(200).Body)
	applied := string(a.Post("/api/apply", document).Want(200).Body)
	if !strings.Contains(applied, `"result":"unchanged"`) || strings.Contains(applied, `"result":"changed"`) {
		t.Errorf("applying the export: %s", applied)
	}
	a.Do("PATCH", schedule, `{"name":"n","body":"[redacted]","headers":{"X-Key":"[redacted]","X-Open":"p"}}`).Want(200)
	a.Do("PATCH", schedule, `{"redact":["response"]}`).WantProblem(422)
	s.Kill()
	s.Restart(t)
	again := a.Post(jobPath(next)+"/rerun", nil).Want(201).Data()
	awaitState(t, a.Client, again, "completed")
	a.Post(schedule+"/run", nil).Want(200)
	for _, hit := range target.Await(t, 4, soon)[2:] {
		if hit.Header.Get("X-Key") != header || harness.JSON(hit.Body).Get("a").Str() != body {
			t.Errorf("after a crash and an edit: sent %s with %v", hit.Body, hit.Header)
		}
	}
}

// TestRedact_ThePublicPagesShowNothing also fails the job with $fail.
func TestRedact_ThePublicPagesShowNothing(t *testing.T) {
	t.Parallel()
	const body, answer = "b0dy-of-a-public-job", "answ3r-to-a-public-job"
	s := harness.Shared(t)
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t).Respond(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"$fail":"`+answer+`"}`)
	}))
	job := create(c, `{"url":"`+target.URL+`","method":"post","retries":0,"body":"`+body+`","headers":{"X-Key":"`+body+
		`"},"redact":["body","response","headers"],"name":"hidden"}`)
	awaitState(t, c, job, "discarded")
	logs := logsOf(c, job)
	texts := map[string]string{"logs": fmt.Sprint(logs)}
	wantSame(t, "the failure", logs[1].Get("payload.error"), `{"kind":"answer","message":"[redacted]"}`)
	number := job.Get("job_id").Raw()
	for _, page := range []string{"/public/jobs/" + number, "/public/jobs/" + number + "/text/body",
		"/public/jobs/" + number + "/text/args", "/public/jobs", "/public/logs", "/public/attempts"} {
		texts[page] = pageOf(t, s.URL()+page)
	}
	if !strings.Contains(texts["/public/jobs/"+number], "[redacted]") {
		t.Error("the page does not say that something is hidden")
	}
	wantUnseen(t, texts, body, answer)
}

// pageOf returns a page of the dashboard, which the API's document does not describe.
func pageOf(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", url, response.StatusCode, err)
	}
	return string(text)
}
