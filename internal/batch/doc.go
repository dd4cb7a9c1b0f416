// Package batch lets many callers share one operation.
//
// A Batcher runs one operation at a time. Whatever arrives while it runs goes
// into the next one, so batches form by themselves under load and a lone
// caller waits for nothing: no timer is involved. What may wait is bounded;
// callers either are turned away (Do) or wait for room (DoWhenRoom).
//
// Operations and what waits are bounded by bytes, too, when the owner can tell
// how large an item is. Accounts take turns by bytes: one with many large items
// delays another's small ones by about one operation. Operations that are slow or
// run out of time make the next ones smaller.
//
// An item that makes an operation fail, or panic, fails alone: see Divides.
//
// It knows nothing of stores; what an operation does is the owner's business.
package batch
