// Package maintenance runs background work on the store: make a [Worker] and call
// [Worker.Run]. It removes records older than the retention, expired sessions, old
// statistics and the records of deleted accounts, counts ended runs for monthly reports,
// and counts stored jobs and due queue items for the metrics.
//
// Each task is a step that does a small batch and returns the pause until the next,
// so that tests need not wait and the engine's commits are not delayed.
package maintenance
