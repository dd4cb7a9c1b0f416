// Package edge handles what the API and the dashboard have in common for an HTTP
// request: its id, its client's address, the chain of jobs that led to it, rate limits,
// the methods of a path, detecting that the client is gone, and log files. [Server]
// serves HTTP/1.1, and [Multiplexed] many requests on one connection.
//
// Server protects the service against untrusted clients. It limits the resources they
// can use, in all and per network: connections (gate.go), and the time and bytes of
// headers and responses (conn.go) and of bodies (body.go, budget.go). It checks which
// host a request is for (host.go) and determines the client's address and scheme behind
// proxies (address.go). Handlers see only the errors of a body, which are faults.
//
// Packages httpapi and dashboard decide what a call means, who may make it and how
// a fault is shown.
package edge
