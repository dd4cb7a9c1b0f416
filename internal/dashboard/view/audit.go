package view

import "time"

// AuditLog is a page of an audit log.
type AuditLog struct {
	Area, Title, About string
	Back, BackTo       string // the link back to the page above, and its label
	Entries            []AuditEntry
	First, Next        string
}

// AuditEntry is a row of an audit log.
type AuditEntry struct {
	Event, Detail, Actor string
	Address              string // "" for this machine
	At                   time.Time
}
