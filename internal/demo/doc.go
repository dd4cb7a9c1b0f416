// Package demo shows the service at work to a newcomer and checks what it shows: call
// [Run]; punctual demo does.
//
// # What is shown
//
// The whole service runs in this process: its store on a temporary database, its engine,
// its HTTP API on a free port. Beside it runs a target, a TLS server with a certificate
// authority of its own. Nothing leaves the machine, nothing else needs to be installed,
// and no files remain.
//
// Three jobs are created, over HTTP and with a key, as any client would. One fires once.
// One recurs and has the target count its runs in $state, which shows that a schedule
// keeps state. One gets 503 at first, which shows a retry ten to eleven seconds later;
// that determines how long the demo takes.
//
// # What is measured
//
// The time at which a run fired is the time at which the target had its request,
// including the time to open a connection. Everything else (due time, state, status of
// the response, time of the retry) is read through the API.
//
// # What is judged
//
// At the end, what the target received and what the API reports are compared with each
// other and with the API's promises: nothing early, nothing missing, nothing twice,
// every record in its place (see verdict). Lateness breaks no promise: on a busy machine
// the figures are worse, and are shown as they are.
//
// # How it ends
//
// The service always stops before the target, and the files are removed last, also when
// the demo is interrupted.
package demo
