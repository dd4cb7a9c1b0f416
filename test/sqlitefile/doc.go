// Package sqlitefile copies SQLite databases for tests. A [Template] is a database that is
// migrated once for a test program; a copy of it costs a hundredth of the processor time
// of migrating another. It imports no store, so the tests of one may use it.
package sqlitefile
