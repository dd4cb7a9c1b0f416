// Package api holds the contract of punctual's HTTP API and shows it.
//
// The contract is openapi.yaml, an OpenAPI 3.1 document written by hand. It
// comes first and the service follows: tests replay its request examples and
// hold every answer of the service against its schemas (package apitest), so
// the two can't drift apart unnoticed. That is why the schemas are strict:
// records name every key they have and allow no other.
//
// What is served is openapi.json, the same document with its keys in the same
// order, made by go generate and committed, so that running the service takes
// no YAML library. A test fails when the two files differ.
//
// The programs in samples make calls with the command line and the clients. The
// reference shows the bodies of their functions; tests run them.
//
// The readable reference is rendered from the document too. It is one HTML page
// that needs no scripts and no fonts, with its one style sheet inline and named by
// hash in its Content-Security-Policy. Package docsite serves it beside the guides,
// in a Frame with their navigation and search.
package api
