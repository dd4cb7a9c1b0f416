// Package stats keeps the data of the dashboard's plots: [Collector.Observe] counts an
// attempt, [Collector.Series] and [Collector.Range] read the counts. They have, for each
// account and minute, how many jobs' attempts succeeded and failed, their lateness and
// their duration.
//
// Counting costs the engine next to nothing: Observe locks one of many shards,
// adds to a few numbers, and allocates only for an account's first attempt in a
// minute. Times are counted in fixed histograms whose buckets grow by a fifth,
// so a percentile is accurate to about a tenth.
//
// Each process writes its counts of a minute every ten seconds and when it
// stops. A write replaces what the process has written of that minute before,
// so writing twice changes nothing. A kill loses at most ten seconds of
// statistics. Reading adds up what all processes have written, and what this
// one has not written yet.
//
// The attempts of all accounts are counted once more under store.EveryAccount, with
// the greatest lateness of each minute. From these rows the service reports its own
// punctuality. It keeps the sums of past hours in memory, so it reads each hour once,
// and every ten seconds at most the minutes of the last two hours.
package stats
