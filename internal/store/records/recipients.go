package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

var recipients = Table[store.Recipient]{
	Name: "alert_recipients", Key: []string{"account", "address"},
	Columns: []Column[store.Recipient]{
		{"account", func(r *store.Recipient) any { return &r.Account }},
		{"address", func(r *store.Recipient) any { return &r.Address }},
		{"mailbox", func(r *store.Recipient) any { return &r.Mailbox }},
		{"token", func(r *store.Recipient) any { return &r.Token }},
		{"asked_at", func(r *store.Recipient) any { return &r.AskedAt }},
		{"confirmed_at", func(r *store.Recipient) any { return &r.ConfirmedAt }},
		{"refused_at", func(r *store.Recipient) any { return &r.RefusedAt }},
	},
}

// recipientLock and mailboxLock are the first keys of PostgreSQL's advisory locks under
// which recipients of an account and of a mailbox are counted ("rcpt" and "mbox", in
// ASCII). A transaction takes one of each, in this order.
const (
	recipientLock = 0x72637074
	mailboxLock   = 0x6d626f78
)

func readRecipient(found *[]*store.Recipient, account int64, address string) Query {
	return recipients.Select(found, nil, `WHERE account = $1 AND address = $2`, account, address)
}

// readMailbox reads whether the owner of a mailbox has refused all e-mails, and when it
// was last asked.
func readMailbox(mailbox string, refused *bool, asked *time.Time) Query {
	return Query{
		SQL:  `SELECT max(refused_at) IS NOT NULL, max(asked_at) FROM alert_recipients WHERE mailbox = $1`,
		Args: []any{mailbox}, Row: into(refused, asked),
	}
}

// RecipientGet implements store.Recipients.
func (r *Records) RecipientGet(
	ctx context.Context, account int64, address, mailbox string,
) (found *store.Recipient, refused bool, err error) {
	var all []*store.Recipient
	var asked time.Time
	if err := r.engine.Read(ctx, Single, readRecipient(&all, account, address), readMailbox(mailbox, &refused, &asked)); err != nil {
		return nil, false, err
	}
	if len(all) > 0 {
		found = all[0]
	}
	return found, refused, nil
}

// RecipientFind implements store.Recipients.
func (r *Records) RecipientFind(ctx context.Context, token []byte) (*store.Recipient, error) {
	found, err := read(ctx, r, Single, &recipients, `WHERE token = $1`, notNil(token))
	return first(found, err, "recipient")
}

// RecipientList implements store.Recipients.
func (r *Records) RecipientList(ctx context.Context, account int64, after string, limit int) ([]*store.Recipient, error) {
	return read(ctx, r, Pages, &recipients, `WHERE account = $1 AND address > $2 ORDER BY address LIMIT $3`, account, after, limit)
}

// RecipientChange implements store.Recipients.
func (r *Records) RecipientChange(
	ctx context.Context, account int64, address, mailbox string, since time.Time, decide store.RecipientDecide,
) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var found []*store.Recipient
		m := &store.RecipientSnapshot{}
		err := t.Run(
			Query{SQL: `SELECT pg_advisory_xact_lock($1::int, hashint8($2::bigint))`, Args: []any{recipientLock, account}, Lock: true},
			Query{SQL: `SELECT pg_advisory_xact_lock($1::int, hashtext($2))`, Args: []any{mailboxLock, mailbox}, Lock: true})
		if err != nil {
			return nil, err
		}
		err = t.Run(readRecipient(&found, account, address), readMailbox(mailbox, &m.Refused, &m.MailboxAskedAt), Query{
			SQL:  `SELECT count(*) FILTER (WHERE asked_at > $2), count(*) FROM alert_recipients WHERE account = $1`,
			Args: []any{account, since}, Row: into(&m.Asked, &m.Recipients),
		})
		if err != nil {
			return nil, err
		}
		m.Now = t.Now()
		if len(found) > 0 {
			m.Recipient = found[0]
		}
		change := decide(m)
		switch {
		case change == nil:
			return nil, nil
		case change.Recipient == nil:
			return []Query{{SQL: `DELETE FROM alert_recipients WHERE account = $1 AND address = $2`, Args: []any{account, address}}}, nil
		}
		var last []Query
		if change.Allow {
			last = append(last, Query{SQL: `UPDATE alert_recipients SET refused_at = NULL WHERE mailbox = $1`, Args: []any{mailbox}})
		}
		changed := *change.Recipient
		changed.Account, changed.Address, changed.Mailbox = account, address, mailbox
		return append(last, recipients.Put(&changed, "mailbox")), nil
	})
}

// RecipientPrune implements store.Recipients.
func (r *Records) RecipientPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return r.prune(ctx, "alert_recipients", recipients.Key,
		`WHERE asked_at < $1 AND confirmed_at IS NULL AND refused_at IS NULL ORDER BY asked_at LIMIT $2`, before, limit)
}
