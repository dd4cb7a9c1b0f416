// Package qstash runs an application that uses the published client @upstash/qstash,
// unmodified, against the real binary on both stores. It needs Node.js 20.
//
// node/application.test.mjs calls each public method of the client and compares results
// with what its types and documentation say; a test fails if a method was not called.
// node/receivers.mjs has the handlers that receive the messages, behind the client's own
// helpers. The application gets what punctual keys qstash prints, and nothing else.
// node/identity.test.mjs verifies tokens of the service with the library that the client
// brings.
package qstash
