// Package main is run by go generate on the Go files that templ has written: generate
// FILE… marks each component as not to be inlined.
//
// A component is a function that returns a closure with all its markup. The compiler
// takes such a function for small, because it doesn't count the closure, and copies the
// closure to each place where the component is used, and with it those of the components
// in it. Compiling the pages took three times as long, for nothing that is noticed when a
// page is rendered.
package main
