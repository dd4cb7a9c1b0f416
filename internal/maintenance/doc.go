// Package maintenance keeps house beside the engine: it removes what is older than
// the retention, what has expired and what deleted accounts have left, and counts
// what is stored for the metrics.
//
// Each chore is a step that does a little and reports whether there is more to
// do, so that it is tested without waiting and delays nothing: a removal is a
// batch small enough to fit between two commits of the engine.
package maintenance
