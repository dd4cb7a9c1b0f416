// Package receiver has HTTP middleware for programs that punctual sends requests,
// callbacks and webhooks to. It verifies the signature, limits the body, and drops
// repeats by webhook-id.
//
// Delivery is at least once: after a crash or a lost response the service sends the
// same message again, with the same webhook-id. [New] remembers ids in memory, which
// is enough against lost responses. [NewSQL] stores each id in the database
// transaction in which the handler does its work: the work and the id are committed
// together or not at all, so each message takes effect exactly once, though both
// sides may crash at any moment.
//
// A repeat is answered with the response of the first time, so that a schedule's $set
// arrives even if the first response was lost.
//
// Only success is remembered: after a response that is no 2xx, a panic or a rollback,
// the next attempt reaches the handler again.
package receiver
