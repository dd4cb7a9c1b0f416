package app

import (
	"context"

	"github.com/punctual-dev/punctual/internal/tracing"
)

// startTracing makes the tracer that the environment asks for. A mistake there
// keeps the node from making spans, not from firing jobs.
func (n *Node) startTracing(ctx context.Context) {
	var err error
	if n.tracer, err = tracing.New(ctx, n.config.Version, n.config.Log); err != nil {
		n.config.Log.Error("no traces are exported; mend the variable and restart", "error", err)
	}
	count := func(reason string, value func(tracing.Figures) uint64) {
		n.metrics.Count("punctual_spans_dropped_total",
			"Spans of traces that were lost, by reason: the queue was full (queue), or the collector did not accept them (export).",
			map[string]string{"reason": reason}, func() float64 { return float64(value(n.tracer.Figures())) })
	}
	count("queue", func(f tracing.Figures) uint64 { return f.Full })
	count("export", func(f tracing.Figures) uint64 { return f.Failed })
	n.metrics.Count("punctual_spans_exported_total", "Spans of traces that the collector accepted.", nil,
		func() float64 { return float64(n.tracer.Figures().Exported) })
}
