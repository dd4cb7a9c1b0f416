// Package sqlite keeps everything in one SQLite file: no set-up, one process.
//
// Writing goes through one goroutine (writer.go) that runs whatever has
// arrived meanwhile in one transaction and answers after the commit, so that
// many creates, claims and finishes share one fsync and a lone one waits for
// nothing. The database is in WAL mode with synchronous=FULL: what was answered
// is on disk. Reading goes through a pool of its own and never waits for the
// writer. Checkpoints are made beside the writer, which only adds the last few
// pages.
//
// The files are looked at each second (watch.go): nothing is written to a
// database that was deleted or replaced, and no job is created where space is
// short. The lock file carries a mark (mark.go) by which a lost write-ahead log
// is noticed at the next start.
//
// Rows are clustered for the way they are used: runs by due time, jobs and logs
// by creation; every index a client's reading needs begins with the account.
// Times are microseconds since 1970, IDs are 16 bytes.
//
// No rules live here: see package store.
package sqlite
