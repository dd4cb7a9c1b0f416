// Package why explains in plain sentences why a job or a schedule is in its state, and
// what to do about it. Make a [Job] or [Schedule] of what is known, with [ReadJob] and
// [ReadSchedule] from the API's records, and call Explain.
//
// The sentences are the same for the command line, the dashboard and agents. What each
// of them calls an [Action], and how it writes a time, is its own.
//
// Callers read the records, from a service or a store.
package why
