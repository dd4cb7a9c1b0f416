// Package harness runs the real punctual program for end-to-end suites.
//
// # Why a package
//
// Everything a user meets is the program: its flags, its lines on standard
// output, its answers over HTTP, the requests it sends. Suites that hold those
// promises (behaviour, crashes, races, moving a store) share the work of
// building it, starting it, giving it somewhere to send requests and watching
// what comes back; that work lives here, once.
//
// # The pieces
//
//   - [Main] is called from TestMain. It builds the program once for the test
//     process, and in the end stops what was shared and looks through its output.
//   - [Start] runs `punctual serve` for one test; [Shared] runs one instance for
//     all tests of the process, isolated from each other by accounts. A
//     [Service] is stopped (SIGTERM), killed (SIGKILL) and started again on the
//     same database at will.
//   - A [Target] is a TLS server whose certificate the service trusts. Each test
//     takes a [Route] of its own from it, tells it what to answer, and waits for
//     hits; nothing needs to sleep.
//   - An [Account] is made through the command line, as a machine would, and
//     comes with a key, a signing secret and a [Client].
//   - A [Client] speaks to the API. It keeps answers byte for byte ([Answer],
//     [JSON]) and holds each against the OpenAPI document.
//
// # What fails a test without being asked
//
// An answer the OpenAPI document does not describe, a panic or a data race in
// the service's standard error, a status 500. A failed test prints the tail of
// the output of the services it used.
//
// # Environment
//
//   - PUNCTUAL_E2E_BINARY: a program to test instead of building one.
//   - PUNCTUAL_E2E_RACE: build the program with the race detector.
//   - PUNCTUAL_E2E_NEW_DATABASE: a shell command that prints the URL of a fresh,
//     empty database. Without it each service gets an SQLite file of its own.
package harness
