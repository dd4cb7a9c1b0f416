// Package execute sends one request to a target and returns the outcome: a response, or
// a failure of a known kind. Make a [Client] with [New] and call [Client.Do].
//
// A job's request, a callback and a webhook event are all a [Request] here.
// When to send, whether to retry, what a body means and where an outcome is
// stored is decided by packages dispatch, retry and lifecycle.
//
// # What is sent
//
// The caller passes fields and bytes that were validated when the job was
// created; they are sent unchanged. Paths and queries are not decoded and
// encoded again, because a server that verifies them would see something else;
// only bytes that no URL may contain are percent-encoded. Requests are signed
// according to Standard Webhooks, over the body that is sent.
//
// A request of which a byte may have been written is never sent again. If a connection
// that was kept open ends before the first byte of a response, the outcome says so
// (Dropped), and the caller decides about a retry. A request that must not be dropped is
// sent over a recent connection ([Request.Recent]).
//
// # Which connections it uses
//
// Over HTTP/1.1, with TLS or without, an attempt writes its request and reads the
// response in its own goroutine (exchange), with the writer and the parser of net/http,
// over connections that are kept in one pool. Nobody reads from an idle connection, so
// it is checked before it is used, and every few seconds. HTTP/2, for targets that
// refuse HTTP/1.1 or may choose it, is left to net/http, one connection at a
// time; http2Pool keeps these.
//
// A connection is opened for a [Party], an account and a purpose, and carries requests
// of that party only: a target could let the bytes of one request or response become
// part of another.
//
// # Which targets are allowed
//
// Users choose targets, so a request must not reach the service's own network.
// A host name proves nothing, because it can resolve differently from one
// lookup to the next. So the decisive check is made on the address about to be
// connected to, for every address of every hop. Proxies from the environment
// are not used, because they would resolve names out of sight. [Targets] makes
// the check, and [Targets.CheckHost] finds the obvious cases when a job is
// created. [Client.Block] closes open connections to targets that operators
// block at run time.
//
// # Redirects
//
// This package follows redirects itself rather than with [net/http.Client]: the
// job's header fields often carry credentials, and they and the signature are
// sent only to the origin they were meant for. After a redirect to another
// origin they are not sent again, even if a later redirect leads back, because
// the other origin chose that address.
//
// # Limits of an attempt
//
// A target can be slow, endless or hostile. The timeout covers the whole
// attempt, from the name's lookup to the last byte of the response. The header,
// the body that is kept and the body that is read are limited. Connections are
// kept, because setting one up costs more than everything else; [Client.Prewarm]
// opens them ahead. How many are idle is limited for each account and in all.
//
// Each connection has an allowance of bytes, counted below TLS, for everything
// besides the bodies that attempts read. It is closed when the target exceeds
// the allowance, with whatever kind of frame or chunk. When an attempt is
// abandoned, its connection is closed unless other attempts use it.
//
// # Local faults
//
// When this machine has run out of descriptors, ports or memory, the attempt is
// interrupted rather than failed, and the failure says how long to wait.
package execute
