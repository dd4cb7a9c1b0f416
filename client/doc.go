// Package client calls the HTTP API of punctual and verifies what punctual sends.
//
// [New] returns a [Client], which is safe for concurrent use. Its methods are named
// after the operations of the API's document: [Client.CreateJob] is createJob. Jobs
// and schedules are named by id or by key ([ID], [Key]); lists are iterators that
// fetch page after page.
//
// Errors that the service reports are of type [*Problem]; errors.As finds them.
// Calls that can be repeated without harm are retried with growing waits, bounded by
// [Config]; Retry-After and RateLimit are honoured. So that creating a job can be
// repeated, each job without a RequestID gets a random one.
//
// [Verifier] checks the signatures of requests, callbacks and webhooks. Package
// receiver has the HTTP middleware that uses it.
//
// The package needs the standard library only.
package client
