// Package differ tests that the store for SQLite and the store for PostgreSQL behave the
// same, from outside: it sends the same random calls to two services, one on each, and
// compares the responses and what can be read afterwards.
//
// # A sequence
//
// A seed makes a sequence of calls of two accounts that share names, keys and tags
// (generate.go, bodies.go): every way of creating, editing and deleting, limits,
// secrets, operations, and reads. A call refers to a record by the call that created it
// (call.go), so a sequence means the same when other calls are left out.
//
// # Time
//
// The clock of a database can't be set, so the stores are compared at rest. Jobs are due
// at once, or hours or years ahead. After each call, the test waits until nothing is due
// any more that could start (rest.go): jobs then are final, wait for a time hours ahead or
// for a limit, or are under way at the target, which answers when a later call of the
// sequence says so (target.go).
//
// # Comparing
//
// Ids become symbols in the order in which they appear, times that depend on the clock
// become the distance from the beginning, in half hours (normal.go). All else must be
// equal, the order of members included.
//
// A sequence that ends differently is repeated with fewer and fewer calls for as long as
// it does (shrink.go), and printed with the seed.
//
// # Environment
//
//   - PUNCTUAL_DIFFER_RUNS: how many sequences to send.
//   - PUNCTUAL_DIFFER_FIRST: the first seed; 1 unless set.
//   - PUNCTUAL_DIFFER_SEED: send the sequence of this seed only, and print it.
package differ
