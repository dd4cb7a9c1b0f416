// Package postgres implements store.Store in PostgreSQL, for any number of equal nodes
// without a leader: call Open.
//
// The SQL is written by hand and works on sets: a call splits its items into
// columns, sends them as arrays (unnest) and needs one or two round trips,
// however many items there are. A call with decisions reads and locks their rows
// in the first round trip; the second stores the changes and commits. Ends of attempts
// that need no record for their decisions take one (finish.go).
// Transactions take locks in one order (schedules, queue items, jobs, deliveries,
// each by key), to avoid deadlocks. A transaction is retried after a deadlock, or
// if the connection fails before the commit was sent. If it fails after that, the
// outcome is unknown, and the caller gets an error that says so.
//
// Claims skip rows that other nodes are claiming. They have a deadline, so that
// a delayed claim can't take effect later. Finishes and releases are fenced by
// node and attempt. A unique index over unfinished jobs ensures that of several
// simultaneous creates with one key, on any nodes, only one succeeds.
//
// The server's clock is authoritative. Now returns a lower bound of it, estimated
// from round trips and the monotonic clock (clock.go), so nothing starts early
// even if a node's own clock is wrong.
//
// A node sends heartbeats (nodes.go). It relies on its lease for holdsFor after a
// heartbeat; other nodes reclaim its items after silentFor without one. Nodes
// notify each other with LISTEN and NOTIFY (listen.go). Where notifications don't
// arrive, as behind a pooler in transaction mode, a node polls every pollPause.
// Only the listening connection uses session state: on it a node holds a lock that
// tells others when its process has ended (presence.go).
//
// With several hosts in the URL, all are asked at once which is the primary (hosts.go).
// Where commits wait for a standby, nothing is acknowledged before a standby has it
// (replicated.go).
//
// A watcher (watch.go) polls the server's time. If the server does not respond,
// the watcher cancels calls under way, and new calls fail at once until the server
// responds again.
//
// Statements are planned as lookups by an index, whatever the planner's statistics say,
// because they lack new accounts: see docs/adr/0021-postgres-statements.md for the
// rules, and work_test.go, which counts what each statement reads. Sessions of the
// engine keep plans for a second, except behind a pooler; clients' reads are planned
// each time (settle.go).
//
// Times are microseconds since 1970, as in SQLite. JSON is stored as text,
// because jsonb would change literals, key order and escapes.
//
// The package contains no business rules; see package store.
package postgres
