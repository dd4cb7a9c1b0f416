// Package app starts and stops a node. It is the one package that imports all others,
// and contains no logic.
//
// A node starts the store first and listens last, so that it serves only what works.
// It stops in the reverse order, so that it accepts nothing that it would not carry
// out.
package app
