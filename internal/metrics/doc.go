// Package metrics holds what punctual measures of itself, in Prometheus' terms.
//
// One Metrics is made for a process and handed to whoever has something to
// report; how it is read is the HTTP server's business. All names begin with
// punctual_, all times are in seconds. There are no labels by account, key or
// target: their number has no bound.
package metrics
