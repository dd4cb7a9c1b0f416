// Package e2e tests what the API promises, against the real program, over HTTP.
//
// # What belongs here
//
// A test here verifies a sentence of the contract and makes sense to somebody
// who has only read the API's documentation: it uses no package, table or type
// of the service. What a unit test can show better (every corner of the retry
// arithmetic, of daylight saving, of claims) belongs to the package that owns
// it; the tests here show what a client sees.
//
// # Names
//
// A test is named TestSubject_Expectation, and its file is named after the
// subject: area_topic_test.go has the tests of TestAreaTopic, with the area in
// the singular, and area_test.go has those of the area as a whole. So
// schedules_cron_test.go has TestScheduleCron_…, -run TestSchedule runs all
// tests of schedules, and -run TestSchedule_ only those of schedules_test.go. In
// the area jobs, which most tests are about, the area is left out of the name:
// jobs_cancel_test.go has TestCancel_…. Tests in which calls meet at random have
// Race in their name, so -run Race runs them all. What several files use is in
// helpers_*_test.go.
//
// # How the tests are isolated, and fast
//
// Nearly all tests use one instance ([harness.Shared]) and run in parallel.
// Each creates an account of its own, so lists, filters and idempotency keys
// never mix with those of another test, and each takes a route of its own from
// the shared target. Tests of flags, signals or output start an instance for
// themselves. Nothing sleeps: a test waits for a hit of a target, for a process
// to end, or polls with [harness.Eventually].
//
// # Dates
//
// Expected times are written out rather than calculated, because a test that
// repeats the service's arithmetic repeats its mistakes. They lie in 2031 (see
// the constant far), which is in the future and within the ten years a job may
// wait.
//
// # Malformed requests
//
// One test sends ten thousand requests derived from the OpenAPI document and
// altered at random. It prints its seed; PUNCTUAL_E2E_SEED repeats a run.
// PUNCTUAL_E2E_MALFORMED sends another number of them.
//
// # Races
//
// A race of calls runs until each outcome, among them that the calls met, was seen
// often enough, or a quarter of its rounds; PUNCTUAL_E2E_FULL has it run all of them, and
// the storm of kills kill fifty times instead of fifteen.
package e2e
