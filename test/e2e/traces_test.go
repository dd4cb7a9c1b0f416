package e2e

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// collector is an OpenTelemetry collector.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []*tracepb.Span
	about  []string // attributes of resources as name=value
	header http.Header
	raw    bytes.Buffer
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s got what is no trace: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.header = r.Header
		c.raw.Write(body)
		for _, resource := range data.ResourceSpans {
			for _, a := range resource.Resource.Attributes {
				c.about = append(c.about, a.Key+"="+a.Value.GetStringValue())
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// env returns the variables with which a service sends spans at once.
func (c *collector) env(more ...string) harness.Option {
	return harness.Env(append([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}, more...)...)
}

// of returns the spans with an attribute of a name and a text or number.
func (c *collector) of(name string, text string) []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*tracepb.Span
	for _, s := range c.spans {
		if attribute(s, name) == text {
			found = append(found, s)
		}
	}
	return found
}

func attribute(s *tracepb.Span, name string) string {
	for _, a := range s.Attributes {
		if a.Key != name {
			continue
		}
		if text := a.Value.GetStringValue(); text != "" {
			return text
		}
		return strings.TrimPrefix(strings.TrimSpace(a.Value.String()), "int_value:")
	}
	return ""
}

// parentOf returns the value of traceparent for the requests of a span.
func parentOf(s *tracepb.Span) string {
	return "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
}

// await waits until a job has n spans and returns them.
func (c *collector) await(t *testing.T, job harness.JSON, n int) []*tracepb.Span {
	t.Helper()
	number := job.Get("job_id").Raw()
	harness.Eventually(t, 3*soon, "the spans of the job", func() bool { return len(c.of("punctual.job_id", number)) >= n })
	return c.of("punctual.job_id", number)
}

// attempts returns the spans of attempts of a job, by their number.
func attemptsIn(spans []*tracepb.Span) []*tracepb.Span {
	var found []*tracepb.Span
	for _, s := range spans {
		if s.Kind == tracepb.Span_SPAN_KIND_CLIENT && attribute(s, "punctual.delivery") == "" {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *tracepb.Span) int {
		return strings.Compare(attribute(a, "punctual.attempt"), attribute(b, "punctual.attempt"))
	})
	return found
}

func TestTrace_LeadsFromTheCreateToTheCallback(t *testing.T) {
	t.Parallel()
	col := newCollector(t)
	s := harness.Start(t, col.env("OTEL_SERVICE_NAME=reminders", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test",
		"OTEL_EXPORTER_OTLP_HEADERS=x-tenant=a%20b"))
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(503))
	receiver := harness.SharedTarget(t).Route(t)
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	job := c.Post("/api/jobs", `{"url":"`+target.URL+
		`?token=s3cr3t-query","backoff":[1],"headers":{"authorization":"Bearer s3cr3t-header"},"body":"s3cr3t-body","callback_url":"`+
		receiver.URL+`"}`,
		harness.Header("traceparent", "00-"+trace+"-"+span+"-01")).Want(201).Data()
	hits := target.Await(t, 2, 3*soon)
	callback := receiver.Await(t, 1, 3*soon)[0]
	// The create, two claims, two attempts and the callback; the callback's span
	// ends last.
	spans := col.await(t, job, 6)
	var create, delivery *tracepb.Span
	claims := 0
	for _, s := range spans {
		if got := hex.EncodeToString(s.TraceId); got != trace {
			t.Errorf("the span %s is in trace %s", s.Name, got)
		}
		switch {
		case s.Kind == tracepb.Span_SPAN_KIND_SERVER:
			create = s
		case s.Name == "claim":
			claims++
		case attribute(s, "punctual.delivery") == "callback":
			delivery = s
		}
	}
	attempts := attemptsIn(spans)
	if create == nil || delivery == nil || claims != 2 || len(attempts) != 2 {
		t.Fatalf("the spans are %v", spans)
	}
	if hex.EncodeToString(create.ParentSpanId) != span || create.Name != "POST /api/jobs" ||
		attribute(create, "http.response.status_code") != "201" {
		t.Errorf("the create's span is %v", create)
	}
	for i, a := range attempts {
		if !bytes.Equal(a.ParentSpanId, create.SpanId) {
			t.Errorf("the span of attempt %d is not below the create's", i+1)
		}
		if got := hits[i].Header.Get("traceparent"); got != parentOf(a) {
			t.Errorf("attempt %d has traceparent %q, want %q", i+1, got, parentOf(a))
		}
	}
	if len(attempts[0].Links) != 0 || len(attempts[1].Links) != 1 || !bytes.Equal(attempts[1].Links[0].SpanId, attempts[0].SpanId) {
		t.Errorf("the links are %v and %v, want one from the retry to the first attempt", attempts[0].Links, attempts[1].Links)
	}
	if got := attribute(attempts[0], "error.type"); got != "503" || attempts[0].Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("the failed attempt has error.type %q and the status %v", got, attempts[0].Status)
	}
	if got := attribute(attempts[1], "url.full"); got != target.URL {
		t.Errorf("url.full is %q, want %q", got, target.URL)
	}
	if !bytes.Equal(delivery.ParentSpanId, attempts[1].SpanId) || callback.Header.Get("traceparent") != parentOf(delivery) {
		t.Errorf("the callback's span is %v, its request has traceparent %q", delivery, callback.Header.Get("traceparent"))
	}
	col.mu.Lock()
	defer col.mu.Unlock()
	if bytes.Contains(col.raw.Bytes(), []byte("s3cr3t")) {
		t.Error("the spans have secrets in them")
	}
	if !slices.Contains(col.about, "service.name=reminders") || !slices.Contains(col.about, "deployment.environment.name=test") ||
		col.header.Get("X-Tenant") != "a b" {
		t.Errorf("the resource is %q, the tenant %q", col.about, col.header.Get("X-Tenant"))
	}
}

func TestTrace_OfARunIsItsOwnAndAJobsOwnFieldIsKept(t *testing.T) {
	t.Parallel()
	col := newCollector(t)
	s := harness.Start(t, col.env())
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	const own = "00-11111111111111111111111111111111-2222222222222222-00"
	create(c, `{"url":"`+target.URL+`","headers":{"Traceparent":"`+own+`"}}`)
	if got := target.Await(t, 1, soon)[0].Header.Values("traceparent"); len(got) != 1 || got[0] != own {
		t.Errorf("traceparent is %q, want the job's", got)
	}
	runs := harness.SharedTarget(t).Route(t)
	create(c, `{"url":"`+runs.URL+`","repeat_every":1}`)
	hits := runs.Await(t, 3, 3*soon)
	harness.Eventually(t, 3*soon, "the spans of the runs", func() bool { return len(col.of("url.full", runs.URL)) >= 3 })
	traces := map[string]bool{}
	for _, s := range col.of("url.full", runs.URL)[:3] {
		traces[hex.EncodeToString(s.TraceId)] = true
		if attribute(s, "punctual.schedule_id") == "" {
			t.Errorf("a run's span has no schedule: %v", s)
		}
	}
	if len(traces) != 3 {
		t.Errorf("three runs are in %d traces: %v", len(traces), traces)
	}
	if got := hits[1].Header.Get("traceparent"); !traces[strings.Split(got+"--", "-")[1]] {
		t.Errorf("the second run has traceparent %q, the traces are %v", got, traces)
	}
}

func TestTrace_UnreachableCollectorDelaysNoJobsAndDropsAreCounted(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(hanging) })
	s := harness.Start(t, harness.Env("OTEL_EXPORTER_OTLP_ENDPOINT="+slow.URL, "OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_BSP_MAX_QUEUE_SIZE=4"))
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	for range 10 {
		create(c, `{"url":"`+target.URL+`"}`)
	}
	target.Await(t, 10, soon)
	harness.Eventually(t, soon, "spans to be dropped", func() bool {
		return metric(t, c, `punctual_spans_dropped_total{reason="queue"}`) >= 26 // of 30, and 4 wait
	})
}

func TestTrace_MistakeInTheEnvironmentIsReportedAndJobsRun(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Env("OTEL_EXPORTER_OTLP_ENDPOINT=http://user:pa55word@localhost:4317",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc"))
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	create(c, `{"url":"`+target.URL+`"}`)
	if got := target.Await(t, 1, soon)[0].Header.Values("traceparent"); len(got) != 0 {
		t.Errorf("traceparent is %q without a tracer", got)
	}
	harness.Eventually(t, soon, "the mistake in the log",
		func() bool { return strings.Contains(s.Stderr(), "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf") })
	if text := s.Stderr(); strings.Contains(text, "pa55word") {
		t.Errorf("the log is %s", text)
	}
	if got := metric(t, c, `punctual_spans_exported_total`); got != 0 {
		t.Errorf("%v spans were exported", got)
	}
}
