// Package disk tests what happens to a service on SQLite when its disk is full,
// read-only, failing or slow, and when the machine loses power.
//
// # How faults are made
//
// A full or read-only disk is a small tmpfs of its own. A failing or slow one is made
// by strace: attached to the running service, it lets system calls on the database's
// files fail or wait (strace_linux_test.go), until it is detached. The service is the real
// program, unchanged.
//
// # How power is cut
//
// strace records every write, sync, truncation, creation and removal of the
// database's files while the service is under load (trace.go). From the record, the
// test rebuilds what the disk may hold if power had been cut at some moment (image.go):
// for certain what was synced before, and of what was written since an arbitrary part,
// down to single sectors. Each such disk must be a whole database that has everything
// that was acknowledged by then; with some of them the service is started again.
//
// The record is verified: all of it applied must yield the files byte for byte.
//
// # What the tests need
//
// Root with the right to mount, and strace with the right to trace. A test that lacks
// one says so and is skipped.
//
// PUNCTUAL_POWERCUT is how long the power cuts may be checked, such as 10m; by default
// a few seconds. PUNCTUAL_SEED repeats the choices of a run.
package disk
