// Package faulty wraps a store to inject faults in tests: [New] wraps it, [Store.Set]
// sets a [Fault] for a method. A database then fails, is slow, or loses the response to
// a write.
//
// Set works also while the store is in use. A call with a fault first waits, for a time,
// for a gate to open or until its context ends. Then it fails, before or after calling
// the wrapped store. Failing after the call is like a connection that breaks during a
// commit: a caller that retries may do its work twice.
//
// The methods are generated: after a change of store.Store, run
//
//	go test ./internal/store/faulty -update
//
// Methods without a context (Now, NodeHoldsLease, Subscribe, Close) use no
// database and are never faulty.
package faulty
