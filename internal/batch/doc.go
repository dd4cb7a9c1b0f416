// Package batch lets many callers share one operation.
//
// A Batcher runs one operation at a time. Whatever arrives while it runs goes
// into the next one, so batches form by themselves under load and a lone
// caller waits for nothing: no timer is involved. What may wait is bounded;
// callers either are turned away (Do) or wait for room (DoWhenRoom).
//
// It knows nothing of stores; what an operation does is the owner's business.
package batch
