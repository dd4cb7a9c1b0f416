// Package release lets jobs start that wait for other jobs. [New] returns a Worker, of
// which each node runs one.
//
// The store has which jobs wait for which, and the ends of awaited jobs that are still
// to be handled: the transaction that makes an awaited job final stores them. A Worker
// takes these ends in small steps, accounts in turn. A step is one transaction, so a
// crash at any moment loses nothing and does nothing twice; workers of several nodes
// skip what others have locked. What a job then becomes is decided by package lifecycle.
//
// Nothing polls awaited jobs. See docs/adr/0042-batches-and-waiting-jobs.md.
package release
