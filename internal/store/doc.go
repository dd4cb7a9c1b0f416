// Package store defines the interface between punctual and its database.
// Packages sqlite and postgres implement it; package storetest tests
// implementations.
//
// The interface is split into small ones. Each consumer declares an interface
// with the methods that it calls, and embeds those that match. Methods on hot
// paths take many items and commit them together.
//
// Stores keep records and the queue. They contain no business rules, except those
// that need an index or a lock; docs/adr/0034 lists them. Where another rule
// depends on the state inside a transaction, the caller passes a decision: a pure
// function from a Snapshot to Changes. The store calls it and applies the changes.
// So ownership, state transitions and follow-up jobs are implemented once for all
// stores.
//
// A queue item is something to fire at a time. A job has at most one (its next
// or current attempt), and so has a delivery. Claiming and finishing an item are
// conditional on its node and attempt, so that a node whose lease has expired
// can't overwrite anything.
//
// Errors are faults where the caller can act on them (NotFound, Invalid,
// Unavailable), else wrapped errors of the database.
package store
