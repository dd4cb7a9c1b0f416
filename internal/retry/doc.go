// Package retry computes how long to wait before a retry: [After] for a job,
// [DeliveryBackoff] for a callback or webhook. Its functions are pure: the current time
// and the random number are arguments.
//
// A job is retried after growing waits ([JobBackoff]) or waits of its own, or
// later if the target asks for it in Retry-After ([RetryAfter]); [After] combines
// them. A
// callback or webhook has a fixed list of waits, after which it is given up
// ([DeliveryBackoff]). Waits are lengthened at random ([Lengthen]), so that
// what failed together is not retried together. They are never shortened, so a
// target gets at least the wait it asked for.
//
// Package lifecycle decides which outcomes are retried, and how often.
package retry
