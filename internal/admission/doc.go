// Package admission bounds what reads for clients may use, so that whoever
// reads much, or slowly, keeps nobody else waiting.
//
// A Store stands in front of another one. Lists take a slot of their account for
// as long as they are read: a few for lists that are found by an index, two for
// heavy ones, which are sorted or counted through. Who finds none waits a little
// and gets a TooMany fault then.
//
// Records take bytes of a budget that all clients of the node share, from before
// they are read until they are written (see Hold). An account may hold as much as
// it leaves free, so that several large readers come to equal shares, and a small
// page always finds room. Most pages are small: a page is read as if it were, and
// only if it is not, again with the bytes that it needs.
package admission
