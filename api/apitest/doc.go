// Package apitest validates the service's responses against the contract. Call [New] in
// a test and pass each exchange to [Validator.Check]; [Validator.Operations] lists the
// calls with their parameters and request examples, so that tests can send what the
// reference shows.
//
// Check finds the operation that a request belongs to and reports whatever the document
// does not allow: a status that it does not name, a missing header, another content
// type, a body with a member too many or too few. A path that the document lacks must
// respond with 404, a method that it lacks with 405, both with the problem that the
// document describes.
//
// It also checks requests: a JSON body that the service accepts must be one that the
// document accepts.
//
// The document is parsed and its schemas compiled once for each process. A Validator is
// safe for concurrent use.
package apitest
