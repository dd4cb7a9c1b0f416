// Package attempt carries out one attempt, from its claim until its outcome is stored.
// [New] returns a Runner, which package dispatch calls.
//
// It connects lifecycle, execute and the store: what a claim stores, the request with
// its headers and signatures, the outcome, and the finish, which is committed together
// with those of other attempts. The Runner repeats a finish until the store accepts it,
// so no outcome is lost while the process runs.
//
// When attempts start is decided by package dispatch, what their outcome means by
// package lifecycle.
package attempt
