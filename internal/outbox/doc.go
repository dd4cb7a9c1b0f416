// Package outbox moves jobs from a table of an application's database to the service.
// [Schema] returns the tables; make a [Relay] with [New] and call [Relay.Run]. An
// application inserts jobs in the transaction of its own data, with package
// client/outbox.
//
// A Relay creates the jobs with the ids of their rows as request_id, by POST
// /api/jobs/batch, and deletes the rows that were answered. What it sent and what the
// service stored can differ only in what was not answered, and that is sent again with
// the same ids. Several relays may run: one is active, by a lease in the database, so
// that rows are sent in their order; another takes over when the lease has expired. One
// batch is sent at a time; the next one is taken meanwhile if many rows wait.
//
// The package knows PostgreSQL, MySQL, MariaDB and SQLite. It calls the service like any
// client, by HTTP with a key, also where serve runs it. See the decision record "The
// outbox" in docs/adr.
package outbox
