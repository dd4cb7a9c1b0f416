// Package cli is the command line: what punctual's commands and flags are, and
// how their results and errors reach a person or a script.
//
// Results go to standard output (as JSON with --json), logs and errors to
// standard error; every error is a sentence that says what to do. What the
// commands do is app's and auth's business.
package cli
