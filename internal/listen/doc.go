// Package listen lets programs on developers' machines respond to the requests that an
// account's jobs, callbacks and webhooks send to https://listen.invalid/NAME/…, and to
// all requests of jobs with a tag. [New] returns a Hub, which package execute asks
// instead of a target.
//
// A listener is a WebSocket that such a program (punctual listen) has opened. The
// service sends requests over it, the program sends responses back ([Message]). Each
// request is the one that a target would get: with its signature, and bounded in
// time by the timeout of its attempt. A listener has a bounded number of requests
// under way; others wait for it as long as their timeouts permit. Of several
// listeners with the same name, the one that connected last answers, unless it is
// busy.
//
// A Hub has the listeners that are connected to this node. If attempts and listeners may
// be on different nodes, a Relay passes requests and responses through the database:
// the node with the attempt (the asker) stores the request for one listener, the
// listener's node takes it, and stores the response. Both nodes read the tables ten
// times a second while they wait for something. Notifications are not needed, so it
// works behind a pooler.
//
// A request to a name is sent to a listener that the database lists at this moment.
// A request of a job with a tag goes to its target, unless a listener for the tag is
// listed. Reading the list for each of them would be expensive, so nodes read it
// every second, and don't send such requests while what they read is older than
// [listFor]. A listener for a tag is ready that long after it was listed; from then
// on, no node sends requests past it.
//
// What a listener sends is not trusted: messages are bounded and checked, and one
// that is not as it must be ends the connection. The attempts under way then fail
// and are retried as usual.
package listen
