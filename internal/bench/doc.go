// Package bench measures punctual on the machine it runs on: call [Run] with a [Config];
// punctual bench does.
//
// It starts a TLS target, and the service as a process of its own on a temporary
// database. It gives the service one workload after the other and measures at the target
// what arrives and when. Beside each figure stands that of the same requests by a bare
// HTTP client without a store (the ceiling), since ratios compare across machines and
// absolute figures don't. The bare client, the bare handler and the load, which creates
// the jobs, are processes of their own, so that the processor time of each can be
// reported. It comes before the rates, because other work on the machine changes it
// least. The bench's own process has the target only.
//
// Targets speak HTTP/1.1; with the flag for it the service and the bare client both use
// HTTP/2. The report says what was used.
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
