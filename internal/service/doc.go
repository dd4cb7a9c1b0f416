// Package service is the entrance for all edges: [New] returns the Service, whose
// methods are what a client may do (create, reschedule, run, rerun and cancel jobs, and
// edit, enable, disable and delete schedules) and read (jobs, schedules and logs, one by
// one and in pages, searches, counts and exports). Accounts, keys and rates are in
// packages auth and quota.
//
// It turns validated requests into records and restricts each caller to its own
// records: every call to the store names the owner. It also coordinates changes
// with the engine: it keeps a claimed job from being fired while a cancel is
// decided, and aborts a request under way afterwards.
//
// Package httpapi reads the requests; package lifecycle decides what a change
// stores.
package service
