// Package auth knows who calls: accounts, their API keys and signing secrets.
//
// Keys are 256 random bits with a prefix people recognise (sk_); they are shown
// once and kept as SHA-256 hashes, which is enough for random keys and cheap to
// check. A shared public key, when the operator sets one, is compared in
// constant time and belongs to an account of its own.
//
// Look-ups are remembered for a second, so that checking a key costs next to
// nothing under load and a revoked one still ends at once for a person.
//
// What a caller may do is decided by ownership: see manage.
package auth
