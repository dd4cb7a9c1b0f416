// Package lifecycle decides what is stored when something happens to a job.
//
// An attempt begins, comes to an outcome, is interrupted; a client cancels a
// job or disables, enables or deletes a schedule: each is one function here,
// pure, from the records as they are in the transaction (store.Snapshot) to what
// changes (store.Changes): the job's transition, its logs, the messages to its
// callback and webhook, the schedule's state and its next job. All of it is
// written in one transaction, so no crash can tear it apart.
//
// Firing is attempt's and execute's business, when to fire dispatch's.
package lifecycle
