// Package tree reads a JSON document into nodes that keep what package encoding/json
// drops: the order of keys, the digits of numbers, and the place of a node in the
// document. Call [Parse]. The reference has the order of the contract, and examples are
// shown and sent as they are written.
package tree
