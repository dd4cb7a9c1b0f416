package e2e

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestAPI_PingReturnsPong(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Client(t, "")
	wantSame(t, "ping", c.Get("/api/ping").Want(200).JSON, `{"message":"Pong"}`)
}

func TestAPI_EchoReturnsItsJSONBody(t *testing.T) {
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

func TestAPI_BroadcastReturnsTheSameObject(t *testing.T) {
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

func TestAPI_HealthzAndReadyzReportAServiceThatIsUp(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Client(t, "").Get("/healthz").Want(200)
	awaitReady(t, s)
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

func TestAPI_DocumentIsValidAndComplete(t *testing.T) {
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

func TestAPI_DocsAreAReadableReference(t *testing.T) {
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
