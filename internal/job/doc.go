// Package job holds what punctual is about: jobs, schedules, logs and
// deliveries, the states a job goes through, the request a client makes, and
// the fields of it that are filled in when it fires.
//
// Everything here is pure: no clock, no network, no store. A job's life is a
// handful of transitions (see states.go), each a method that checks where it
// starts from, so that a forbidden change can't be written down. Reading a
// create request (read*.go) finds every fault of it at once; what it accepts
// is kept verbatim as args and read again, without checks, when the job fires.
//
// What comes next in a schedule is the schedule package's business; when a
// failed attempt is made again is the retry package's; storing is the store's.
package job
