// Package schedule computes when things are due: make a [Grid] of an [Interval] or a
// [Cron], and ask it for the next point. It is pure: it has no clock, no store and no
// configuration; the current time is always an argument.
//
// A [Frequency] is a grid of points in time. The grid of an [Interval] has equal
// steps from the first due time, the grid of a [Cron] follows a wall clock. A
// [Grid] adds what a schedule can set besides: a beginning and an end, dates
// without points, and a shift. [LatestIn] returns the last point that has passed,
// [Grid.Points] counts the points between two times without visiting each, and
// [Grid.AppendDue] lists them.
//
// The package also reads the notations in which clients write times: instants
// ([ParseInstant], [ParseUnix]), amounts ([ParseAmount], [UnitSeconds]), cron
// expressions ([ParseCron]), dates ([ParseDateRange]) and zone names ([LoadZone]).
// Numbers are JSON literals and are computed exactly, because a binary fraction
// would change a due time. The text of an error completes a sentence that begins
// with the field's name.
//
// All returned times are in UTC and whole microseconds, the resolution of the
// stores.
//
// # Wall clocks
//
// A cron expression is in civil time, and clocks jump. Two rules turn readings of
// a clock into instants, as in Debian's cron.
//
// A fixed time (neither minute nor hour begins with *) is meant once a day. It is
// due at the first instant at which the clock shows that reading or a later one:
// in an overlap that is the first pass, in a gap the first instant after it.
// Several fixed times in one gap are due at the same instant.
//
// If minute or hour begins with *, the expression is matched minute by minute:
// every instant at which the clock changes to a matching minute is due. Minutes
// in a gap are left out, and minutes in an overlap are due twice.
//
// Both rules need nothing but a zone's offset at an instant, and the end of the
// period with that offset.
//
// # What is elsewhere
//
// Package job decides whether a time is too far ahead, which fields exclude each
// other and what is stored of a request. Package lifecycle decides which point the
// next run is for. Package dispatch waits for due times.
package schedule
