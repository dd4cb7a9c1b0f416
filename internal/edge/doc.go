// Package edge has what the API and the dashboard do alike with a request over
// HTTP: the id that it goes by, where it comes from, how many there may be a
// second, the methods that a path answers, whether its client is still there, and
// logs as a file.
//
// It is also where strangers connect. [Server] bounds what they can make the
// service hold: connections (gate.go), the time and the bytes of headers and
// responses (conn.go) and of bodies (body.go, budget.go), in all and for each
// network. It checks which host a request is for (host.go) and knows which
// address and scheme a client has behind proxies (address.go). Handlers see
// none of this but the errors of a body, which are faults.
//
// What a call means, who may make it and how a fault is told differ between the
// two and live with them.
package edge
