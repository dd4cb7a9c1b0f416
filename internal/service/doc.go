// Package service implements what a client may do: create, search, count,
// reschedule, run, rerun and cancel jobs, and enable, disable and delete
// schedules.
//
// It turns validated requests into records and restricts each caller to its own
// records: every call to the store names the owner. It also coordinates changes
// with the engine: it keeps a claimed job from being fired while a cancel is
// decided, and aborts a request under way afterwards.
//
// Package httpapi reads the requests; package lifecycle decides what a change
// stores.
package service
