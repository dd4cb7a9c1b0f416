// Package attempt carries out one attempt, from its claim to its record.
//
// It joins what record, execute and the store do: what a claim stores, the
// request with its headers and signatures, the outcome, and the finish, which
// is committed together with those of other attempts. A finish is tried until
// the store takes it: an attempt that was made is never forgotten while the
// process lives.
//
// When attempts are made is dispatch's business.
package attempt
