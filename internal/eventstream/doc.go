// Package eventstream tells those who watch an account what happens in it, as it
// happens: new jobs, changes of their states, and logs, as server-sent events.
//
// Nothing waits for it. Whoever stores something says so (Wake, Changed), which
// costs a look at a number while nobody watches. For each account that is
// watched there is one watcher, however many streams there are: it reads the
// marks of the newest logs and jobs of the account, a few bytes each, a moment
// after it was woken, and once a second for what other nodes did, compares them
// with what it has told already, and hands what is new to the streams. So an event
// is what the store says, there is no order of commits to rely on, and what a round
// reads is bounded: of a flood a part is shown, and an event says that some was
// skipped. A watcher rests nine times as long as it reads, and polls the more
// seldom the more accounts are watched.
//
// Small records are read once for all streams of an account. A large one is read
// by each stream when it is written, within the bytes that all answers share.
//
// A stream has a queue of bounded size. When it is full because its reader is
// slow, the stream ends; a client that follows the rules of server-sent events
// comes back with the id of the last log it has seen, and gets those after it
// first. Streams end by themselves after a quarter of an hour as well, so that
// credentials are looked at again.
package eventstream
