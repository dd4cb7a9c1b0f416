// Package cli implements the command line: [Run] runs one command and returns its exit
// status. Here are punctual's commands and flags, and how results and errors are printed
// for people and scripts.
//
// Results go to standard output (as JSON with --json), logs, progress and errors
// to standard error; every error is a sentence that says what to do, and has an
// exit status (status.go). Commands are of three kinds: those with databaseFlag
// work on a database through packages app and auth, and can run while the service
// does; those with serviceFlags are clients of the API, which take the service and
// the key from flags, the environment or a profile; the others need neither.
//
// What a service or a target sent is printed through tables, facts, printable or
// safeJSON (terminal.go, table.go, records.go), which escape what could change a
// terminal.
package cli
