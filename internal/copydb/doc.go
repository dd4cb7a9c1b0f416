// Package copydb copies all records from one store to another: call [Copy]. It copies
// accounts with their secrets and keys, people and memberships, alerts, schedules with
// their state, jobs, logs, pending deliveries, the audit log and what monthly reports have
// counted. Records keep their numbers, times and positions in the queue. Sessions, invites,
// links sent by e-mail and statistics are not copied.
//
// Copy reads records in a fixed order, section by section and account by account, and
// writes them in batches. With each batch the target stores the position of its last
// record, from which an interrupted copy resumes. Records that exist in the target are
// left unchanged.
//
// At the end, Copy reads both stores again and compares the number of records and a
// checksum for every section and for the queue. Only then does it declare the target
// complete; nodes don't start on an incomplete copy.
//
// No node may run on either store meanwhile. The caller must ensure this; the
// comparison usually detects a violation.
package copydb
