// Package broadcast passes messages sent to /api/broadcast to the pages that wait for
// them: [Hub.Open] opens a channel, [Hub.Put] sends to it, [Hub.Watch] waits. A first
// job that sends a message back to the page that created it shows that the service
// works, and how punctually.
//
// A page opens a channel, whose name only it knows, and names the channel in the
// message. Messages for other channels are dropped, so that clients can't fill the
// memory. Messages are kept for a quarter of an hour, few of them, and in memory
// only: with several nodes a message must arrive at the node that serves the page.
package broadcast
