// Package pause lets a time pass: call [For] to wait until it is over, [Woken] to wait
// until something happens before. Both end with their context.
//
// What measures or plans times doesn't live here, nor do loops that wait for several
// events at once: they keep their own timers.
package pause
