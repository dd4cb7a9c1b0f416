// Package archtest holds the structure of the tree: its test fails when a
// package imports what its room may not know of, or has no essay in doc.go.
//
// The table in the test is the map of the house; a change of it is a decision
// and wants a record in docs/adr.
package archtest
