// Package demo shows the service at work to someone who has just met it, and
// holds it to its word meanwhile.
//
// # What is shown
//
// The whole service runs in this process: its store on a temporary database,
// its engine, its HTTP API on a free port. Beside it runs a target, a TLS
// server with a certificate authority of its own. Nothing leaves the machine,
// nothing else needs to be installed, and nothing is left behind.
//
// Three jobs are created, over HTTP and with a key as any client would. One
// fires once. One recurs and lets the target count its runs in $state, which
// shows that a schedule remembers. One gets 503 at first, which
// shows that a failure is not the end: its retry, ten to eleven seconds later,
// is what the demo's length comes from.
//
// # What is measured
//
// A service that reports its own punctuality proves little. The time a run
// fired is therefore the time the target had the request in its hands, with
// setting up the connection included. Everything else (the due time, the state,
// the response's status, the retry's time) is read through the API, where a
// client would read it.
//
// # What is judged
//
// At the end, what the target received and what the API reports are compared with each
// other and against the API's promises: nothing early, nothing missing, nothing
// twice, every record in its place (see verdict). Being late is no broken
// promise: on a machine that is busy with other things the numbers are worse,
// and are shown as they are.
//
// # How it ends
//
// Whatever happens, the service stops before the target does, and the files go
// last; so an interrupted demo leaves no more behind than a finished one.
package demo
