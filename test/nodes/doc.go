// Package nodes tests what is promised of several nodes on one PostgreSQL, with
// real processes: several of `punctual serve`, one or two throwaway servers, and
// deliberate faults.
//
// # How it is judged
//
// The tests that make faults don't look for single symptoms. A load (load.go)
// creates jobs and schedules and cancels some, and records what the API has
// acknowledged; a TLS target records what it was sent; the faults record when
// they happened. When all jobs are final the test reads the records and logs
// through the API, and the checker (checker.go) compares everything with the
// promises, as Jepsen's test of Chronos does. The checker is a function of a
// history, so it has tests of its own that plant violations.
//
// The chaos test mixes kinds of jobs (mix.go) into the load: under limits, completed
// by their target, expiring, and watched by alerts. What is promised of these is
// checked where it shows (promises.go): limits at the target, alerts at their
// receiver, outcomes by what the target was told when it reported them.
//
// The load adapts to a busy machine: it bounds the calls under way and how far the
// target is behind, so that a slow cluster gets less to do, not ever more.
//
// # What is real and what is not
//
// Nodes are killed with SIGKILL, stopped with SIGSTOP and ended with SIGTERM;
// PostgreSQL is restarted, killed and failed over to a synchronous standby, also
// by Patroni with three servers (patroni_test.go), of which one etcd keeps the
// state. The network between nodes, servers and etcd is proxies in the test
// (proxy.go).
// Everything runs on one machine with one clock, so nodes whose clocks are wrong
// are not tested here: Go reads the clock without libc, which faking tools
// replace. The store's own tests verify that only the server's clock decides.
//
// # Environment
//
//   - PUNCTUAL_NODES_FULL: the long storm, 300 jobs a second for two minutes, twice the
//     load in other storms, the servers under Patroni, and the whole API suite, also
//     behind PgBouncer.
//   - PUNCTUAL_E2E_FULL: the whole API suite on PostgreSQL, with all its rounds.
//   - PUNCTUAL_NODES_RATE, PUNCTUAL_NODES_SECONDS: another size for the storm.
//   - PUNCTUAL_NODES_SEED: repeats the faults of a run; each prints its seed.
//   - PUNCTUAL_NODES_SUITE: a pattern; only these tests of the API suite.
//   - PUNCTUAL_NODES_MEASURE: measure what one, two and three nodes carry.
package nodes
