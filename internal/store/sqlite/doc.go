// Package sqlite implements store.Store in one SQLite file, for one process: call Open.
// It needs no set-up. [Backup] and [Restore] work on files.
//
// One goroutine (writer.go) does all writes. It runs the writes that arrived
// during the last commit in one transaction and returns their results after the
// commit. So many creates, claims and finishes share one fsync, and a single one
// does not wait. The database is in WAL mode with synchronous=FULL: a write that
// has returned is on disk. Reads use pools of their own (reads.go) and never wait
// for the writer. Checkpoints run on a separate connection while the writer
// continues (checkpoint.go).
//
// The store checks its files every second (watch.go). It writes nothing to a database
// that was deleted or replaced, and creates no jobs when disk space is short. A count in
// the lock file (mark.go) detects a lost write-ahead log at the next start.
//
// Rows are clustered by use: queue items by due time, jobs and logs by creation.
// Every index for clients' reads begins with the account. Times are microseconds
// since 1970, IDs are 16 bytes.
//
// The package contains no business rules; see package store.
package sqlite
