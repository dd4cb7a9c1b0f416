// Package operation carries out operations on many jobs in the background: make a
// [Worker] with [New], call [Worker.Run], and [Worker.Wake] after an operation was
// stored. The operations are cancel, rerun, run and reschedule, for all jobs that a
// filter selects.
//
// The store keeps which jobs an operation has found and its position among them. A
// Worker leases a running operation, carries out small steps for about a second, and
// turns to the next one. Each step is one transaction that changes jobs and moves the
// operation's position, so it is exact whenever the process ends. The lease then
// expires, and a worker of any node continues.
//
// Steps are small and followed by pauses, because due jobs use the same database: see
// Worker. What a step does is decided by package service.
package operation
