// Package rehearse runs schedules under virtual time: what they will do between two
// times, with outages, failing and slow targets, and limits for receivers.
//
// [Run] takes the schedules with their unfinished runs and returns a [Result]. Nothing
// is sent or stored. Findings ([Result.Findings]) are sentences about what a person
// would want to change, each with a code and the fix. [Compare] returns how two results
// differ.
//
// The package has no rules of its own. Package lifecycle decides what follows an
// attempt, package limit when attempts may start, package schedule when points are due,
// and package retry how long to wait. This package has only what the engine and the
// store are for them: a clock, a queue, and records in memory.
//
// It is pure: there is no clock, no store and no randomness. Which attempts fail is
// drawn from a hash of the key, the due time and the number of the attempt, so the same
// request has the same result. Runs, work, memory and output are bounded; a result that
// is cut says where (see [Cut]).
//
// Package service reads the schedules and applies edits to them before they are
// rehearsed.
package rehearse
