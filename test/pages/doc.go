// Package pages measures the dashboard's pages and the lists of the API in a store with
// very many records, on both stores.
//
// # The records
//
// The service itself makes some hundred records of every kind: it runs jobs that succeed,
// fail and wait for a retry, reruns, runs of schedules, limits and their lines, groups, alerts
// with their messages, workflow runs. Then the test copies their rows with SQL, with other
// numbers, ids and times, until the store has PUNCTUAL_PAGES_JOBS jobs (600 by default).
// So a new column has the values that the service gives it. Four fifths of the jobs are those
// of one account with 2,000 schedules; the rest is spread over 200 others, of which one has
// 300,000 disabled schedules besides.
//
// # What is measured
//
// Each address is read as a person who is signed in, or with a key: once to warm up, then
// PUNCTUAL_PAGES_TIMES times. The test logs the median and the maximum of the time, and the
// CPU of the service and of the database's server a request. It fails if a page doesn't
// respond with the expected status, never because of a time.
//
// `make pages` does so with five million jobs. PUNCTUAL_PAGES_SQLITE and
// PUNCTUAL_PAGES_POSTGRES name databases that are kept and used again; PUNCTUAL_PAGES_ONLY
// is a regular expression for the names of the addresses to read.
package pages
