// Package api has the contract of punctual's HTTP API. [JSON] returns the document that
// is served, [Reference] the readable reference for a [Frame].
//
// The contract is openapi.yaml, an OpenAPI 3.1 document written by hand. It is changed
// first, the service follows. Tests send its request examples and validate every
// response of the service (package apitest). The schemas are strict: records name every
// key that they have and allow no other.
//
// openapi.json is the same document with its keys in the same order, made by go generate
// and committed, so that the service needs no YAML library. A test fails when the two
// files differ.
//
// The programs in samples make calls with the command line and the clients. The
// reference shows the bodies of their functions; tests run them.
//
// The reference is one HTML page that needs no scripts and no fonts. Its one style sheet
// is inline and named by hash in its Content-Security-Policy. Package docsite serves it
// beside the guides.
package api
