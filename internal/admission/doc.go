// Package admission limits the resources of clients' reads, so that large or slow
// reads don't block other clients.
//
// A Store wraps another one. A list occupies a slot of its account while it is
// read: there are a few slots for lists that use an index, and two for heavy
// lists, which are sorted or skip many records. A list waits briefly for a free
// slot, then returns a TooMany fault.
//
// Records use bytes of a budget that all clients of the node share, from before
// they are read until the response is written (see Hold). An account may hold at
// most as many bytes as remain free, so that several large readers get equal
// shares and there is always room for a small page. Most pages are small: a page
// is first read with the budget of a small page, and read again with the bytes
// that it needs if that does not suffice. A response for which several large reads
// are made reserves the bytes of all of them at once (see Reserve).
package admission
