package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
)

// AccountRegister implements store.People.
func (s *Store) AccountRegister(ctx context.Context, r *identity.Registration) error {
	return s.write(ctx, func(t *tx) error {
		others := false
		err := t.query(`SELECT 1 FROM accounts WHERE email <> ? AND deleted_at IS NULL LIMIT 1`, func(*sqlite.Stmt) error {
			others = true
			return nil
		}, r.Uncounted)
		if err != nil {
			return fmt.Errorf("looking for accounts: %w", err)
		}
		r.Account.Operator = r.FirstOnly
		if r.FirstOnly && others {
			return fault.New(fault.Forbidden, "there is an account already")
		}
		if r.Invite != nil {
			if invites, err := t.invites(r.Invite, t.now); err != nil {
				return err
			} else if len(invites) == 0 {
				return fault.NoSuch("invite")
			}
		}
		if err := t.insertAccount(r.Account); err != nil || r.Invite == nil {
			return err
		}
		return t.exec(`UPDATE invites SET used_at = ? WHERE hash = ?`, t.now, r.Invite)
	})
}

// AccountPassword implements store.People.
func (s *Store) AccountPassword(ctx context.Context, change identity.PasswordChange) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`UPDATE accounts SET password = ? WHERE number = ? AND deleted_at IS NULL`, orNull(change.Password), change.Account); err != nil {
			return fmt.Errorf("setting a password: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("account")
		}
		if !change.RevokeKeys.IsZero() {
			if err := t.exec(`UPDATE keys SET revoked_at = ? WHERE account = ? AND revoked_at IS NULL`, change.RevokeKeys, change.Account); err != nil {
				return fmt.Errorf("revoking the keys of an account: %w", err)
			}
		}
		return t.exec(`DELETE FROM sessions WHERE account = ? AND hash <> ?`, change.Account, notNil(change.Keep))
	})
}

// notNil returns b, or an empty slice for nil, which SQL would compare as null.
func notNil(b []byte) []byte { return append([]byte{}, b...) }

// AccountOperator implements store.People.
func (s *Store) AccountOperator(ctx context.Context, account int64, operator bool) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`UPDATE accounts SET operator = ? WHERE number = ? AND deleted_at IS NULL`, operator, account); err != nil {
			return fmt.Errorf("setting whether an account is an operator's: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("account")
		}
		return nil
	})
}

// AccountDelete implements store.People.
func (s *Store) AccountDelete(ctx context.Context, account int64, at time.Time) error {
	return s.write(ctx, func(t *tx) error {
		err := t.exec(`UPDATE accounts SET email = 'deleted ' || number, password = NULL, operator = 0, deleted_at = ? WHERE number = ? AND deleted_at IS NULL`, at, account)
		if err != nil {
			return fmt.Errorf("deleting an account: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("account")
		}
		return t.lockOut(account)
	})
}

// lockOut deletes an account's sessions, keys, secrets and other credentials.
func (t *tx) lockOut(account int64) error {
	for _, table := range []string{"sessions", "keys", "secrets", "totps", "header_secrets", "secret_uses", "alerts", "alert_states", "alert_outcomes", "alert_accounts"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE account = ?`, account); err != nil {
			return fmt.Errorf("deleting the %s of an account: %w", table, err)
		}
	}
	// Who was asked still counts, and refusals still hold.
	return t.exec(`UPDATE alert_recipients SET confirmed_at = NULL WHERE account = ? AND confirmed_at IS NOT NULL`, account)
}

// AccountPurge implements store.People. It deletes what creates queue items
// first.
func (s *Store) AccountPurge(ctx context.Context, settled time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		n = 0
		deleted := map[int64]time.Time{}
		err := t.query(`SELECT number, deleted_at FROM accounts INDEXED BY accounts_purge WHERE deleted_at IS NOT NULL AND purged_at IS NULL`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			deleted[c.int64()] = c.time()
			return nil
		})
		if err != nil {
			return fmt.Errorf("looking for deleted accounts: %w", err)
		}
		for account, at := range deleted {
			if n, err = t.purge(account, limit); err != nil || n > 0 {
				return err
			}
			if err := t.lockOut(account); err != nil {
				return err
			}
			if at.Before(settled) {
				if err := t.exec(`UPDATE accounts SET purged_at = ? WHERE number = ?`, t.now, account); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return n, err
}

func (t *tx) purge(account int64, limit int) (int, error) {
	t.store.uses.forget(account)
	err := t.exec(`DELETE FROM schedules WHERE id IN (`+within(`SELECT id AS key, octet_length(args) + coalesce(octet_length(state), 0) + coalesce(octet_length(previous), 0) AS size
		FROM schedules WHERE account = ? LIMIT ?`)+`)`, account, limit)
	if n := t.changed(); err != nil || n > 0 {
		return n, err
	}
	if n, err := t.purgeJobs(account, limit); err != nil || n > 0 {
		return n, err
	}
	for _, records := range []string{
		`DELETE FROM logs WHERE seq IN (` + within(`SELECT seq AS key, `+payloadSize+` AS size FROM logs l WHERE account = ? LIMIT ?`) + `)`,
		`DELETE FROM limit_items WHERE (account, number, key) IN (SELECT account, number, key FROM limit_items WHERE account = ? LIMIT ?)`,
		`DELETE FROM limits WHERE (account, key) IN (SELECT account, key FROM limits WHERE account = ? LIMIT ?)`,
		`DELETE FROM revisions WHERE (account, record, revision) IN (SELECT account, record, revision FROM revisions WHERE account = ? LIMIT ?)`,
		`DELETE FROM job_tags WHERE (account, tag, number) IN (SELECT account, tag, number FROM job_tags WHERE account = ? LIMIT ?)`,
		`DELETE FROM schedule_tags WHERE (account, tag, id) IN (SELECT account, tag, id FROM schedule_tags WHERE account = ? LIMIT ?)`,
		`DELETE FROM operation_jobs WHERE rowid IN (SELECT rowid FROM operation_jobs WHERE operation IN (SELECT id FROM operations WHERE account = ?) LIMIT ?)`,
		`DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE account = ? LIMIT ?)`,
		`DELETE FROM stats WHERE (account, minute, source) IN (SELECT account, minute, source FROM stats WHERE account = ? LIMIT ?)`,
		`DELETE FROM audits WHERE (account, class, seq) IN (SELECT account, class, seq FROM audits WHERE account = ? LIMIT ?)`,
	} {
		if err := t.exec(records, account, limit); err != nil {
			return 0, fmt.Errorf("deleting the records of a deleted account: %w", err)
		}
		if n := t.changed(); n > 0 {
			return n, nil
		}
	}
	return 0, nil
}

// purgeJobs deletes jobs with their queue items and deliveries, pending jobs
// first.
func (t *tx) purgeJobs(account int64, limit int) (int, error) {
	type ref struct {
		number int64
		due    time.Time
		size   int64
	}
	read := func(query string, args ...any) (refs []ref, err error) {
		err = t.query(query, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			refs = append(refs, ref{c.int64(), c.time(), c.int64()})
			return nil
		}, args...)
		return refs, err
	}
	jobs, err := read(`SELECT number, due_at, `+argsSize+` FROM jobs WHERE account = ? ORDER BY state, number LIMIT ?`, account, limit)
	if err != nil {
		return 0, err
	}
	n, size := 0, int64(0)
	for _, j := range jobs {
		if size >= removedBytes {
			break
		}
		n++
		size += j.size
		messages, err := read(`SELECT number, due, octet_length(body) FROM deliveries WHERE job = ?`, j.number)
		if err != nil {
			return 0, err
		}
		for _, m := range messages {
			size += m.size
			if err := t.exec(`DELETE FROM runs WHERE due = ? AND kind = ? AND number = ?`, m.due, store.KindDelivery, m.number); err != nil {
				return 0, err
			}
		}
		if err := t.exec(`DELETE FROM deliveries WHERE job = ?`, j.number); err != nil {
			return 0, err
		}
		if err := t.exec(`DELETE FROM completions WHERE job = ?`, j.number); err != nil {
			return 0, err
		}
		if err := t.exec(`DELETE FROM runs WHERE due = ? AND kind = ? AND number = ?`, j.due, store.KindJob, j.number); err != nil {
			return 0, err
		}
		if err := t.exec(`DELETE FROM jobs WHERE number = ?`, j.number); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// AccountPage implements store.People.
func (s *Store) AccountPage(ctx context.Context, after int64, limit int) (accounts []*identity.Account, err error) {
	err = s.readAs(ctx, access, func(t *tx) error {
		return t.query(`SELECT number, id, email, created_at, operator, suspended_at FROM accounts WHERE number > ? AND deleted_at IS NULL ORDER BY number LIMIT ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			a := &identity.Account{}
			a.Number, a.ID, a.Email, a.CreatedAt, a.Operator = c.int64(), c.uuid(), c.text(), c.time(), c.int() != 0
			a.SuspendedAt = c.time()
			accounts = append(accounts, a)
			return nil
		}, after, limit)
	})
	return accounts, err
}

// AccountSize implements store.People.
func (s *Store) AccountSize(ctx context.Context, account int64, limit int) (size identity.RecordCounts, err error) {
	err = s.readAs(ctx, heavy, func(t *tx) error {
		return t.query(`SELECT
			(SELECT count(*) FROM (SELECT 1 FROM jobs WHERE account = ?1 AND state <= 2 LIMIT ?2)),
			(SELECT count(*) FROM (SELECT 1 FROM jobs WHERE account = ?1 AND state >= 4 LIMIT ?2)),
			(SELECT count(*) FROM (SELECT 1 FROM schedules WHERE account = ?1 LIMIT ?2)),
			(SELECT count(*) FROM (SELECT 1 FROM logs WHERE account = ?1 LIMIT ?2))`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			size = identity.RecordCounts{Pending: c.int64(), Final: c.int64(), Schedules: c.int64(), Logs: c.int64()}
			return nil
		}, account, limit)
	})
	return size, err
}

// NodeList implements store.People: this process is the only node.
func (s *Store) NodeList(context.Context) ([]operator.Node, error) {
	return []operator.Node{{Number: thisNode}}, nil
}

// SessionInsert implements store.People.
func (s *Store) SessionInsert(ctx context.Context, session *identity.Session) error {
	return s.write(ctx, func(t *tx) error {
		// The account may have been deleted meanwhile.
		err := t.exec(`INSERT INTO sessions (hash, account, created_at, seen_at, expires_at, address, agent, pending)
			SELECT ?, number, ?, ?, ?, ?, ?, ? FROM accounts WHERE number = ? AND deleted_at IS NULL`,
			session.Hash, session.CreatedAt, session.SeenAt, session.ExpiresAt, session.Address, session.Agent, session.Pending, session.Account)
		if err != nil {
			return fmt.Errorf("inserting a session: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("account")
		}
		err = t.exec(`DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE account = ? AND pending = ? ORDER BY created_at DESC LIMIT -1 OFFSET ?) AND hash <> ?`,
			session.Account, session.Pending, identity.MaxSessions, session.Hash)
		if err != nil {
			return fmt.Errorf("deleting surplus sessions of an account: %w", err)
		}
		return nil
	})
}

const sessionColumns = `SELECT hash, account, created_at, seen_at, expires_at, address, agent, pending FROM sessions `

func (t *tx) sessionsWhere(where string, args ...any) (sessions []*identity.Session, err error) {
	err = t.query(sessionColumns+where, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		sessions = append(sessions, &identity.Session{
			Hash: c.blob(), Account: c.int64(), CreatedAt: c.time(), SeenAt: c.time(), ExpiresAt: c.time(),
			Address: c.text(), Agent: c.text(), Pending: c.int() != 0,
		})
		return nil
	}, args...)
	return sessions, err
}

// SessionList implements store.People.
func (s *Store) SessionList(ctx context.Context, account int64, at time.Time) (sessions []*identity.Session, err error) {
	err = s.readAs(ctx, access, func(t *tx) error {
		sessions, err = t.sessionsWhere(`WHERE account = ? AND expires_at > ? AND pending = 0 ORDER BY seen_at DESC, hash`, account, at)
		return err
	})
	return sessions, err
}

// SessionEndOthers implements store.People.
func (s *Store) SessionEndOthers(ctx context.Context, account int64, keep []byte) error {
	return s.write(ctx, func(t *tx) error {
		return t.exec(`DELETE FROM sessions WHERE account = ? AND hash <> ?`, account, notNil(keep))
	})
}

// SessionFind implements store.People.
func (s *Store) SessionFind(ctx context.Context, hash []byte, at time.Time) (*identity.Session, error) {
	found, err := oneAs(ctx, s, access, func(t *tx) (found *identity.Session, err error) {
		sessions, err := t.sessionsWhere(`WHERE hash = ? AND expires_at > ?`, notNil(hash), at)
		if len(sessions) > 0 {
			found = sessions[0]
		}
		return found, err
	})
	if err == nil && found == nil {
		return nil, fault.NoSuch("session")
	}
	return found, err
}

// SessionSeen implements store.People.
func (s *Store) SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error {
	return s.write(ctx, func(t *tx) error {
		return t.exec(`UPDATE sessions SET seen_at = max(seen_at, ?), expires_at = max(expires_at, ?) WHERE hash = ?`, at, expires, notNil(hash))
	})
}

// SessionDelete implements store.People.
func (s *Store) SessionDelete(ctx context.Context, hash []byte) error {
	return s.write(ctx, func(t *tx) error { return t.exec(`DELETE FROM sessions WHERE hash = ?`, notNil(hash)) })
}

// SessionPrune implements store.People.
func (s *Store) SessionPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		n = 0
		for _, table := range []string{"sessions", "invites"} {
			err := t.exec(`DELETE FROM `+table+` WHERE hash IN (SELECT hash FROM `+table+` WHERE expires_at < ? LIMIT ?)`, before, limit)
			if err != nil {
				return fmt.Errorf("deleting expired %s: %w", table, err)
			}
			n += t.changed()
		}
		return nil
	})
	return n, err
}

// InviteInsert implements store.People.
func (s *Store) InviteInsert(ctx context.Context, i *identity.Invite) error {
	return s.write(ctx, func(t *tx) error {
		return t.exec(`INSERT INTO invites (hash, created_at, expires_at) VALUES (?, ?, ?)`, i.Hash, i.CreatedAt, i.ExpiresAt)
	})
}

func (t *tx) invites(hash []byte, at time.Time) (invites []*identity.Invite, err error) {
	err = t.query(`SELECT hash, created_at, expires_at FROM invites WHERE hash = ? AND used_at IS NULL AND expires_at > ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		invites = append(invites, &identity.Invite{Hash: c.blob(), CreatedAt: c.time(), ExpiresAt: c.time()})
		return nil
	}, notNil(hash), at)
	return invites, err
}

// InviteFind implements store.People.
func (s *Store) InviteFind(ctx context.Context, hash []byte, at time.Time) (*identity.Invite, error) {
	var invites []*identity.Invite
	err := s.readAs(ctx, access, func(t *tx) (err error) {
		invites, err = t.invites(hash, at)
		return err
	})
	if err == nil && len(invites) == 0 {
		return nil, fault.NoSuch("invite")
	}
	if err != nil {
		return nil, err
	}
	return invites[0], nil
}
