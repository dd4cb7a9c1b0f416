// Package qstash serves the QStash-compatible API at /v2: programs that use a client of
// QStash need only another address and token. [New] returns the API, which
// httpapi.Server.Mount serves beside the service's own.
//
// It is an adapter over package service, as httpapi is: it translates requests into the
// fields of jobs, and records into messages. It has no rules and no records of its own;
// what that API knows of a job beyond its fields is in the job's dialect (see
// job.Dialect), and so is how its requests are signed.
//
//	message           a job that was created here; its id is msg_ and the job's
//	schedule          a schedule that was created here; its id is the one that the client
//	                  chose, which is its idempotency key, or scd_ and the schedule's
//	dead letter queue the discarded jobs that nobody has removed from it
//	URL group         a group
//	flow control key  a limit; what does not fit into a limit's key is encoded, see limitKey
//	queue             an ordered limit, queue: and the name
//	deduplication     an idempotency key that is kept for ten minutes
//	label             in the dialect, and a tag if it can be one
//
// [ReadOptions] reads the headers of a message. Errors are {"error": "..."}.
package qstash
