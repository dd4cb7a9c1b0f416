// Package postgres keeps everything in PostgreSQL, for any number of equal
// nodes and no leader.
//
// SQL is written by hand and works on sets: a call takes its items apart into
// columns, sends them as arrays (unnest) and needs one or two round trips,
// however many items there are. Where a decision has to be asked for, the rows
// it rests on are read and locked in the first round trip; the second writes
// what was decided and commits. Locks are taken in one order everywhere,
// schedules, runs, jobs, deliveries, each by key, so that calls wait for each
// other but do not deadlock; where they do, or an answer was lost before the
// commit was sent, the transaction is made again. An answer lost after that
// leaves the outcome open, and that is what the caller is told.
//
// Claims skip rows that others are claiming and carry a deadline, so that one
// held up on its way can't take effect later on. Finishes and releases are
// fenced by node and attempt. A key is held by a unique index over unfinished
// jobs: of simultaneous creates on any nodes exactly one gets through.
//
// The server's clock decides. Now is a lower bound of it, kept from round trips
// and the monotonic clock (clock.go), so nothing is early however wrong a
// node's own clock is.
//
// A node beats every few seconds (nodes.go). It relies on its claims for
// holdsFor after a beat; others take them when it was silent for silentFor. What
// has happened elsewhere is told by LISTEN and NOTIFY (listen.go); where that
// does not get through, as behind a pooler in transaction mode, the node looks
// for itself every pollPause. Nothing here uses the state of a session, save the
// one connection that listens.
//
// A watcher (watch.go) asks the server for the time again and again. When there
// is no answer, calls under way are cut off and new ones refused at once, until
// there is one again.
//
// Times are microseconds since 1970, as in SQLite; JSON is text, since jsonb
// would change literals, key order and escapes.
//
// No rules live here: see package store.
package postgres
