// Package virtual lets the time of a service be moved ahead, for tests of programs that
// use it: a reminder of next month is sent in a moment.
//
// Make a [Clock] and open the store with its Now. Make a [Mover] for it and call
// [Mover.Advance], or mount [API] so that programs can.
//
// The package decides which times the clock stops at, and when the service has done what
// is due at one. Everything else is done by the same packages as always. Only the
// store's clock moves: how long requests take, their timestamps, signatures and tokens
// are by the machine's clock.
package virtual
