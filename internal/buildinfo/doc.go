// Package buildinfo reports which build of punctual runs: its version, the commit it was
// built from, and for which system.
//
// A release sets version, commit and date with the linker:
//
//	go build -ldflags "-X github.com/punctual-dev/punctual/internal/buildinfo.version=v1.2.3 …"
//
// What is not set comes from what the Go toolchain records in the binary, so a
// binary from go install reports the version of its module.
package buildinfo
