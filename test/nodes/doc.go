// Package nodes holds what is promised of several nodes on one PostgreSQL,
// with real processes: `punctual serve` some times over, a throwaway server or
// two, and faults made on purpose.
//
// # How it is judged
//
// The tests that break things don't look for single symptoms. A load (load.go)
// creates jobs and schedules and cancels some, and writes down what the API has
// acknowledged; a TLS target writes down what it was sent; the faults write
// down when they were. When all is calm again the records and logs are read
// through the API, and the checker (checker.go) holds all of it against the
// promises, in the spirit of Jepsen's test of Chronos. It is a function of a
// history, so it has tests of its own that plant violations.
//
// # What is real and what is not
//
// Nodes are killed with SIGKILL, stopped with SIGSTOP and ended with SIGTERM;
// PostgreSQL is restarted, killed and failed over to a synchronous standby. The
// network between a node and its database is a proxy in the test (proxy.go).
// All runs on one machine with one clock, so nodes whose clocks are wrong are
// not shown here: Go reads the clock without libc, which faking tools replace.
// That the server's clock alone decides is held by the store's own tests.
//
// # Environment
//
//   - PUNCTUAL_NODES_FULL: the long storm, 300 jobs a second for two minutes.
//   - PUNCTUAL_NODES_RATE, PUNCTUAL_NODES_SECONDS: another size for the storm.
//   - PUNCTUAL_NODES_SEED: repeats the faults of a run; each prints its seed.
//   - PUNCTUAL_NODES_SUITE: a pattern; only these tests of the API suite.
//   - PUNCTUAL_NODES_MEASURE: measure what one, two and three nodes carry.
package nodes
