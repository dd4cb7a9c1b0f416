// Package identity defines [Account] and what belongs to accounts besides jobs: API keys
// and their scopes, signing secrets, people, sessions, second factors, invites, limits
// of their own, and the entries of the audit log.
//
// It has records only. Package auth contains the rules for keys, passwords and
// sessions, package quota those for limits, and package audit writes the audit
// log. Package store keeps the records.
package identity
