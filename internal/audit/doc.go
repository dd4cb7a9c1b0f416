// Package audit records changes of access: sign-ins and failed ones, keys,
// secrets, passwords, second factors and operators' actions; and edits that leave
// no other record: of alerts and limits, schedules that were disabled, enabled or
// deleted, applied documents and operations on many jobs.
//
// [Log.Audit] stores an entry and writes it to the service's log, from where it
// can reach a log collector that an intruder can't clear. An entry belongs to the
// account that it concerns. Entries that concern no account belong to the service
// as a whole; only operators can read them.
//
// Events that anyone can repeat (failed sign-ins) set Same: they are counted in
// one entry per hour and have a limit of their own, so that they displace no other
// entries. Edits have a limit of their own too.
package audit
