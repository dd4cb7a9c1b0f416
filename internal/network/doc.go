// Package network groups network addresses: by the network that one client
// controls, for limits, and by lists of prefixes, for settings.
//
// A limit for each address is worth little where one client has 2^64 of them,
// so everything that counts by address counts by the network of an address.
// The package is pure: it opens no connection and looks up no name.
package network
