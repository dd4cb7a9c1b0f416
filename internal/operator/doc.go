// Package operator defines what concerns the service as a whole rather than one account:
// [Node], and [TargetBlock], a target that is blocked for everyone. Operators see and
// change both in the dashboard and on the command line.
//
// It has records only, which package store keeps.
package operator
