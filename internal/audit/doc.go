// Package audit records changes of access (sign-ins and failed ones, keys, secrets,
// passwords, second factors, operators' actions) and edits that leave no other record
// (of alerts and limits, schedules that were disabled, enabled or deleted, applied
// documents, operations on many jobs). Call [Log.Audit]; for edits put the actor into
// the context with [WithActor] and call [Log.Edited].
//
// An entry is stored and written to the service's log, from where it can reach a log
// collector that an intruder can't clear. An entry belongs to the account that it
// concerns. Entries that concern no account belong to the service as a whole; only
// operators can read them.
//
// Events that anyone can repeat (failed sign-ins) set Same: they are counted in
// one entry per hour and have a limit of their own, so that they displace no other
// entries. Edits have a limit of their own too.
package audit
