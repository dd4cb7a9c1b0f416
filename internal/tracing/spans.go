package tracing

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/punctual-dev/punctual/internal/job"
)

// Field is the name of the header field that names a request's span (W3C Trace
// Context).
const Field = "traceparent"

// Span is a span that has begun. Nil is none.
type Span struct {
	span trace.Span
}

// Call begins the span of a call of a client. It continues the trace that the call's
// Field names, if it does.
func (t *Tracer) Call(r *http.Request, route string, owner job.Owner, began time.Time) *Span {
	if t == nil {
		return nil
	}
	// Only traceparent: what a client says in tracestate is not passed on.
	carrier := propagation.MapCarrier{Field: r.Header.Get(Field)}
	ctx := propagation.TraceContext{}.Extract(context.Background(), carrier)
	_, span := t.tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began),
		trace.WithAttributes(
			semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route), accountKey.String(owner.ID.String())))
	return &Span{span}
}

// Origin returns the span as jobs store it that the call creates; nil for none.
func (s *Span) Origin() []byte {
	if s == nil {
		return nil
	}
	return appendOrigin(make([]byte, 0, originBytes), s.span.SpanContext())
}

// Created notes the job that a call created.
func (s *Span) Created(number int64) {
	if s != nil {
		s.span.SetAttributes(jobKey.Int64(number))
	}
}

// EndCall ends the span of a call.
func (s *Span) EndCall(status int) {
	if s == nil {
		return
	}
	s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if status >= 500 {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// The names of attributes that OpenTelemetry has none for.
const (
	accountKey    = attribute.Key("punctual.account_id")
	jobKey        = attribute.Key("punctual.job_id")
	scheduleKey   = attribute.Key("punctual.schedule_id")
	attemptKey    = attribute.Key("punctual.attempt")
	outcomeKey    = attribute.Key("punctual.outcome")
	latenessKey   = attribute.Key("punctual.lateness_ms")
	deliveryKey   = attribute.Key("punctual.delivery")
	deliveryIDKey = attribute.Key("punctual.delivery_id")
)

// Attempt describes an attempt of a job.
type Attempt struct {
	Job      *job.Job
	Number   int // 1 for the first
	Method   string
	URL      string
	Due      time.Time
	Prepared time.Time // when the queue item was read to be claimed
	Began    time.Time
}

// Attempt begins the span of an attempt. Before it, it makes the span of the claim,
// which lasts from reading the queue item until the attempt begins.
func (t *Tracer) Attempt(a Attempt) *Span {
	if t == nil {
		return nil
	}
	j := a.Job
	id, parent := t.ofJob(j.Owner, j.Number, j.Trace)
	first := t.firstOf(id, parent, attemptID(j.Owner, j.Number, 1))
	if !parent.IsValid() && a.Number > 1 {
		parent = first
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(a.Began), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		accountKey.String(j.Owner.ID.String()), jobKey.Int64(j.Number), attemptKey.Int(a.Number), late(a.Began, a.Due),
	), trace.WithAttributes(requestAttributes(a.Method, a.URL, true, a.Number)...)}
	if a.Number > 1 {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: first}))
	}
	if j.ScheduleID != uuid.Nil {
		options = append(options, trace.WithAttributes(scheduleKey.String(j.ScheduleID.String())))
	}
	s := t.start(parent, ids{id, attemptID(j.Owner, j.Number, a.Number)}, sound(a.Method), options...)
	if !parent.IsValid() {
		parent = s.span.SpanContext()
	}
	claim := t.start(parent, ids{}, "claim", trace.WithTimestamp(earlier(a.Prepared, a.Began)),
		trace.WithAttributes(jobKey.Int64(j.Number), attemptKey.Int(a.Number)))
	claim.span.End(trace.WithTimestamp(a.Began))
	return s
}

// Delivery describes an attempt of a callback, a webhook event or an alert.
type Delivery struct {
	Delivery *job.Delivery
	Kind     string // of the delivery: callback, webhook or alert
	Number   int    // 1 for the first
	Due      time.Time
	Began    time.Time
}

// Deliver begins the span of an attempt of a delivery.
func (t *Tracer) Deliver(a Delivery) *Span {
	if t == nil {
		return nil
	}
	d := a.Delivery
	var id trace.TraceID
	var parent trace.SpanContext
	switch {
	case d.Job == 0:
		id = traceID(d.Owner, -d.Number) // that of no job
	default:
		if id, parent = t.ofJob(d.Owner, d.Job, d.Trace); d.JobAttempt > 0 {
			parent = t.firstOf(id, parent, attemptID(d.Owner, d.Job, d.JobAttempt))
		}
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(a.Began), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		accountKey.String(d.Owner.ID.String()), deliveryKey.String(a.Kind), deliveryIDKey.String(sound(d.MessageID)),
		attemptKey.Int(a.Number), late(a.Began, a.Due))}
	if d.Job != 0 {
		options = append(options, trace.WithAttributes(jobKey.Int64(d.Job)))
	}
	if a.Number > 1 {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: t.firstOf(id, parent, deliveryID(d.Owner, d.Number, 1))}))
	}
	name := "deliver"
	if d.Channel != job.AlertMail {
		name = http.MethodPost
		// The path of an alert's receiver may be its credential.
		options = append(options, trace.WithAttributes(requestAttributes(name, d.URL, a.Kind != KindAlert, a.Number)...))
	}
	return t.start(parent, ids{id, deliveryID(d.Owner, d.Number, a.Number)}, name, options...)
}

// The kinds of deliveries.
const (
	KindCallback = "callback"
	KindWebhook  = "webhook"
	KindAlert    = "alert"
)

// ofJob returns the id of a job's trace, and the span of the call that created it,
// which is not valid if that is not known.
func (t *Tracer) ofJob(owner job.Owner, number int64, stored []byte) (trace.TraceID, trace.SpanContext) {
	if origin := readOrigin(stored); origin.IsValid() {
		return origin.TraceID(), origin
	}
	return traceID(owner, number), trace.SpanContext{}
}

// firstOf returns another span of a trace, as far as spans that come after it need
// it. A parent that is not valid means that the trace has none.
func (t *Tracer) firstOf(id trace.TraceID, parent trace.SpanContext, span trace.SpanID) trace.SpanContext {
	flags := parent.TraceFlags()
	if !parent.IsValid() {
		// Ask the sampler as the root of the trace did. This span never ends.
		flags = t.start(parent, ids{trace: id}, "").span.SpanContext().TraceFlags()
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: flags, Remote: true})
}

func (t *Tracer) start(parent trace.SpanContext, want ids, name string, options ...trace.SpanStartOption) *Span {
	ctx := withIDs(context.Background(), want)
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	_, span := t.tracer.Start(ctx, name, options...)
	return &Span{span}
}

// Parent returns the value of Field for the span's request; "" for none.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), s.span.SpanContext()), carrier)
	return carrier[Field]
}

// End ends the span of an attempt with its outcome, and the name that metrics have
// for it.
func (s *Span) End(o *job.Outcome, name string, ended time.Time) {
	if s == nil {
		return
	}
	s.span.SetAttributes(outcomeKey.String(name))
	failure := ""
	switch {
	case o.Failure != nil:
		failure = string(o.Failure.Kind)
	case o.Response != nil:
		s.span.SetAttributes(semconv.HTTPResponseStatusCode(o.Response.Status))
		if o.Response.Status >= 400 {
			failure = strconv.Itoa(o.Response.Status)
		} else if name != "success" && name != "awaiting" {
			failure = name
		}
	}
	if failure != "" {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(failure))
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End(trace.WithTimestamp(ended))
}

// requestAttributes describes a request: its method and its URL, without the parts
// that may be credentials.
func requestAttributes(method, address string, withPath bool, number int) []attribute.KeyValue {
	attributes := append(make([]attribute.KeyValue, 0, 5), semconv.HTTPRequestMethodKey.String(sound(method)))
	if number > 1 {
		attributes = append(attributes, semconv.HTTPRequestResendCount(number-1))
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return attributes
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host}
	if withPath {
		shown.Path, shown.RawPath = u.Path, u.RawPath
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = 443
		if u.Scheme == "http" {
			port = 80
		}
	}
	return append(attributes, semconv.URLFull(sound(shown.String())), semconv.ServerAddress(sound(u.Hostname())), semconv.ServerPort(port))
}

// sound returns a text that Protobuf can encode, of bounded length. One that it
// can't encode would take all spans of its batch with it.
func sound(s string) string {
	if len(s) > maxValue {
		s = s[:maxValue]
	}
	return strings.ToValidUTF8(s, "")
}

func late(began, due time.Time) attribute.KeyValue {
	return latenessKey.Float64(float64(began.Sub(due).Microseconds()) / 1000)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
