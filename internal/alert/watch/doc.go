// Package watch runs the tracker of alerts.
//
// A Watcher knows which accounts have alerts. Its Recorder adds outcomes to what a
// transaction stores when a job of such an account ends; other accounts pay for one
// lookup in memory. Its Run tracks the outcomes, reminds, and looks for runs that
// are late. All nodes do so; the store lets one at a time track an account.
package watch
