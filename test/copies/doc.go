// Package copies tests continuous copies of a SQLite database by Litestream, as
// docs/guides/backups.md describes them.
//
// The service is killed under load, and so is Litestream; the write-ahead log restarts while
// no copy is made. At the end both are killed at once and the machine counts as lost: the
// database is restored from the replica and served.
//
// # What is judged
//
// A sync is an event: Litestream says that all that was committed before is in the replica.
// Every job that was acknowledged before the last sync must be in the restored database.
// What is lost must be the latest jobs, without a gap. No number of an acknowledged job,
// lost or not, may be given to another job. How old the lost jobs were is logged, not judged.
//
// # Two sizes
//
// By default, the core of Litestream copies to a directory (programs/copier), because all of
// Litestream takes minutes to build. PUNCTUAL_COPIES=1m runs the released program
// with the settings of the guide for that long, and a server of the S3 API
// (programs/bucket). `make chaos` does so. PUNCTUAL_SEED repeats the choices of a run.
package copies
