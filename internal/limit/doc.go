// Package limit computes when attempts may start under limits for receivers: a
// rate (no more than Calls starts in any window of length Per) and a number of
// attempts under way at once. It is pure arithmetic on start times; stores keep
// the State and call Plan inside their transactions.
//
// An attempt is granted an interval in which it may start. A window counts it as if it
// started at the end of the interval, until the actual start is known. This is exact,
// whatever the order of grants: if a window had more than Calls starts, consider the one
// that was granted last. The others started no earlier than Per before it, so the ends
// of their intervals lie there too, and the rule of State.Earliest would have granted a
// later time.
//
// The items of an ordered limit are granted one by one, in order, each when the start
// of the one before is known.
package limit
