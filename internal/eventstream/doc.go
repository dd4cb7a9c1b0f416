// Package eventstream streams an account's events as they happen: new jobs, changes of
// their states, and logs, as server-sent events. Call [Hub.Open] and [Stream.Serve] for
// a client, and [Hub.Wake] or [Hub.Changed] after a change was stored.
//
// It never blocks the code that stores records: Wake and Changed cost one atomic read
// while nobody watches. Each watched account has one watcher, however many streams are
// open. The watcher runs shortly after it was woken, and about once a second to find
// changes by other nodes. It reads the numbers, states and times of the account's newest
// logs and jobs (a few bytes each), compares them with what it has already sent, and
// passes new events to the streams. Events therefore reflect the store and do not depend
// on the order of commits. The work of a round is bounded: during a flood the watcher
// sends a part, and an event that says how many were skipped. A watcher pauses nine
// times as long as it reads, and polls less often the more accounts are watched.
//
// Small records are read once for all streams of an account. Each stream reads a
// large record when it writes it, within the memory budget that all responses share.
//
// A stream has a bounded queue. If the queue is full because the reader is slow, the
// stream ends. A client of server-sent events then reconnects with the id of the last
// log it received and first gets the logs after it. Every stream also ends after a
// quarter of an hour, so that the client authenticates again.
package eventstream
