// Package mariatest starts a MariaDB server for tests of the outbox and of the clients'
// drivers.
//
// [Start] makes a server in a temporary directory, which listens at a socket only, or
// returns [ErrMissing] if MariaDB's programs are not installed; tests skip then. Call
// [Server.Stop] at the end of the test or of the process.
package mariatest
