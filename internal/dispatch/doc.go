// Package dispatch decides when what is fired.
//
// One goroutine (the loop) owns all decisions. It looks a little ahead in the
// queue (peek), gathers what comes due in lanes by account and receiver, claims
// runs in fair turns and holds each claimed run until its exact time. So the
// claim's commit lies before the due time and costs no lateness. Reading,
// claiming and firing happen in goroutines beside the loop, which itself never
// waits for the store or a target.
//
// What is stored reaches the loop in three ways: by a hint of the store that
// runs were stored (exact, may be lost), by the timer for the earliest run not
// yet read, and by reading the queue from its beginning every now and then.
// Timers are re-checked against the store's clock at least once a second, so a
// stepped clock or a suspended machine delays nothing for longer.
//
// Of a lane with a great many due runs only some wait in memory; the rest stays
// in the store until the lane runs low, and the queue is read on past it.
//
// Slots, waiting runs and bytes in memory are shared between accounts first, then
// between an account's lanes (shares.go, budget.go). Nothing is sent for blocked
// accounts, whose due runs are moved out of the way (blocked.go).
//
// One run never stops the others: a claim that fails for a reason of its content
// is divided, a panic ends one attempt, and a run that can't be claimed, or was
// being prepared at three crashes, is set aside (claim.go, suspects.go).
//
// Beside the loop, a look a second ahead tells which receivers will be called,
// so that connections to them can be opened in time.
//
// A claimed run can be revoked until it is fired; from then on it can only be
// aborted. Both are safe to call from anywhere.
//
// What an attempt is and what it stores is the attempt package's business.
package dispatch
