// Package alert decides what alerts send. It is pure.
//
// A Definition says what an alert watches and whom it tells. Track turns the
// outcomes of jobs into signals (failed, recovered, late, skipped, ended), and signals
// into deliveries, within the limits on messages. Its input and output are those
// of store.Alerts, which calls it inside a transaction: the outcomes are deleted
// and the deliveries stored together, so that each signal is sent once.
//
// Package watch records the outcomes and runs the tracker.
package alert
