package store

import (
	"context"
	"time"
)

// RecipientLasts is how long a question to the owner of an address waits for the
// answer.
const RecipientLasts = 7 * 24 * time.Hour

// Recipient is an address whose owner was asked whether the alerts of an account may
// send e-mails there.
type Recipient struct {
	Account int64
	Address string
	// Mailbox is the same for addresses that reach the same person.
	Mailbox     string
	Token       []byte    // the hash of the token in the link of the latest question
	AskedAt     time.Time // of the latest question
	ConfirmedAt time.Time // zero until the owner has confirmed
	// RefusedAt is when the owner has refused e-mails of all accounts; zero if not.
	RefusedAt time.Time
}

// RecipientSnapshot is the input of a RecipientDecide.
type RecipientSnapshot struct {
	Now       time.Time
	Recipient *Recipient // nil if there is none
	// Refused: the owner of the mailbox has refused e-mails of all accounts.
	Refused bool
	// MailboxAskedAt is when any account has last asked the mailbox; zero for never.
	MailboxAskedAt time.Time
	// Asked is how many recipients the account has asked since the given time, and
	// Recipients how many it has.
	Asked, Recipients int
}

// RecipientChange is the result of a RecipientDecide.
type RecipientChange struct {
	Recipient *Recipient // to store; nil deletes it
	// Allow ends the refusals of the mailbox.
	Allow bool
}

// RecipientDecide decides what becomes of a recipient. It must not block, and may be
// called again if the transaction is retried. Nil changes nothing.
type RecipientDecide func(*RecipientSnapshot) *RecipientChange

// Recipients stores who has confirmed e-mails of alerts.
type Recipients interface {
	// RecipientGet returns a recipient of an account, nil if there is none, and whether
	// the owner of the mailbox has refused e-mails of all accounts.
	RecipientGet(ctx context.Context, account int64, address, mailbox string) (r *Recipient, refused bool, err error)
	// RecipientFind returns the recipient with the hash of a token, or a NotFound
	// fault.
	RecipientFind(ctx context.Context, token []byte) (*Recipient, error)
	// RecipientList returns up to limit of an account's recipients after an address, in
	// order.
	RecipientList(ctx context.Context, account int64, after string, limit int) ([]*Recipient, error)
	// RecipientChange calls decide for a recipient in a transaction, which no other for
	// the account or the mailbox overlaps, and applies the change. The Snapshot counts
	// what the account has asked after since.
	RecipientChange(ctx context.Context, account int64, address, mailbox string, since time.Time, decide RecipientDecide) error
	// RecipientPrune deletes up to limit recipients that were asked before a time and
	// have neither confirmed nor refused.
	RecipientPrune(ctx context.Context, before time.Time, limit int) (int, error)
}
