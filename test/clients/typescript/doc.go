// Package typescript runs the tests of the TypeScript client against the real
// binary. The tests are in clients/typescript/test and run with Node's own test
// runner; this package starts the service, a PostgreSQL database and a TLS server
// that passes requests on to the tests' receivers, and builds the client first.
package typescript
