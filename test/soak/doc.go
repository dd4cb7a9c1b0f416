// Package soak runs the service for a long time under a mixed load with faults, and
// looks for what grows.
//
// The load (load.go) are jobs of many accounts: plain ones, in batches, edited,
// cancelled, retried, under limits, completed by their target, watched by alerts; and
// schedules that are edited. Each is known to a ledger (ledger.go) from before it is
// created until its end was compared with what was promised, so that neither the
// ledger nor the retention of the service has to keep all of them.
//
// Meanwhile (faults.go) the process is killed, in the first quarter of the run and at
// its end, and stopped for up to three seconds throughout. In the first quarter the
// service warms up; from then on one process lives, and its memory, descriptors,
// goroutines, the size of its database and its lateness are sampled (sample.go). A line
// is fitted to each, and must be flat (trend.go).
//
// A run in `make test` takes half a minute. It checks the promises, and not the
// trends, which take at least twenty minutes to tell growth from noise.
//
// # Environment
//
//   - PUNCTUAL_SOAK_SECONDS: how long; 30 unless set.
//   - PUNCTUAL_SOAK_RATE: jobs a second; 5 unless set, in long runs 20.
//   - PUNCTUAL_SOAK_ACCOUNTS: how many accounts; 4 unless set, in long runs 50.
//   - PUNCTUAL_SOAK_REPORT: a directory for the report: STORE.md and STORE.svg.
package soak
