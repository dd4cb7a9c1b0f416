// Package store says what punctual needs of a database; sqlite and others
// implement it, storetest holds what every one of them must keep.
//
// The interface is split by who uses it and batch-first: whatever is hot takes
// many items and commits them together. Stores keep records and the queue of
// runs; they hold no business rules. Where a rule needs the state of things
// inside the transaction, the caller hands in a decision (a pure function from
// a Snapshot to Changes), which the store calls and whose answer it writes down.
// So ownership, transitions and what comes next are written once, above all
// stores.
//
// A run is one line of the queue: something to be fired at a time. There is at
// most one for a job (its next or current attempt) and one for a delivery.
// Claiming a run and finishing it are conditional on who claimed it and for
// which attempt, so that a node that was thought dead can't overwrite anything.
//
// Errors are faults where a caller can mend something (NotFound, Unavailable)
// and wrapped errors of the database otherwise.
package store
