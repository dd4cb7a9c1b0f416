package consent

import (
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// askEvery is how often a mailbox is asked at most, by all accounts together.
	askEvery = 24 * time.Hour
	// MaxAsked is how many addresses an account may ask within askEvery.
	MaxAsked = 5
	// maxRecipients is how many addresses an account may have asked.
	maxRecipients = 1000
)

// ask decides whether an address is asked, with the hash of a token for the link. An
// address that was asked is asked again by a person only, not whenever a program
// stores the same alert.
func ask(m *store.RecipientSnapshot, hash []byte, byPerson bool) *store.RecipientChange {
	r, rest := m.Recipient, store.RecipientLasts
	if byPerson {
		rest = askEvery
	}
	switch {
	case m.Refused, r != nil && (!r.ConfirmedAt.IsZero() || m.Now.Sub(r.AskedAt) < rest):
		return nil
	case m.Now.Sub(m.MailboxAskedAt) < askEvery, m.Asked >= MaxAsked, r == nil && m.Recipients >= maxRecipients:
		return nil
	}
	return &store.RecipientChange{Recipient: &store.Recipient{Token: hash, AskedAt: m.Now}}
}

// answer decides what the owner of an address has chosen with the link of a token. A
// newer question has another one.
func answer(m *store.RecipientSnapshot, hash []byte, confirm bool) *store.RecipientChange {
	if m.Recipient == nil || string(m.Recipient.Token) != string(hash) {
		return nil
	}
	r := *m.Recipient
	if !confirm {
		r.ConfirmedAt, r.RefusedAt = time.Time{}, m.Now
		return &store.RecipientChange{Recipient: &r}
	}
	if r.RefusedAt = (time.Time{}); r.ConfirmedAt.IsZero() {
		r.ConfirmedAt = m.Now
	}
	return &store.RecipientChange{Recipient: &r, Allow: true}
}
