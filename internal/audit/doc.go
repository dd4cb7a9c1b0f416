// Package audit records what changed who may do what: sign-ins and failed ones,
// keys, secrets, passwords, second factors and the acts of operators.
//
// [Log.Audit] stores an entry and writes it to the service's log, so that it
// reaches a log collector that whoever breaks in can't clear. An entry belongs to
// the account that it concerns; entries that concern no account belong to the
// service as a whole and are the operators' to read.
//
// What a stranger can repeat at will (a failed sign-in) names what repetitions
// have in common: they are counted in one entry an hour, and bounded apart from
// the rest, so that they displace nothing and fill no disk.
package audit
