// Package outbox moves jobs from a table of an application's database to the service:
// they are committed with the application's data, and sent once they are. Schema returns
// the tables, and a Relay moves their rows.
//
// A Relay creates the jobs with the ids of their rows as request_id, by POST
// /api/jobs/batch, and deletes the rows that were answered. What it sent and what the
// service stored can differ only in what was not answered, and that is sent again with
// the same ids. Several relays may run: one is active, by a lease in the database, so
// that rows are sent in their order; another takes over when the lease has expired.
//
// The package knows PostgreSQL, MySQL, MariaDB and SQLite. It calls the service like any
// client, by HTTP with a key, also where serve runs it. See the decision record "The
// outbox" in docs/adr.
package outbox
