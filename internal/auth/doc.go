// Package auth authenticates API callers ([Authenticator.Authenticate]) and people
// ([People]). It manages accounts, their API keys and signing secrets, passwords,
// sessions and invites.
//
// A key is 256 random bits with a recognisable prefix (sk_). It is shown once and
// stored as a SHA-256 hash, which is sufficient for random keys and cheap to
// check. A key has a scope (read, jobs, admin), may expire, and may be restricted
// to networks. If the operator sets a shared public key, it is compared in
// constant time and belongs to its own account.
//
// Look-ups are cached for one second. Checking a key is therefore cheap under
// load, and a revoked key still stops working almost at once.
//
// People sign in with a password (argon2id, with few hashes computed at once so
// that jobs stay on time) and then have a session, whose token is stored as a
// hash like a key. A stranger can't find out which emails have accounts: signing
// in takes as long and reports the same whether the account exists or not, and so
// does open sign-up. Attempts are throttled by email and by network, and each
// network has its own queue for them (queue.go). The first person to sign up
// needs a code that the service wrote to its log (setup.go).
//
// If a person has enabled a second factor (TOTP, RFC 6238), signing in asks for
// it after the password. Codes and recovery codes are consumed in a store
// transaction, so that each works only once across all nodes. Until the code is
// given, the session is pending and gives no access.
//
// People change their email and replace a forgotten password by links that are sent by
// e-mail (email.go, recover.go). A link works once, for a limited time, and its token is
// stored as a hash. A new email takes effect when its owner follows the link; the previous
// one gets a notice.
//
// All these actions are recorded in the audit log: see package audit. A caller's
// access to records depends on ownership: see package service.
package auth
