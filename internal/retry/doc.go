// Package retry says how long to wait before something is tried again. It is
// pure: the present and the random number are arguments.
//
// A job is tried again after growing waits ([JobBackoff]), later if the target
// asks for it in Retry-After ([RetryAfter]); [After] puts the two together. A
// callback or webhook has a fixed list of waits and is given up at its end
// ([DeliveryBackoff]). Waits are lengthened at random ([Lengthen]), so that what
// failed together does not come back together; never shortened, so that a
// target gets at least the rest it asked for.
//
// Which outcomes are tried again, and how often, is decided where outcomes are
// recorded.
package retry
