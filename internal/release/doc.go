// Package release lets jobs start that wait for other jobs. [New] returns a Worker, of
// which each node runs one.
//
// Which jobs wait for which is in the store, and so are the ends of awaited jobs that
// are still to be noted: the transaction that makes an awaited job final stores them.
// A Worker takes these ends in small steps, accounts in turn. A step is one transaction,
// so a crash at any moment loses nothing and does nothing twice; workers of several
// nodes skip what others are at. What a job becomes then is decided by package lifecycle.
//
// Jobs that others wait for are not special otherwise: nothing polls them. See
// docs/adr/0042-batches-and-waiting-jobs.md.
package release
