package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// recipientLock and mailboxLock are the first keys of the advisory locks under which
// recipients of an account and of a mailbox are counted ("rcpt" and "mbox", in ASCII).
// A transaction takes one of each, in this order.
const (
	recipientLock = 0x72637074
	mailboxLock   = 0x6d626f78
)

func readRecipients(where string, args []any, found *[]*store.Recipient) query {
	return query{
		sql:   `SELECT account, address, mailbox, token, asked_at, confirmed_at, refused_at FROM alert_recipients WHERE ` + where,
		args:  args,
		start: func() { *found = nil },
		row: func(rows pgx.Rows) error {
			r := &store.Recipient{}
			*found = append(*found, r)
			return rows.Scan(&r.Account, &r.Address, &r.Mailbox, &r.Token, timeOf{&r.AskedAt}, timeOf{&r.ConfirmedAt}, timeOf{&r.RefusedAt})
		},
	}
}

func readRecipient(account int64, address string, found *[]*store.Recipient) query {
	return readRecipients(`account = (SELECT $1::bigint) AND address = $2`, []any{account, text(address)}, found)
}

// readMailbox reads whether the owner of a mailbox has refused all e-mails, and when it
// was last asked.
func readMailbox(mailbox string, refused *bool, asked *time.Time) query {
	return query{
		sql:  `SELECT max(refused_at) IS NOT NULL, max(asked_at) FROM alert_recipients WHERE mailbox = $1`,
		args: []any{text(mailbox)},
		row:  func(rows pgx.Rows) error { return rows.Scan(refused, timeOf{asked}) },
	}
}

// RecipientGet implements store.Recipients.
func (s *Store) RecipientGet(ctx context.Context, account int64, address, mailbox string) (r *store.Recipient, refused bool, err error) {
	var found []*store.Recipient
	var asked time.Time
	if err := s.read(ctx, readRecipient(account, address, &found), readMailbox(mailbox, &refused, &asked)); err != nil {
		return nil, false, err
	}
	if len(found) > 0 {
		r = found[0]
	}
	return r, refused, nil
}

// RecipientFind implements store.Recipients.
func (s *Store) RecipientFind(ctx context.Context, token []byte) (*store.Recipient, error) {
	var found []*store.Recipient
	if err := s.read(ctx, readRecipients(`token = $1`, []any{notNil(token)}, &found)); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.NoSuch("recipient")
	}
	return found[0], nil
}

// RecipientList implements store.Recipients.
func (s *Store) RecipientList(ctx context.Context, account int64, after string, limit int) (found []*store.Recipient, err error) {
	err = s.read(ctx, readRecipients(`account = (SELECT $1::bigint) AND address > $2 ORDER BY address LIMIT $3`, []any{account, text(after), limit}, &found))
	return found, err
}

// RecipientChange implements store.Recipients.
func (s *Store) RecipientChange(ctx context.Context, account int64, address, mailbox string, since time.Time, decide store.RecipientDecide) error {
	return s.write(ctx, func(t *tx) error {
		var found []*store.Recipient
		m := &store.RecipientSnapshot{}
		err := t.run(
			query{sql: `SELECT pg_advisory_xact_lock($1::int, hashint8($2::bigint))`, args: []any{recipientLock, account}},
			query{sql: `SELECT pg_advisory_xact_lock($1::int, hashtext($2))`, args: []any{mailboxLock, text(mailbox)}})
		if err != nil {
			return err
		}
		err = t.run(readRecipient(account, address, &found), readMailbox(mailbox, &m.Refused, &m.MailboxAskedAt), query{
			sql:  `SELECT count(*) FILTER (WHERE asked_at > $2), count(*) FROM alert_recipients WHERE account = (SELECT $1::bigint)`,
			args: []any{account, since.UnixMicro()},
			row:  func(rows pgx.Rows) error { return rows.Scan(&m.Asked, &m.Recipients) },
		})
		if err != nil {
			return err
		}
		m.Now = s.Now()
		if len(found) > 0 {
			m.Recipient = found[0]
		}
		change := decide(m)
		switch {
		case change == nil:
			return t.commit()
		case change.Recipient == nil:
			return t.commit(query{sql: `DELETE FROM alert_recipients WHERE account = (SELECT $1::bigint) AND address = $2`, args: []any{account, text(address)}})
		}
		var queries []query
		if change.Allow {
			queries = append(queries, query{sql: `UPDATE alert_recipients SET refused_at = NULL WHERE mailbox = $1`, args: []any{text(mailbox)}})
		}
		r := *change.Recipient
		r.Account, r.Address, r.Mailbox = account, address, mailbox
		return t.commit(append(queries, storeRecipient(&r, `(account, address) DO UPDATE SET token = excluded.token, asked_at = excluded.asked_at,
			confirmed_at = excluded.confirmed_at, refused_at = excluded.refused_at`))...)
	})
}

func storeRecipient(r *store.Recipient, conflict string) query {
	return query{
		sql: `INSERT INTO alert_recipients (account, address, mailbox, token, asked_at, confirmed_at, refused_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT ` + conflict,
		args: []any{r.Account, text(r.Address), text(r.Mailbox), r.Token, r.AskedAt.UnixMicro(), micros(r.ConfirmedAt), micros(r.RefusedAt)},
	}
}

// RecipientPrune implements store.Recipients.
func (s *Store) RecipientPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.prune(ctx, `DELETE FROM alert_recipients d USING (SELECT account, address FROM alert_recipients
			WHERE asked_at < $1 AND confirmed_at IS NULL AND refused_at IS NULL ORDER BY asked_at LIMIT $2) o
		WHERE d.account = o.account AND d.address = o.address RETURNING 1`, before.UnixMicro(), limit)
}

func copyRecipients(recipients []*store.Recipient) []query {
	var queries []query
	for _, r := range recipients {
		queries = append(queries, storeRecipient(r, `DO NOTHING`))
	}
	return queries
}
