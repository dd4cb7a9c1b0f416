package tracing

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-dev/punctual/internal/job"
)

// settle clears the variables that the machine may have, and sets others.
func settle(t *testing.T, variables ...string) {
	t.Helper()
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_COMPRESSION",
		"OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"} {
		t.Setenv(name, "")
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

func TestReadSettings_FollowTheStandardVariables(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"
	for name, test := range map[string]struct {
		variables []string
		endpoint  string
		problem   string
	}{
		"nothing":            {nil, "", ""},
		"endpoint":           {[]string{endpoint}, "http://collector:4318/v1/traces", ""},
		"endpoint with path": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example/otlp/"}, "https://c.example/otlp/v1/traces", ""},
		"for traces":         {[]string{endpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://other:1/x"}, "http://other:1/x", ""},
		"disabled":           {[]string{endpoint, "OTEL_SDK_DISABLED=TRUE"}, "", ""},
		"exporter none":      {[]string{endpoint, "OTEL_TRACES_EXPORTER=none"}, "", ""},
		"another exporter":   {[]string{endpoint, "OTEL_TRACES_EXPORTER=zipkin"}, "", "OTEL_TRACES_EXPORTER must be otlp or none"},
		"grpc": {[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "",
			"OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, with the collector's port for HTTP, usually 4318"},
		"no URL": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318"}, "",
			"OTEL_EXPORTER_OTLP_ENDPOINT must be a URL as in http://localhost:4318"},
		"timeout": {[]string{endpoint, "OTEL_EXPORTER_OTLP_TIMEOUT=10s"}, "",
			"OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds"},
		"compression": {[]string{endpoint, "OTEL_EXPORTER_OTLP_COMPRESSION=br"}, "",
			"OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none"},
		"headers": {[]string{endpoint, "OTEL_EXPORTER_OTLP_HEADERS=a=b,secret"}, "",
			"OTEL_EXPORTER_OTLP_HEADERS must be fields as in name=value,name=value; field 2 is not"},
		"header with a line": {[]string{endpoint, "OTEL_EXPORTER_OTLP_HEADERS=a=b%0Ac"}, "",
			"OTEL_EXPORTER_OTLP_HEADERS must be fields as in name=value,name=value; field 1 is not"},
	} {
		t.Run(name, func(t *testing.T) {
			settle(t, test.variables...)
			s, err := readSettings()
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if s.endpoint != test.endpoint || problem != test.problem {
				t.Errorf("the endpoint is %q, the error %q; want %q, %q", s.endpoint, problem, test.endpoint, test.problem)
			}
		})
	}
}

// aJob returns a job whose create was not traced.
func aJob() *job.Job {
	return &job.Job{Number: 7, Owner: job.Owner{ID: uuid.MustParse("0190163d-8694-739b-aea5-966c26f8ad91"), Number: 1}}
}

func TestTracer_ExportsSoundSpansOfBoundedSize(t *testing.T) {
	got := make(chan *tracepb.TracesData, 4)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		plain, err := gzip.NewReader(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("the body is not compressed (%v), or Authorization is %q", err, r.Header.Get("Authorization"))
			return
		}
		body, _ := io.ReadAll(plain)
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Error(err)
		}
		got <- &data
	}))
	defer server.Close()
	settle(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20k")
	tracer, err := New(t.Context(), "1.0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for attempt, url := range []string{"https://u:p4ss@example.com/\xff" + strings.Repeat("x", 5000) + "?q=p4ss#p4ss",
		"https://example.com:8443/a"} {
		span := tracer.Attempt(Attempt{Job: aJob(), Number: attempt + 1, Method: "P\xffST", URL: url, Due: now, Prepared: now, Began: now})
		if len(span.Parent()) != 55 {
			t.Errorf("traceparent is %q", span.Parent())
		}
		span.End(&job.Outcome{Failure: &job.Failure{Kind: job.KindTimeout, Message: "p4ss"}}, "timeout", now.Add(time.Second))
	}
	tracer.Close()
	var data *tracepb.TracesData
	select {
	case data = <-got:
	default:
		t.Fatalf("no spans arrived; counted %+v", tracer.Figures())
	}
	spans := data.ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 4 || tracer.Figures() != (Figures{Exported: 4}) {
		t.Fatalf("%d spans arrived, counted %+v; want an attempt and a claim, twice", len(spans), tracer.Figures())
	}
	if size := proto.Size(data); size > 8<<10 || strings.Contains(data.String(), "p4ss") {
		t.Errorf("the spans have %d bytes, or have credentials in them: %v", size, data)
	}
	trace := spans[0].TraceId
	for _, s := range spans {
		if string(s.TraceId) != string(trace) {
			t.Errorf("the spans are in several traces: %v", spans)
		}
	}
}

func TestTracer_FollowsTheSamplerInLaterAttemptsAndDeliveries(t *testing.T) {
	settle(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_SAMPLER=always_off")
	tracer, err := New(t.Context(), "1.0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	now := time.Now()
	j := aJob()
	parents := []string{
		tracer.Attempt(Attempt{Job: j, Number: 1, Method: "GET", URL: "https://example.com", Due: now, Prepared: now, Began: now}).Parent(),
		tracer.Attempt(Attempt{Job: j, Number: 2, Method: "GET", URL: "https://example.com", Due: now, Prepared: now, Began: now}).Parent(),
		tracer.Deliver(Delivery{Delivery: &job.Delivery{Number: 1, Owner: j.Owner, Job: 7, JobAttempt: 2}, Number: 1, Kind: KindWebhook,
			Due: now, Began: now}).Parent(),
	}
	for _, p := range parents {
		if !strings.HasSuffix(p, "-00") || p[:35] != parents[0][:35] {
			t.Errorf("traceparent are %q, want one trace that is not sampled", parents)
		}
	}
}

func TestTracer_ContinuesTheStoredSpan(t *testing.T) {
	settle(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	tracer, err := New(t.Context(), "1.0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(context.Background(), "POST", "/api/jobs", nil)
	r.Header.Set(Field, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
	call := tracer.Call(r, "/api/jobs", aJob().Owner, time.Now())
	j := aJob()
	if j.Trace = call.Origin(); len(j.Trace) != 25 {
		t.Fatalf("the stored span is %x, want 25 bytes", j.Trace)
	}
	got := tracer.Attempt(Attempt{Job: j, Number: 1, Method: "GET", URL: "https://example.com", Prepared: time.Now(),
		Began: time.Now()}).Parent()
	if !strings.HasPrefix(got, "00-4bf92f3577b34da6a3ce929d0e0e4736-") || !strings.HasSuffix(got, "-00") {
		t.Errorf("traceparent is %q, want the client's trace, not sampled", got)
	}
	// A stored value that is not a span, and a call with garbage, begin traces of their own.
	j.Trace = []byte("short")
	if got := tracer.Attempt(Attempt{Job: j, Number: 1, Method: "GET", URL: "https://example.com"}).Parent(); len(got) != 55 ||
		strings.Contains(got, "4bf92f3577b34da6") {
		t.Errorf("traceparent is %q", got)
	}
	r.Header.Set(Field, "00-garbage")
	if origin := tracer.Call(r, "/api/jobs", j.Owner, time.Now()).Origin(); !readOrigin(origin).IsValid() {
		t.Errorf("the span of a call with garbage is %x", origin)
	}
}

// What a service without an endpoint pays for each attempt.
func BenchmarkAttempt_Off(b *testing.B) {
	var tracer *Tracer
	j, o := aJob(), &job.Outcome{Response: &job.Response{Status: 200}}
	b.ReportAllocs()
	for b.Loop() {
		span := tracer.Attempt(Attempt{Job: j, Number: 1, Method: "GET", URL: "https://example.com/a"})
		_ = span.Parent()
		span.End(o, "success", time.Time{})
	}
}

func BenchmarkAttempt_On(b *testing.B) {
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	tracer, err := New(b.Context(), "1.0", slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	j, o, now := aJob(), &job.Outcome{Response: &job.Response{Status: 200}}, time.Now()
	b.ReportAllocs()
	for b.Loop() {
		span := tracer.Attempt(Attempt{Job: j, Number: 1, Method: "GET", URL: "https://example.com/a", Due: now, Prepared: now, Began: now})
		_ = span.Parent()
		span.End(o, "success", now)
	}
}
