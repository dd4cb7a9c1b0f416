// Package e2e holds the promises of the API against the real program, over HTTP.
//
// # What belongs here
//
// A test here is named after a sentence of the contract and would make sense to
// somebody who has only read the API's documentation: it knows nothing of
// packages, tables or types of the service. What a unit test can show better
// (every corner of the retry arithmetic, of daylight saving, of claims) is left
// to the package that owns it; here stands what a client sees.
//
// # How the tests are kept apart, and fast
//
// Nearly all tests use one instance ([harness.Shared]) and run in parallel.
// Each makes an account of its own, so lists, filters and idempotency keys never
// meet those of another test, and each takes a route of its own from the shared
// target. Tests about flags, signals or output start an instance for themselves.
// Nothing sleeps: a test waits for a hit of a target, for a process to end, or
// polls with [harness.Eventually].
//
// # Dates
//
// Expected times are written out rather than calculated, because a test that
// repeats the service's arithmetic repeats its mistakes. They lie in 2031 (see
// the constant far), which is ahead, and within the ten years a job may wait.
//
// # Malformed requests
//
// One test sends ten thousand requests derived from the OpenAPI document and
// broken at random. Its seed is printed; PUNCTUAL_E2E_SEED repeats a run.
package e2e
