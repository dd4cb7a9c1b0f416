// Package transfer copies everything from one store to another: accounts with
// their secrets and keys, schedules with their state, jobs, logs, pending
// deliveries and the audit log, each with its number, its times and its place in the queue.
//
// Records are read in a fixed order, section after section and account after
// account, and written in batches. With each batch the target keeps a mark, the
// place of its last record, so that a copy that was interrupted goes on behind
// it. Nothing is written twice: what is there stays.
//
// In the end both stores are read from the beginning, and the number of records
// and a checksum over them are compared for every section, and for the queue.
// Only then the target counts as whole; until then no node starts on it.
//
// No node may run on either store meanwhile. That is the caller's business, and
// the comparison's if it fails.
package transfer
