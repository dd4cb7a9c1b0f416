package e2e

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestPingAnswersPong(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Client(t, "")
	wantSame(t, "ping", c.Get("/api/ping").Want(200).JSON, `{"message":"Pong"}`)
}

func TestEchoGivesBackItsJSONBody(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Client(t, "")
	for name, passage := range passages {
		t.Run(name, func(t *testing.T) {
			answer := c.For(t).Post("/api/echo", passage).Want(200)
			wantSame(t, "the answer", answer.JSON, passage)
			if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
				t.Errorf("Content-Type is %q", got)
			}
		})
	}
}

func TestBroadcastGivesBackTheSameObject(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Client(t, "")
	for _, object := range []string{
		`{}`, `{"content":"hi","author":"alex","channel":"general"}`, `{"channel":"","author":"\u0000"}`,
		`{"z":1.10,"content":"x","a":{"b":[12345678901234567890]}}`,
	} {
		wantSame(t, "the answer", c.Post("/api/broadcast", object).Want(200).JSON, object)
	}
	form := c.Post("/api/broadcast", "content=hi&author=alex", harness.ContentType("application/x-www-form-urlencoded"))
	wantSame(t, "the answer to a form", form.Want(200).JSON, `{"content":"hi","author":"alex"}`)
	c.Post("/api/broadcast", `{"content":1,"author":[],"channel":{}}`).WantPointers("#/content", "#/author", "#/channel")
}

func TestHealthzAndReadyzSayThatTheServiceIsUp(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Client(t, "")
	c.Get("/healthz").Want(200)
	c.Get("/readyz").Want(200)
}

// One line of the Prometheus text format: a comment, or a name, labels and a value.
var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\.)*",?)*\})? ` +
		`([+-]?(\d+(\.\d+)?([eE][+-]?\d+)?|Inf)|NaN)( -?\d+)?$`)
	typeLine = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$`)
	helpLine = regexp.MustCompile(`^# HELP [a-zA-Z_:][a-zA-Z0-9_:]* \S`)
)

func TestMetricsAreInPrometheusTextAndBeginWithPunctual(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+`"}`), "completed")
	answer := a.Get("/metrics").Want(200)
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
		t.Errorf("Content-Type is %q", got)
	}
	families, own := map[string]bool{}, 0
	for line := range strings.Lines(string(answer.Body)) {
		line = strings.TrimSuffix(line, "\n")
		if found := typeLine.FindStringSubmatch(line); found != nil {
			families[found[1]] = true
			continue
		}
		if line == "" || helpLine.MatchString(line) {
			continue
		}
		found := sampleLine.FindStringSubmatch(line)
		if found == nil {
			t.Errorf("not a line of the text format: %q", line)
			continue
		}
		name := found[1]
		switch {
		case strings.HasPrefix(name, "punctual_"):
			own++
		case !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_"):
			t.Errorf("%s begins with neither punctual_ nor go_ nor process_", name)
		}
		if !families[name] && !families[trimSuffixes(name)] {
			t.Errorf("%s has no TYPE line before it", name)
		}
	}
	if own == 0 {
		t.Errorf("no metric begins with punctual_: %s", answer)
	}
}

// trimSuffixes gives the family of a histogram's or summary's sample.
func trimSuffixes(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if family, ok := strings.CutSuffix(name, suffix); ok {
			return family
		}
	}
	return name
}

// documented are the calls the document must describe.
var documented = map[string][]string{
	"/api/jobs": {"GET", "POST"}, "/api/jobs/{job_id}": {"GET"}, "/api/jobs/{job_id}/cancel": {"POST"},
	"/api/schedules": {"GET"}, "/api/schedules/{schedule_id}": {"GET", "DELETE"},
	"/api/schedules/{schedule_id}/disable": {"POST"}, "/api/schedules/{schedule_id}/enable": {"POST"},
	"/api/logs": {"GET"}, "/api/logs/{log_id}": {"GET"}, "/api/broadcast": {"POST"},
	"/api/ping": {"GET"}, "/api/echo": {"POST"},
	"/healthz": {"GET"}, "/readyz": {"GET"}, "/metrics": {"GET"}, "/openapi.json": {"GET"},
}

func TestOpenAPIDocumentIsValidAndComplete(t *testing.T) {
	t.Parallel()
	answer := harness.Shared(t).Client(t, "").Get("/openapi.json").Want(200)
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") &&
		!strings.HasPrefix(got, "application/vnd.oai.openapi+json") && !strings.HasPrefix(got, "application/openapi+json") {
		t.Errorf("Content-Type is %q", got)
	}
	if got := answer.JSON.Get("openapi").Str(); !strings.HasPrefix(got, "3.1.") {
		t.Errorf("openapi is %q", got)
	}
	doc, err := openapi3.NewLoader().LoadFromIoReader(bytes.NewReader(answer.Body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
	for path, methods := range documented {
		for _, method := range methods {
			item := doc.Paths.Value(path)
			if item == nil || item.GetOperation(method) == nil {
				t.Errorf("the document does not describe %s %s", method, path)
			}
		}
	}
}

func TestDocsAreAReadableReference(t *testing.T) {
	t.Parallel()
	answer := harness.Shared(t).Client(t, "").Get("/docs").Want(200)
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
		t.Errorf("Content-Type is %q", got)
	}
	for path := range documented {
		if !bytes.Contains(answer.Body, []byte(path)) {
			t.Errorf("the reference does not mention %s", path)
		}
	}
}
