// Package metrics defines the Prometheus metrics of a process: make one [Metrics] with
// [New] and call its methods.
//
// Each process creates one Metrics and passes it to the packages that report something;
// the HTTP server exposes it. All names begin with punctual_, all times are in seconds.
// There are no labels by account, key or target, because their number is unbounded.
package metrics
