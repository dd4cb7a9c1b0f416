// Package dispatch decides when each queue item is fired. Make a [Dispatcher] with [New]
// and call Run; [Dispatcher.Revoke], [Dispatcher.Restore] and [Dispatcher.Abort]
// coordinate changes of jobs with it.
//
// A queue item is an attempt of a job or of a delivery that is due at some
// time. In this process it goes through these phases (see phase):
//
//	         a slot is free          committed        due, ready
//	admit -> waiting -----> claiming ---------> held ----------> fired
//	            |               |                |                 |
//	    account |          lost |           gone |                 | the outcome
//	    blocked |               |                |                 | is stored
//	            v               v                v                 v
//	            +---------------+----------------+------------> forgotten
//
// A held item that is due is ready if (see registry.begin):
//
//   - it is not gone: its job has left the queue (Abort, or a cancel at another
//     node), the node's lease has expired, the account was blocked, or the store
//     has not confirmed the claim;
//   - it is not revoked (see revocation):
//     notRevoked <-> revoked, withheld;
//   - the node holds its lease and there is a slot;
//   - the claim is not in doubt (see confirmation):
//     claimAssumed -> claimDoubted <-> claimConfirmed; and the process has not
//     stood still since the store was asked for it (standstill.go). The latter is
//     verified again right before the request of each hop is sent. If the store says
//     that the schedule of a run has changed, nothing is sent; lifecycle decides what
//     becomes of the run.
//
// The calls that change an item from outside the loop:
//
//   - Revoke keeps a held item from being fired while a change of its job is
//     stored; an item whose claim is under way can be revoked, too. Its start
//     messages are withheld with it. Restore makes it fireable again. The claim
//     is then confirmed by the store first, because the change may have been
//     committed.
//   - Abort ends what this process does with a job that has left the queue: a
//     revoked item is gone, a request under way is cancelled.
//   - Release returns a claim to the store, for another node or a later time:
//     at shutdown, when the lease has expired, and when the account is blocked.
//   - Park moves the due times of a blocked account's items far ahead, so that
//     they are not read over and over, and back when it is unblocked.
//
// # Goroutines
//
// The package has two parts. The loop (Run, step) decides when each item is
// claimed and fired: it owns the lanes, the slots, the budget, the scan state
// and the heap of held items. It never waits for the store or a receiver. The
// registry (registry.go) has the items that this process knows of, and decides
// under its one mutex whether an item may be fired. Notice, Revoke, Restore,
// Abort and SetBlocked (control.go) use it from any goroutine.
//
// Other goroutines hand over their results in the inbox, which wakes the loop, soon if
// anything waits for them and within 50 ms otherwise (inbox.go):
//
//   - one reads the queue (startPeek), up to two per kind claim (claimBatch), and
//     one claims what these have passed over (contended.go);
//   - one confirms claims that are due, and one those of attempts under way
//     (confirm.go); workers fire the attempts (workers.go, run);
//   - one renews the node's lease (heartbeat.go);
//   - one finds receivers that are called within a second, so that connections
//     to them can be opened in time (prewarm.go);
//   - two read the blocked accounts and park their items (blocked.go);
//   - one reviews the suspects of crashes (suspects.go).
//
// No goroutine holds two mutexes of this package at once.
//
// # From the store to the lanes
//
// The loop reads a little ahead in the queue and claims items before they are due, so
// that the claim's commit adds no lateness. It learns of items from the store's hints
// (exact, but they can get lost), from reads at the due time of the earliest item not
// yet read, and from periodic scans of the queue from its beginning. Items that are
// assigned to other nodes are read again from their due time on. Timers are checked
// against the store's clock at least once a second, which bounds the delay after a clock
// step or a suspended machine.
//
// Only part of a large lane waits in memory. Its backlog stays in the store
// until the lane falls to its low-water mark.
//
// Slots, memory for waiting items and bytes are shared between accounts first,
// then between an account's lanes (shares.go, budget.go).
//
// One item never stops the others: a batch that fails because of its content is halved,
// a panic ends one attempt, and an item that can't be claimed, or that was being
// prepared at three crashes (at two of them as the only item), is set aside (claim.go,
// suspects.go).
//
// What an attempt does and stores is decided in package attempt.
package dispatch
