// Package cli is the command line: what punctual's commands and flags are, and
// how their results and errors reach a person or a script.
//
// Results go to standard output (as JSON with --json), logs and errors to
// standard error; every error is a sentence that says what to do. Most commands
// work on a database, beside a service or as one, and what they do is app's and
// auth's business; those of jobs are clients of the API, here or elsewhere.
package cli
