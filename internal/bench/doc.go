// Package bench measures punctual on the machine it runs on.
//
// It starts a TLS target of its own, and the service as a process of its own on
// a database that is thrown away, gives the service one workload after the
// other and sees at the target what arrives and when. Beside each figure stands
// what the same requests come to from a bare HTTP client without any store (the
// ceiling), since figures of one machine mean little on another and ratios mean
// more. The bare client, the bare handler and the load, which creates the jobs,
// run as processes of their own too: the service and what it is held against
// share the machine with the same neighbours, and the processor time of each is
// told. It comes before the rates, since other tenants of a machine change it
// least. What remains in the bench's own process is the target and waiting.
//
// Targets speak HTTP/1.1 unless HTTP/2 is asked for, which the service and the
// bare client then speak both. The report says what was spoken.
//
// Every workload checks what it sees: a job that does not arrive, arrives twice
// or before it was due makes the bench fail. Everything is bounded in time and
// count, and targets are on loopback addresses only.
//
// A workload is a function on a trial (one run of it): it starts the service,
// plans jobs, creates them through the API, waits for them at the target and
// reports figures. Workloads with very many jobs put them into the store before
// the service starts, since over HTTP it would take minutes.
package bench
