// Package job defines jobs, schedules, logs and deliveries: [Read] reads a create
// request into a [Draft], and [Render] makes the request of an attempt from a [Spec],
// with dynamic fields resolved. The states of a job are in states.go.
//
// Everything here is pure: no clock, no network, no store. A job changes state
// by a few transitions (see states.go). Each is a method that checks the current
// state, so that a forbidden transition is impossible. Reading a create request
// (read*.go) finds all its problems at once. What it accepts is kept verbatim
// as args and read again, without checks, when the job fires. The fields of a
// request are described by the table in fields.go; see Field.
//
// Package schedule computes due times, package retry decides when a failed
// attempt is retried, and package store keeps the records.
package job
