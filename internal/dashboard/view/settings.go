package view

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// Settings is the page of an account's settings.
type Settings struct {
	Admin, Owner               bool   // what the viewer may do
	Person, Role               string // the viewer's email and role
	HasPassword                bool
	Provider                   string // the issuer where the person has signed in; "" for a password
	EmailConfirmed, CanConfirm bool   // whether the viewer's email is confirmed, or a link can be sent
	CanChangeEmail             bool   // whether a link can be sent to a new one
	// SessionMaxAge is how long a session lasts at most.
	SessionMaxAge time.Duration

	ID, Email  string
	CreatedAt  time.Time
	Suspension string // why the account is suspended; "" if it is not
	Notice     string

	NewKey      string // shown once
	Keys        []Key  // a page of those that work, newest first
	WorkingKeys int
	RevokedKeys int // revoked or expired
	CanAddKey   bool
	First, Next string
	Scopes      []ui.Choice
	Expiries    []ui.Choice

	Secrets      []Secret // the current one first
	SecondFactor bool

	Sessions      []Session // those used last
	OlderSessions int       // how many more there are

	Retention string // how long final jobs are kept

	Refusal
}

// sessionsEnd says when sessions end.
func (d *Settings) sessionsEnd() string {
	const unused = 14 * 24 * time.Hour
	if d.SessionMaxAge <= unused {
		return "Where you are signed in. A session ends " + ui.Period(d.SessionMaxAge) + " after its start."
	}
	return "Where you are signed in. A session ends 14 days after its last use, and " + ui.Period(d.SessionMaxAge) +
		" after its start at the latest."
}

// Key is an API key without its secret.
type Key struct {
	ID, Name, Prefix, Scope string
	Networks                string // "" for anywhere
	MadeBy                  string // "" if it is not known
	CreatedAt               time.Time
	LastUsedAt, ExpiresAt   time.Time // zero for never
}

// Secret is a signing secret.
type Secret struct {
	Value     string
	CreatedAt time.Time
	ExpiresAt time.Time // zero for the current one
}

// Session is a signed-in browser.
type Session struct {
	ID, Browser, Address string
	CreatedAt, SeenAt    time.Time
	Current              bool // the one that shows the page
}

// title returns the name of a key.
func (k *Key) title() string {
	if k.Name == "" {
		return "Key without a name"
	}
	return k.Name
}

// restriction returns where a key can be used from; "" for anywhere.
func (k *Key) restriction() string {
	if k.Networks == "" {
		return ""
	}
	return "from " + k.Networks
}
