// Package dispatch decides when each queue item is fired.
//
// A queue item is an attempt of a job or of a delivery that is due at some
// time. In this process it goes through these states (see phase):
//
//	         a slot is free        committed         due, slot is free
//	admit -> waiting ---------> claiming ------> held ----------------> fired
//	            |                  |             | ^ |                    |
//	     park   |             lost |      revoke | | | release            | abort,
//	            v                  |             v | | or abort           | or the
//	     in the store,             |      revoked -+ |                    | outcome
//	     due in 100 years          |       |restore  |                    | is stored
//	                               |       |abort    |                    |
//	                               v       v         v                    v
//	                               +-------+---------+--------------> forgotten
//
// The calls that change a state from outside the loop:
//
//   - Revoke keeps a held item from being fired while a change of its job is
//     stored; an item whose claim is under way can be revoked, too. Restore
//     makes it fireable again. The claim is then confirmed by the store first,
//     because the change may have been committed.
//   - Abort ends what this process does with a job that has left the queue: a
//     revoked item is forgotten, a request under way is cancelled.
//   - Release returns a claim to the store, for another node or a later time:
//     at shutdown, when the lease has expired, and when the account is blocked.
//   - Park moves the due times of a blocked account's items far ahead, so that
//     they are not read over and over, and back when it is unblocked.
//
// # Goroutines
//
// The loop (Run, step) owns the lanes, the slots, the budget, the scan state
// and the heap of held items, and makes all decisions. It never waits for the
// store or a receiver. Other goroutines hand over their results under
// Dispatcher.mu and wake the loop:
//
//   - one reads the queue (startPeek), up to two per kind claim (claimBatch),
//     one confirms claims (confirmBatch), one per attempt fires it (run);
//   - one renews the node's lease (heartbeat.go);
//   - one finds receivers that are called within a second, so that connections
//     to them can be opened in time (prewarm.go);
//   - two read the blocked accounts and park their items (blocked.go);
//   - one reviews the suspects of crashes (suspects.go).
//
// Dispatcher.mu guards the phase and the flags of entries. Notice, Revoke,
// Restore, Abort and SetBlocked may be called from any goroutine.
//
// # From the store to the lanes
//
// The loop reads a little ahead in the queue and claims items before they are
// due, so that the claim's commit adds no lateness. It learns of items from
// the store's hints (exact, but they can get lost), from reads at the due time
// of the earliest item not yet read, and from periodic scans of the queue from
// its beginning. Timers are checked against the store's clock at least once a
// second, which bounds the delay after a clock step or a suspended machine.
//
// Only part of a large lane waits in memory. Its backlog stays in the store
// until the lane falls to its low-water mark.
//
// Slots, memory for waiting items and bytes are shared between accounts first,
// then between an account's lanes (shares.go, budget.go).
//
// One item never stops the others: a batch that fails because of its content
// is halved, a panic ends one attempt, and an item that can't be claimed, or
// that was being prepared at three crashes, is set aside (claim.go,
// suspects.go).
//
// What an attempt does and stores is decided in package attempt.
package dispatch
