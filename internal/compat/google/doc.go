// Package google serves the Cloud Tasks API (google.cloud.tasks.v2.CloudTasks) and the
// Cloud Scheduler API (google.cloud.scheduler.v1.CloudScheduler), so that programs with
// Google's clients need only another endpoint. [New] returns the API, which
// httpapi.Server.Foreign serves, by gRPC and by REST on the same address.
//
// It is an adapter over package service, as httpapi is: it translates requests into the
// fields of jobs, and records into messages. It has no rules and no records of its own;
// what these APIs know of a job or a limit beyond its fields is in its dialect (see
// job.Dialect and limit.Record).
//
//	queue          a limit; its dialect has the queue's settings, and an id that is new
//	               each time the queue is created, so that a new queue knows no names of
//	               tasks of an earlier one
//	task           a job that names the limit; the name that its client has chosen is its
//	               idempotency key, which is held for an hour after the job's end
//	Scheduler job  a schedule whose idempotency key is the name of the job
//	page token     the place of the last record of the page
//
// The methods are in tables by service (see methods), with the messages that Google
// publishes; paths of REST come from the annotations of these. Errors are
// google.rpc.Status, with details.
package google
