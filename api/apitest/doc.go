// Package apitest validates the service's responses against the contract.
//
// A test that talks to the service passes each exchange to Validator.Check,
// which finds the operation the request belongs to and reports whatever the
// document does not allow: a status it does not name, a header that is missing,
// another content type, a body with a key too many or too few. A path the
// document does not know must respond with 404 and a method it does not know 405,
// both as the problem the document describes.
//
// The other direction is held too: a JSON body that the service accepts must be
// one that the document accepts. Without that, schemas of requests would rot
// unseen, because no response shows them.
//
// Operations lists the calls with their parameters and request examples, so
// that tests can replay what the reference promises.
//
// The document is parsed and its schemas compiled once in a process, however
// many validators tests ask for. A Validator may be used from many goroutines.
package apitest
