// Package storetest is what every store must keep: a suite of tests and a set
// of benchmarks, run unchanged against each implementation from its own tests.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store { … })
//	}
//
// Each test opens a fresh, empty store, and closes it. Whatever the store
// stands on (a directory, a database server) is for open to clean up.
//
// The suite never sets a clock: what is to be past or ahead is put hours away
// from the store's own time, so that a store whose clock is the database's
// passes as well as one whose clock is given. Nor does it sleep. What comes
// later (a notice to the subscriber) is waited for on a channel, with a
// deadline that only a broken store reaches.
//
// The suite holds stores to what package store says and to what the engine
// rests on, no more: errors of the database are only asked to be errors, the
// order inside one microsecond only to be the same on every page. Where a store
// might come to harm only under load, many goroutines do the same at once, for
// thousands of rounds; what they draw at random they draw from a seed that is
// printed when a test fails.
//
// What only one kind of store can show stays with that store: a node that falls
// silent and the notices between nodes with those for many, the file and its
// lock with SQLite.
//
// The list tests compare every answer with a model that filters and sorts all
// records in memory (model.go): it is slow, short and plainly right.
package storetest
