package tracing

import (
	"context"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Figures count the spans of a process.
type Figures struct {
	Exported uint64 // accepted by the collector
	Full     uint64 // dropped because the queue was full
	Failed   uint64 // dropped because the collector didn't accept them
}

// queue bounds the spans that wait for export, those under way included. The SDK's
// processor drops too when it is full, but doesn't say how many.
type queue struct {
	sdktrace.SpanProcessor
	max     int64
	waiting atomic.Int64

	exported, full, failed atomic.Uint64
}

// OnEnd implements sdktrace.SpanProcessor.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.max {
		q.waiting.Add(-1)
		q.full.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// exporter counts what becomes of the spans of a queue.
type exporter struct {
	sdktrace.SpanExporter
	queue *queue
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		e.queue.failed.Add(uint64(len(spans)))
	} else {
		e.queue.exported.Add(uint64(len(spans)))
	}
	e.queue.waiting.Add(-int64(len(spans)))
	return err
}
