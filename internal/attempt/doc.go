// Package attempt carries out one attempt, from its claim until its outcome is
// stored.
//
// It connects lifecycle, execute and the store: what a claim stores, the
// request with its headers and signatures, the outcome, and the finish, which
// is committed together with those of other attempts. The Runner retries a
// finish until the store accepts it, so no outcome is lost while the process
// lives.
//
// Package dispatch decides when attempts start.
package attempt
