// Package staticfile serves texts that the program contains or makes once: make a [File]
// with [New] and call [File.Serve]. It keeps each with its hash and, once a client asked
// for it, its compressed form, so that a response is one write. Responses are compressed
// for clients that accept gzip, and requests with If-None-Match for the same text get a
// 304. The caller says how long clients may cache a text.
package staticfile
