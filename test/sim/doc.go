// Package sim runs the engine and the rules of the service in virtual time, with all
// that can happen around them decided by one seed, and compares what happens with
// what the API promises.
//
// # A run
//
// A seed makes a plan (plan.go, maker.go): up to three nodes, clients that create, edit
// and cancel, targets that answer, fail, hang and report, and faults. A run (world.go)
// carries it out in a bubble of testing/synctest, and goes on without faults until
// everything that is due has ended.
//
// A node (node.go) is built from the constructors that internal/app uses. It meets
// the rest of the world at four points: the store, its targets, the notices of other
// nodes, and chance. At each of them a call waits for its turn (schedule.go). When all
// goroutines wait, the scheduler chooses by the seed which call goes on, and what
// becomes of it: it may fail before or after its commit, take long, or end its node.
//
// The database (database.go) is the store for SQLite, in a temporary directory, with
// the leases, fences and notices of the store for PostgreSQL around it.
//
// # What is checked
//
// After each commit the stored records are read past all code of the service
// (truth.go); requests are checked as they reach their target (check.go); answers
// about idempotency keys are checked for an order that explains them (keys.go).
//
// A run that breaks a promise is repeated with fewer and fewer actions for as long as
// the same promise breaks (shrink.go), and printed as numbered lines.
//
// # Planted faults
//
// Each patch in faults plants a defect. scripts/planted-faults shows that it is
// noticed.
//
// What is not simulated is listed in docs/simulation.md.
//
// # Environment
//
//   - PUNCTUAL_SIM_SECONDS: how long to simulate; 20 unless set.
//   - PUNCTUAL_SIM_RUNS: how many runs to make instead.
//   - PUNCTUAL_SIM_FIRST: the first seed; 1 unless set.
//   - PUNCTUAL_SIM_SEED: run this seed only, and print what happens.
//   - PUNCTUAL_SIM_KEEP: with a seed, the numbers of the actions to keep.
//   - PUNCTUAL_SIM_WORKFLOWS: have workflow runs in the plan of each seed.
//   - PUNCTUAL_SIM_GO_ON: go on after a broken promise.
//   - PUNCTUAL_SIM_NO_SHRINK: don't look for a smaller plan.
package sim
