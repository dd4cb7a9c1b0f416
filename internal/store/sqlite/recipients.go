package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const recipientColumns = `SELECT account, address, mailbox, token, asked_at, confirmed_at, refused_at FROM alert_recipients `

func (t *tx) recipientsWhere(where string, args ...any) (found []*store.Recipient, err error) {
	err = t.query(recipientColumns+where, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		found = append(found, &store.Recipient{
			Account: c.int64(), Address: c.text(), Mailbox: c.text(), Token: c.blob(), AskedAt: c.time(), ConfirmedAt: c.time(), RefusedAt: c.time(),
		})
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("reading recipients of alerts: %w", err)
	}
	return found, nil
}

func (t *tx) recipientWhere(where string, args ...any) (*store.Recipient, error) {
	found, err := t.recipientsWhere(where, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// mailbox reads whether the owner of a mailbox has refused all e-mails, and when it
// was last asked.
func (t *tx) mailbox(mailbox string) (refused bool, asked time.Time, err error) {
	err = t.query(`SELECT coalesce(max(refused_at), 0) > 0, max(asked_at) FROM alert_recipients WHERE mailbox = ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		refused, asked = c.int() != 0, c.time()
		return nil
	}, mailbox)
	return refused, asked, err
}

// RecipientGet implements store.Recipients.
func (s *Store) RecipientGet(ctx context.Context, account int64, address, mailbox string) (r *store.Recipient, refused bool, err error) {
	err = s.readAs(ctx, single, func(t *tx) error {
		if r, err = t.recipientWhere(`WHERE account = ? AND address = ?`, account, address); err != nil {
			return err
		}
		refused, _, err = t.mailbox(mailbox)
		return err
	})
	return r, refused, err
}

// RecipientFind implements store.Recipients.
func (s *Store) RecipientFind(ctx context.Context, token []byte) (*store.Recipient, error) {
	r, err := one(ctx, s, func(t *tx) (*store.Recipient, error) { return t.recipientWhere(`WHERE token = ?`, notNil(token)) })
	if err == nil && r == nil {
		return nil, fault.NoSuch("recipient")
	}
	return r, err
}

// RecipientList implements store.Recipients.
func (s *Store) RecipientList(ctx context.Context, account int64, after string, limit int) (found []*store.Recipient, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		found, err = t.recipientsWhere(`WHERE account = ? AND address > ? ORDER BY address LIMIT ?`, account, after, limit)
		return err
	})
	return found, err
}

// RecipientChange implements store.Recipients.
func (s *Store) RecipientChange(ctx context.Context, account int64, address, mailbox string, since time.Time, decide store.RecipientDecide) error {
	return s.write(ctx, func(t *tx) error {
		m := &store.RecipientSnapshot{Now: t.now}
		var err error
		if m.Recipient, err = t.recipientWhere(`WHERE account = ? AND address = ?`, account, address); err != nil {
			return err
		}
		if m.Refused, m.MailboxAskedAt, err = t.mailbox(mailbox); err != nil {
			return err
		}
		err = t.query(`SELECT count(*) FILTER (WHERE asked_at > ?), count(*) FROM alert_recipients WHERE account = ?`, func(stmt *sqlite.Stmt) error {
			m.Asked, m.Recipients = stmt.ColumnInt(0), stmt.ColumnInt(1)
			return nil
		}, since, account)
		if err != nil {
			return fmt.Errorf("counting recipients of alerts: %w", err)
		}
		change := decide(m)
		switch {
		case change == nil:
			return nil
		case change.Recipient == nil:
			return t.exec(`DELETE FROM alert_recipients WHERE account = ? AND address = ?`, account, address)
		}
		if change.Allow {
			if err := t.exec(`UPDATE alert_recipients SET refused_at = NULL WHERE mailbox = ?`, mailbox); err != nil {
				return err
			}
		}
		r := change.Recipient
		return t.exec(`INSERT INTO alert_recipients (account, address, mailbox, token, asked_at, confirmed_at, refused_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (account, address) DO UPDATE SET token = excluded.token, asked_at = excluded.asked_at,
				confirmed_at = excluded.confirmed_at, refused_at = excluded.refused_at`,
			account, address, mailbox, r.Token, r.AskedAt, r.ConfirmedAt, r.RefusedAt)
	})
}

// RecipientPrune implements store.Recipients.
func (s *Store) RecipientPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.exec(`DELETE FROM alert_recipients WHERE (account, address) IN (SELECT account, address FROM alert_recipients
			WHERE asked_at < ? AND confirmed_at IS NULL AND refused_at IS NULL ORDER BY asked_at LIMIT ?)`, before, limit)
		n = t.changed()
		return err
	})
	return n, err
}

func (t *tx) copyRecipients(r *store.Records) error {
	for _, v := range r.Recipients {
		err := t.exec(`INSERT INTO alert_recipients (account, address, mailbox, token, asked_at, confirmed_at, refused_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			v.Account, v.Address, v.Mailbox, v.Token, v.AskedAt, v.ConfirmedAt, v.RefusedAt)
		if err != nil {
			return err
		}
	}
	return nil
}
