// Package stats keeps what the dashboard's plots show: for each account and
// minute how many runs there were, how many failed, how late they began and how
// long they took.
//
// Counting costs the engine next to nothing: Observe takes a short lock of one
// of many shards, adds to a few numbers, and allocates only when an account is
// first heard of in a minute. Times are counted in fixed histograms, whose
// buckets grow by a fifth, so a percentile is right to about a tenth.
//
// Each process writes its counts of a minute every ten seconds and when it
// stops, each time in place of what it has written of that minute before: a
// write that is made twice changes nothing. What a kill loses is therefore at
// most ten seconds of statistics. Reading adds up what all processes have
// written, and what this one has not yet.
package stats
