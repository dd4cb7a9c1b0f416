// Package auth knows who calls and who is signed in: accounts, their API keys
// and signing secrets, passwords, sessions and invites.
//
// Keys are 256 random bits with a prefix people recognise (sk_); they are shown
// once and kept as SHA-256 hashes, which is enough for random keys and cheap to
// check. A key has a scope (read, jobs, admin), may expire, and may be bound to
// networks. A shared public key, when the operator sets one, is compared in
// constant time and belongs to an account of its own.
//
// Look-ups are remembered for a second, so that checking a key costs next to
// nothing under load and a revoked one still ends at once for a person.
//
// People sign in with a password (argon2id, few at once so that jobs stay on
// time) and are known by a session, whose token is kept as a hash like a key. A
// stranger can't find out who has an account: signing in takes as long and says
// the same whether there is one or not, and so does signing up where anyone may
// do so. Attempts are throttled by email and by network, and wait for their turn
// in a line of their network (queue.go). The first person who signs up needs a
// code that the service has written to its log (setup.go).
//
// A second factor (TOTP, RFC 6238) is asked for after the password, if its owner
// has switched it on. What a code or a recovery code changes is decided in the
// store's transaction, so that each works once on all nodes. Between password and
// code the session is pending: it lets nobody in.
//
// What is done here is recorded in the audit log: see package audit.
//
// What a caller may do is decided by ownership: see manage.
package auth
