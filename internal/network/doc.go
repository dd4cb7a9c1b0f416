// Package network groups network addresses: [Of] returns the network of a client, for
// limits, and [ParseList] a list of prefixes, for settings.
//
// A limit per address is ineffective against a client with 2^64 addresses, so
// limits by address use the network of the address. The package opens no
// connections and resolves no names.
package network
