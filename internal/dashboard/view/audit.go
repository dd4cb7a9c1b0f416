package view

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// AuditLog is a page of an audit log.
type AuditLog struct {
	Area, Title, About string
	Back, BackTo       string // the link back to the page above, and its label; "" for none
	Tabs               bool   // the page is one of the settings
	Path               string // the page's address
	Event              string // the event that is selected; "" for all
	EventProblem       string // what is wrong with it
	Events             []ui.Choice
	Entries            []AuditEntry
	First, Next        string
}

// AuditEntry is a row of an audit log.
type AuditEntry struct {
	Event, Detail, Actor string
	Address              string // "" for this machine
	At                   time.Time
}
