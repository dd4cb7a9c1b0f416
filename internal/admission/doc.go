// Package admission limits the resources of clients' reads, so that large or slow reads
// don't block other clients. Wrap a store with [New]; call [Hold] around a request so
// that bytes count until its response is written, and [Reserve] before several large
// reads for one response.
//
// A list occupies a slot of its account while it is read: there are a few slots for
// lists that use an index, and two for heavy lists, which are sorted or skip many
// records. A list waits briefly for a free slot, then returns a TooMany fault.
//
// Records use bytes of a budget that all clients of the node share, from before they are
// read until the response is written. An account may use at most as many bytes as remain
// free, so several large readers get equal shares and a small page always fits. A page
// is first read with the budget of a small page, and read again with the bytes that it
// needs if that does not suffice.
package admission
