package job

import "context"

type traceKey struct{}

// WithTrace returns a context with the span that jobs keep which are created
// through it. See Job.Trace.
func WithTrace(ctx context.Context, span []byte) context.Context {
	return context.WithValue(ctx, traceKey{}, span)
}

// TraceOf returns the span that WithTrace stored, or nil if there is none.
func TraceOf(ctx context.Context) []byte {
	span, _ := ctx.Value(traceKey{}).([]byte)
	return span
}
