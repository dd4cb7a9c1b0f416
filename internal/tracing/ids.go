package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/punctual-dev/punctual/internal/job"
)

// What an id is derived for.
const (
	ofTrace    = 't'
	ofAttempt  = 'a'
	ofDelivery = 'd'
)

// derive returns bytes that depend on an account and numbers only. The account's
// UUID is random, so ids of different installations differ.
func derive(kind byte, owner job.Owner, numbers ...int64) [sha256.Size]byte {
	b := append(make([]byte, 0, 64), kind)
	b = append(b, owner.ID[:]...)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return sha256.Sum256(b)
}

// traceID returns the id of the trace of a job whose create was not traced.
func traceID(owner job.Owner, number int64) trace.TraceID {
	sum := derive(ofTrace, owner, number)
	return trace.TraceID(sum[:16])
}

// attemptID returns the id of the span of a job's attempt.
func attemptID(owner job.Owner, number int64, attempt int) trace.SpanID {
	sum := derive(ofAttempt, owner, number, int64(attempt))
	return trace.SpanID(sum[:8])
}

// deliveryID returns the id of the span of an attempt of a delivery.
func deliveryID(owner job.Owner, number int64, attempt int) trace.SpanID {
	sum := derive(ofDelivery, owner, number, int64(attempt))
	return trace.SpanID(sum[:8])
}

// ids are those that the next span gets. A zero id stands for a random one.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

type idsKey struct{}

func withIDs(ctx context.Context, want ids) context.Context {
	return context.WithValue(ctx, idsKey{}, want)
}

// generator generates the ids that the context names, and random ones.
type generator struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	want, _ := ctx.Value(idsKey{}).(ids)
	for !want.trace.IsValid() {
		binary.NativeEndian.PutUint64(want.trace[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(want.trace[8:], rand.Uint64())
	}
	return want.trace, g.NewSpanID(ctx, want.trace)
}

// NewSpanID implements sdktrace.IDGenerator.
func (generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	want, _ := ctx.Value(idsKey{}).(ids)
	for !want.span.IsValid() {
		binary.NativeEndian.PutUint64(want.span[:], rand.Uint64())
	}
	return want.span
}

// originBytes is the length of a span as jobs store it: its trace's id, its own id
// and the flags.
const originBytes = 16 + 8 + 1

// appendOrigin returns a span as jobs store it.
func appendOrigin(b []byte, c trace.SpanContext) []byte {
	id, span := c.TraceID(), c.SpanID()
	return append(append(append(b, id[:]...), span[:]...), byte(c.TraceFlags()))
}

// readOrigin returns the span that a job has stored. It is not valid if there is none.
func readOrigin(b []byte) trace.SpanContext {
	if len(b) != originBytes {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(b[:16]), SpanID: trace.SpanID(b[16:24]), TraceFlags: trace.TraceFlags(b[24]), Remote: true,
	})
}
