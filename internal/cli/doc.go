// Package cli implements the command line: punctual's commands and flags, and how
// it prints results and errors for people and scripts.
//
// Results go to standard output (as JSON with --json), logs and errors to
// standard error; every error is a sentence that says what to do. Most commands
// work on a database through packages app and auth, and can run while the service
// does. The jobs commands are clients of the API.
package cli
