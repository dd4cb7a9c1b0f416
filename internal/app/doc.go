// Package app starts and stops a node: call [Run]. [Backup], [Restore], [Copy] and
// [OpenStore] are for commands that work on the database. It is the one package that
// imports all others, and has no rules of its own.
//
// A node opens the store first and listens last, so that it serves only what works. It
// stops in the reverse order.
package app
