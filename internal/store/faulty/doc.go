// Package faulty wraps a store for tests of what stands above it: a database
// that fails, dawdles, or does what it is asked and then loses the answer.
//
// A Fault is set for a method by its name and can be changed while the store is
// in use. Each call meets at most one: it waits first, for a time or for a gate
// to open, as long as its caller does; then it fails, before or after the real
// store has done its work. The latter is what a connection that breaks during a
// commit looks like, and what makes callers that try again do things twice.
//
// Methods without a context (Now, NodeHoldsLease, Subscribe, Close) ask no database
// and are never faulty.
package faulty
