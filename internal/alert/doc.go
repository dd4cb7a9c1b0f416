// Package alert decides what alerts send: [Record] adds an outcome to what the end of a
// job stores, and Track turns outcomes into signals and deliveries. It is pure.
//
// A [Definition] says what an alert watches and where it sends messages. Signals are
// failed, recovered, late, skipped and ended; deliveries stay within the limits on
// messages. store.Alerts calls Track inside a transaction: the outcomes are deleted and
// the deliveries stored together, so each signal is sent once.
//
// Package watch records the outcomes and runs the tracker; package notify formats the
// messages.
package alert
