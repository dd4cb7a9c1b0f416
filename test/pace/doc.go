// Package pace measures how slow the machine is, for tests that wait.
//
// A wait in a test is one of two things. Most guard against a hang: the event comes, or
// the program is broken. [Guard] is the limit for these, and [Limit] for those that
// have a length of their own; both grow with the factor of the machine, so that a slow
// one breaks none of them. The others judge the wall clock: these measure with a [Watch]
// how late timers of the machine are meanwhile, and allow that beside their own limit.
//
// The factor is measured once: by scripts/testrun, which passes it on in
// PUNCTUAL_TEST_PACE, so that all packages agree; without it by each test program that
// asks. It is at least 1.
package pace
