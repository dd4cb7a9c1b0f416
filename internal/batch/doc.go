// Package batch lets many callers share one operation: make a Batcher with [New] and
// call Do.
//
// A Batcher runs one operation at a time. Items that arrive during an operation form the
// next one, so batches grow with the load and a single caller waits for nothing: there
// is no timer. The number of waiting items is bounded; a caller beyond it either gets an
// error (Do) or waits (DoWhenRoom).
//
// Operations and waiting items can also be bounded in bytes. Accounts take
// turns by bytes: one with many large items delays another's small ones by
// about one operation. After operations that are slow or time out, the next
// ones are smaller.
//
// An item that makes an operation fail or panic fails alone; see
// Config.Divides.
package batch
