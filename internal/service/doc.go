// Package service is what a client may do: create, search, count, move, run,
// repeat and cancel jobs, and enable, disable and delete schedules.
//
// It turns a request that was read into records, sees to it that a caller
// touches its own records only (every call of the store names the owner), and
// coordinates a change with the engine: a claimed run is kept from being fired
// while a cancel is decided, and a request under way is aborted after it.
//
// How requests arrive is httpapi's business, what a change stores is record's.
package service
