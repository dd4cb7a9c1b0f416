// Package httpapi serves the API over HTTP, with one route table and one file per
// resource. [New] returns the Server; [Server.Mount] adds a compatible API.
//
// It reads requests (credentials, bodies, query parameters), calls package
// service, and writes records or problems (RFC 9457). A fault becomes a response
// with its status and message. Any other error is logged and becomes an internal
// error without details.
//
// The order of checks is fixed: route (404), method (405), key (401), rate
// (429), media type (415), size (413), syntax (400), content (422).
//
// It contains no rules: packages job and service decide what a request may
// contain.
package httpapi
