// Package watch runs the tracker of alerts: make a [Watcher] with [New], store ends of
// jobs through its Recorder, and call [Watcher.Run].
//
// A Watcher knows which accounts have alerts. Its Recorder adds outcomes to what a
// transaction stores when a job of such an account ends; for other accounts that costs
// one lookup in memory. Run tracks the outcomes, sends reminders, and looks for late
// runs. All nodes do so; the store lets one at a time track an account.
package watch
