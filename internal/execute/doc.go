// Package execute makes one attempt: it sends a request to a target and says
// what came of it, an answer or a failure of a known kind.
//
// A job's request, a callback and a webhook event are all a [Request] here.
// The package does not know when to send, whether to try again, what a body
// means or where an outcome is kept: package retry, package dispatch and
// package record do.
//
// # What goes out
//
// The caller hands over fields and bytes that were checked when the job was
// created; they leave as they are. A path or query is not decoded and encoded
// again, since servers that verify it would see another; only bytes that no
// URL may hold are percent-encoded. Requests are signed as Standard Webhooks
// say, over the body that is really sent.
//
// Go's transport sends a request again when a kept connection turns out to be
// dead. It does so for GET on its own, and here for every signed request too:
// webhook-id is the same for every try of one message, so the receiver can
// tell. Without this, a schedule whose interval equals the receiver's idle
// timeout would lose that race time and again.
//
// # Where it may go
//
// Targets are chosen by users, so a request must not reach the service's own
// network. Names are no evidence: what a name resolves to can differ from one
// look-up to the next. The check that counts is therefore made on the address
// about to be connected to, for every address of every hop; proxies from the
// environment, which would resolve names out of sight, are not used.
// [Targets] makes it, and [Targets.CheckHost] finds the obvious cases early,
// when a job is created. What operators block while the service runs
// ([Client.Block]) closes the connections that are open.
//
// # Redirects
//
// Redirects are followed here, not by [net/http.Client]: the job's own header
// fields often carry credentials, and they and the signature stay with the
// origin they were meant for. Once left behind they do not come back, even
// where a later redirect leads home, because what lies in between chose that
// address.
//
// # What an attempt may cost
//
// A target can be slow, endless or hostile. The time allowed covers the whole
// attempt, from the look-up of the name to the last byte of the answer. A
// header, a body that is kept and a body that is read all have their limits.
// Connections are kept and shared, since setting one up costs more than
// everything else. Those that will be needed soon can be opened ahead ([Client.Warm]).
//
// Each connection has an allowance of bytes, counted below TLS, for everything
// besides the bodies that attempts read. It is closed when the target exceeds
// that, whatever kind of frame or chunk it sends. When an attempt is given up,
// its connection is closed unless others use it.
//
// # Local faults
//
// When this machine has run out of descriptors, ports or memory, the attempt is
// interrupted rather than failed, and the failure says how long to wait.
package execute
