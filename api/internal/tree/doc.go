// Package tree reads a JSON document into nodes that remember what package
// encoding/json forgets: the order of keys, the digits of numbers, and where in
// the document a node stands. The reference is laid out in the order the
// contract was written in, and examples are shown and replayed as they stand.
package tree
