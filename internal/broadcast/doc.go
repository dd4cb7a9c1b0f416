// Package broadcast hands messages that arrive at /api/broadcast to the pages that
// wait for them: a first job that sends one to the page it was made from shows
// at a glance that the service works, and how punctually.
//
// A page opens a channel, whose name only it knows, and names it in the message.
// Messages for channels that nobody has opened are not kept, so that anyone may
// send what they like to the call, as its contract says, without filling the
// memory. What is kept is little, for a quarter of an hour, and in memory only:
// on several nodes a message has to arrive at the node that serves the page.
package broadcast
