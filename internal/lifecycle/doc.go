// Package lifecycle decides what is stored when something happens to a job. [Begin]
// prepares an attempt and its Finish decides about the outcome; other functions decide
// about cancels, edits, schedules, releases and reports of targets.
//
// An attempt starts, has an outcome or is interrupted; a client cancels or
// edits a job; a client disables, enables or deletes a schedule. Each of these
// is one pure function from the records in the transaction (store.Snapshot) to
// the changes (store.Changes): the job's new state, its logs, its callback and
// webhook deliveries, the schedule's state and its next run. One transaction
// writes them all, so a crash never leaves half of them.
//
// [Judge] decides whether an attempt has succeeded; nothing else does.
//
// The functions are pure apart from the fresh ids of what they create: times and
// random numbers are arguments, so a decision that is made again, because its
// transaction was retried, is the same. A job whose state does not permit a
// transition stays as it is (see [job.TransitionError]).
//
// Packages attempt and execute send the requests; package dispatch decides
// when.
package lifecycle
