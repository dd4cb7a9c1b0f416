// Package storetest is a suite of tests and benchmarks for implementations of
// package store. Each implementation calls [Run] from its own tests, unchanged.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store { … })
//	}
//
// Each test opens an empty store and closes it. The open function must clean up
// the store's directory or database.
//
// The suite never sets a clock: past and future times are hours away from the
// store's time, so that it works with the clock of a database, too. It does not
// sleep: it waits for asynchronous results (notices to the subscriber) on a
// channel, with a generous deadline.
//
// The suite tests what package store documents and what the engine relies on, no
// more: the text of database errors does not matter, and the order within one
// microsecond only has to be the same on every page. Concurrency tests run many
// goroutines for thousands of rounds. Random choices come from a seed that is
// printed when a test fails.
//
// `make test` runs the tests in which goroutines meet with the race detector, and the
// others without: they make one call after the other. A test that starts goroutines must
// stand in the table of these, as another test verifies.
//
// Tests that apply to one kind of store stay in its package: silent nodes and
// notices between nodes in postgres, the file and its lock in sqlite.
//
// The list tests compare each result with a model that filters and sorts all
// records in memory (model.go).
package storetest
