// Package schedule says when things are due. It is pure: no clock, no store, no
// configuration; the present is always an argument.
//
// A [Frequency] is a grid of points in time. An [Interval] lays it out from the
// first due time in equal steps, a [Cron] lays it out from the readings of a
// wall clock. Everything a schedule asks is asked of the grid: [Resume] where it
// continues when it is enabled, [FollowUp] which run comes after one that is
// final, [LatestIn] which point was the last to pass.
//
// The package also reads the notations in which clients write times: instants
// ([ParseInstant], [ParseUnix]), amounts ([ParseAmount], [UnitSeconds]), cron
// expressions ([ParseCron]) and zone names ([LoadZone]). Numbers arrive as JSON
// literals and are computed exactly, because a binary fraction would move a due
// time. Errors complete a sentence that begins with the field's name.
//
// All returned times are in UTC and whole microseconds, the resolution of the
// stores.
//
// # The wall clock
//
// Cron is written in civil time, and clocks jump. Two rules turn readings into
// instants, as Debian's cron does it.
//
// A fixed time (neither minute nor hour begins with *) is meant once a day. It
// is due at the first instant at which the clock shows that reading or a later
// one: in an overlap that is the first pass, in a gap the first instant after
// it. Several fixed times in one gap fall together.
//
// Where minute or hour begins with *, the clock is watched minute by minute:
// every instant at which it turns to a matching minute is due, so minutes
// that a gap leaves out are left out, and an overlap has them twice.
//
// Both are resolved here from nothing but a zone's offset at an instant and the
// end of the period over which it holds.
//
// # What lives elsewhere
//
// Whether a time is too far ahead, which fields exclude each other and what is
// kept of a request is decided by the job package; waiting for a time is the
// dispatcher's.
package schedule
