// Package harness runs the real punctual program for end-to-end suites.
//
// # Why a package
//
// Everything a user meets is the program: its flags, its lines on standard
// output, its responses over HTTP, the requests it sends. Suites that test these
// (behaviour, crashes, races, copying a database) share this package, which
// builds the program, starts it, receives its requests and records them.
//
// # The pieces
//
//   - [Main] is called from TestMain. It builds the program once for the test
//     process, and at the end stops the shared service and checks its output.
//   - [Start] runs `punctual serve` for one test; [Shared] runs one instance for
//     all tests of the process, isolated from each other by accounts. A
//     [Service] is stopped (SIGTERM), killed (SIGKILL) and started again on the
//     same database at will.
//   - A [Target] is a TLS server whose certificate the service trusts. Each test
//     takes a [Route] of its own from it, sets its response, and waits for
//     hits; nothing needs to sleep.
//   - An [Account] is created through the command line, as a script would, and
//     comes with a key, a signing secret and a [Client].
//   - A [Client] calls the API. It keeps responses byte for byte ([Answer],
//     [JSON]) and checks each against the OpenAPI document.
//
// # What fails a test without being asked
//
// A response the OpenAPI document does not describe, a panic or a data race in
// the service's standard error, a status 500. A failed test prints the tail of
// the output of the services it used.
//
// # Environment
//
//   - PUNCTUAL_E2E_BINARY: a program to test instead of building one; scripts/testrun
//     gives the one that it has built.
//   - PUNCTUAL_E2E_RACE: build the program with the race detector.
//   - PUNCTUAL_E2E_NEW_DATABASE: a shell command that prints the URL of a fresh,
//     empty database. Without it each service gets an SQLite file of its own.
package harness
