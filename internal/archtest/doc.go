// Package archtest tests the structure of the tree. Its tests fail when a package
// imports what the table does not allow, names the interface to the whole store
// without need, has no description in doc.go, or has a file of too many lines.
//
// A change of the table is a decision, which belongs into a record in docs/adr.
package archtest
