package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans. Nil makes none.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	queue    *queue
}

const (
	// maxValue bounds the bytes of an attribute's value, maxAttributes how many a
	// span has; the SDK's variables can only lower them.
	maxValue      = 512
	maxAttributes = 32
)

// New returns a Tracer as the environment asks for it; nil without an endpoint.
// The error says which variable has to be mended.
func New(ctx context.Context, version string, log *slog.Logger) (*Tracer, error) {
	s, err := readSettings()
	if err != nil || s.endpoint == "" {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("punctual"), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES must be attributes as in name=value,name=value: %w", err)
	}
	otel.SetErrorHandler(&reporter{log: log})
	q := &queue{max: int64(s.queue)}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(&exporter{otlptrace.NewUnstarted(newClient(s)), q},
		sdktrace.WithMaxQueueSize(s.queue), sdktrace.WithMaxExportBatchSize(min(s.queue, batchLength)))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q), sdktrace.WithIDGenerator(generator{}),
		sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits()))
	return &Tracer{tracer: provider.Tracer("github.com/punctual-dev/punctual", trace.WithInstrumentationVersion(version)),
		provider: provider, queue: q}, nil
}

func limits() sdktrace.SpanLimits {
	l := sdktrace.NewSpanLimits()
	l.AttributeValueLengthLimit = atMost(l.AttributeValueLengthLimit, maxValue)
	l.AttributeCountLimit = atMost(l.AttributeCountLimit, maxAttributes)
	return l
}

// atMost returns a limit of the SDK, which is negative for none, bounded by most.
func atMost(limit, most int) int {
	if limit < 0 {
		return most
	}
	return min(limit, most)
}

// Figures returns what became of the spans so far.
func (t *Tracer) Figures() Figures {
	if t == nil {
		return Figures{}
	}
	return Figures{Exported: t.queue.exported.Load(), Full: t.queue.full.Load(), Failed: t.queue.failed.Load()}
}

// closeWithin is how long the last spans may take to be exported.
const closeWithin = 3 * time.Second

// Close exports what is waiting, as far as that goes in 3 seconds.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the error handler has reported failures
}

// reporter logs failures of the exporter, at most one in a minute.
type reporter struct {
	log  *slog.Logger
	last atomic.Int64 // nanoseconds since 1970
}

// Handle implements otel.ErrorHandler.
func (r *reporter) Handle(err error) {
	now, last := time.Now().UnixNano(), r.last.Load()
	if err != nil && now-last >= int64(time.Minute) && r.last.CompareAndSwap(last, now) {
		r.log.Warn("exporting traces failed; punctual_spans_dropped_total counts what is lost", "error", err)
	}
}
