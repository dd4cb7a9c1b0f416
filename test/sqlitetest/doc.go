// Package sqlitetest opens SQLite stores for tests of packages that need a real store
// but do not test it: each is new, migrated, has a clock of the test's, and is closed with it.
package sqlitetest
