// Package operation carries out operations on many jobs in the background: cancel,
// rerun, run and reschedule, for all jobs that a filter selects.
//
// The store keeps what an operation has found and how far it is. A Worker leases
// running operations for about a second at a time and carries them out in turns, in
// small steps. Each step is one transaction that changes jobs and moves the
// operation's position, so it is exact whenever the process ends. If it ends, the
// lease ends too, and a worker of any node continues.
//
// Steps are small and followed by pauses, because due jobs use the same database:
// see Worker. What a step does is up to package service.
package operation
