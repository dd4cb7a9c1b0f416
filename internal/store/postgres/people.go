package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/operator"
)

// found returns a row function that sets is when there is a row.
func found(is *bool) func(pgx.Rows) error {
	return func(pgx.Rows) error {
		*is = true
		return nil
	}
}

// AccountRegister implements store.People. It locks out other registrations, so
// that only one account can be the first.
func (s *Store) AccountRegister(ctx context.Context, r *identity.Registration) error {
	err := s.write(ctx, func(t *tx) error {
		others, invited := false, false
		queries := []query{
			{sql: `LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE`},
			{sql: `SELECT 1 FROM accounts WHERE email <> $1 AND deleted_at IS NULL LIMIT 1`, args: []any{r.Uncounted}, row: found(&others)},
		}
		if r.Invite != nil {
			queries = append(queries, query{
				sql:  `SELECT 1 FROM invites WHERE hash = $1 AND used_at IS NULL AND expires_at > $2 FOR UPDATE`,
				args: []any{r.Invite, t.now.UnixMicro()}, row: found(&invited),
			})
		}
		if err := t.run(queries...); err != nil {
			return err
		}
		r.Account.Operator = r.FirstOnly
		switch {
		case r.FirstOnly && others:
			return fault.New(fault.Forbidden, "there is an account already")
		case r.Invite != nil && !invited:
			return fault.NoSuch("invite")
		}
		rest, err := t.insertAccount(r.Account)
		if err != nil {
			return err
		}
		if r.Invite != nil {
			rest = append(rest, query{sql: `UPDATE invites SET used_at = $1 WHERE hash = $2`, args: []any{t.now.UnixMicro(), r.Invite}})
		}
		return t.commit(rest...)
	})
	return taken(err, r.Account)
}

// account runs statements, the first of which returns a row if the account exists.
func (s *Store) account(ctx context.Context, queries ...query) error {
	return s.write(ctx, func(t *tx) error {
		there := false
		queries[0].row = found(&there)
		if err := t.run(queries[0]); err != nil {
			return err
		}
		if !there {
			return fault.NoSuch("account")
		}
		return t.commit(queries[1:]...)
	})
}

// AccountPassword implements store.People.
func (s *Store) AccountPassword(ctx context.Context, change identity.PasswordChange) error {
	queries := []query{
		{sql: `UPDATE accounts SET password = $1 WHERE number = $2 AND deleted_at IS NULL RETURNING 1`, args: []any{orNull(change.Password), change.Account}},
		endOthers(change.Account, change.Keep),
	}
	if !change.RevokeKeys.IsZero() {
		queries = append(queries, query{
			sql:  `UPDATE keys SET revoked_at = $1 WHERE account = (SELECT $2::bigint) AND revoked_at IS NULL`,
			args: []any{change.RevokeKeys.UnixMicro(), change.Account},
		})
	}
	return s.account(ctx, queries...)
}

// endOthers deletes the sessions of an account except one.
func endOthers(account int64, keep []byte) query {
	return query{sql: `DELETE FROM sessions WHERE account = (SELECT $1::bigint) AND hash <> $2`, args: []any{account, notNil(keep)}}
}

// notNil returns b, or an empty slice for nil, which SQL would compare as null.
func notNil(b []byte) []byte { return append([]byte{}, b...) }

// AccountOperator implements store.People.
func (s *Store) AccountOperator(ctx context.Context, account int64, operator bool) error {
	return s.account(ctx, query{sql: `UPDATE accounts SET operator = $1 WHERE number = $2 AND deleted_at IS NULL RETURNING 1`, args: []any{operator, account}})
}

// AccountDelete implements store.People.
func (s *Store) AccountDelete(ctx context.Context, account int64, at time.Time) error {
	return s.account(ctx, append([]query{{
		sql:  `UPDATE accounts SET email = 'deleted ' || number, password = NULL, operator = false, deleted_at = $1 WHERE number = $2 AND deleted_at IS NULL RETURNING 1`,
		args: []any{at.UnixMicro(), account},
	}}, lockOut(account)...)...)
}

// lockOut deletes an account's sessions, keys, secrets and other credentials, and
// its remaining room.
func lockOut(account int64) []query {
	var queries []query
	for _, table := range []string{"sessions", "keys", "secrets", "totps", "account_room", "header_secrets", "secret_uses", "alerts", "alert_states", "alert_outcomes", "alert_accounts"} {
		queries = append(queries, query{sql: `DELETE FROM ` + table + ` WHERE account = (SELECT $1::bigint)`, args: []any{account}})
	}
	// Who was asked still counts, and refusals still hold.
	return append(queries, query{
		sql:  `UPDATE alert_recipients SET confirmed_at = NULL WHERE account = (SELECT $1::bigint) AND confirmed_at IS NOT NULL`,
		args: []any{account},
	})
}

// AccountPurge implements store.People. It deletes what creates queue items
// first.
func (s *Store) AccountPurge(ctx context.Context, settled time.Time, limit int) (n int, err error) {
	type ended struct {
		account int64
		at      time.Time
	}
	var deleted []ended
	err = s.readAs(ctx, access, query{
		sql:   `SELECT number, deleted_at FROM accounts WHERE deleted_at IS NOT NULL AND purged_at IS NULL ORDER BY number`,
		start: func() { deleted = nil },
		row: func(rows pgx.Rows) error {
			var e ended
			err := rows.Scan(&e.account, timeOf{&e.at})
			deleted = append(deleted, e)
			return err
		},
	})
	for _, e := range deleted {
		for _, records := range purges {
			if err != nil || n > 0 {
				return n, err
			}
			n, err = s.prune(ctx, records, e.account, limit)
		}
		if err != nil || n > 0 {
			return n, err
		}
		rest := lockOut(e.account)
		if e.at.Before(settled) {
			rest = append(rest, query{sql: `UPDATE accounts SET purged_at = $1 WHERE number = $2`, args: []any{s.Now().UnixMicro(), e.account}})
		}
		err = s.write(ctx, func(t *tx) error { return t.commit(rest...) })
	}
	return n, err
}

// purges delete records of an account, each up to a limit: schedules, then jobs
// with their queue items and deliveries, pending jobs first, then the rest.
var purges = []string{
	`DELETE FROM schedules d USING (SELECT account, id FROM schedules WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.id = o.id RETURNING 1`,
	`WITH o AS (SELECT account, number FROM jobs WHERE account = (SELECT $1::bigint) ORDER BY state, number LIMIT $2 FOR UPDATE),
		j AS (DELETE FROM jobs d USING o WHERE d.account = o.account AND d.number = o.number RETURNING d.account, d.number, d.due_at),
		m AS (DELETE FROM deliveries d USING o WHERE d.account = o.account AND d.job = o.number RETURNING d.account, d.number, d.due),
		a AS (DELETE FROM runs r USING j WHERE r.due = j.due_at AND r.kind = 0 AND r.number = j.number AND r.account = j.account),
		b AS (DELETE FROM runs r USING m WHERE r.due = m.due AND r.kind = 1 AND r.number = m.number AND r.account = m.account),
		c AS (DELETE FROM completions c USING o WHERE c.account = o.account AND c.job = o.number)
		SELECT 1 FROM j`,
	`DELETE FROM logs d USING (SELECT account, id FROM logs WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.id = o.id RETURNING 1`,
	`DELETE FROM limit_items d USING (SELECT account, number, key FROM limit_items WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.number = o.number AND d.key = o.key RETURNING 1`,
	`DELETE FROM limits d USING (SELECT account, key FROM limits WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.key = o.key RETURNING 1`,
	`DELETE FROM operation_jobs d USING (SELECT k.operation, k.last FROM operations p JOIN operation_jobs k ON k.operation = p.id WHERE p.account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.operation = o.operation AND d.last = o.last RETURNING 1`,
	`DELETE FROM operations d USING (SELECT account, id FROM operations WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.id = o.id RETURNING 1`,
	`DELETE FROM revisions d USING (SELECT account, record, revision FROM revisions WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.record = o.record AND d.revision = o.revision RETURNING 1`,
	`DELETE FROM stats d USING (SELECT account, minute, source FROM stats WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.minute = o.minute AND d.source = o.source RETURNING 1`,
	`DELETE FROM audits d USING (SELECT account, class, seq FROM audits WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.class = o.class AND d.seq = o.seq RETURNING 1`,
}

// AccountPage implements store.People.
func (s *Store) AccountPage(ctx context.Context, after int64, limit int) ([]*identity.Account, error) {
	var accounts []*identity.Account
	err := s.readAs(ctx, access, query{
		sql:  `SELECT number, id, email, created_at, operator, suspended_at FROM accounts WHERE number > $1 AND deleted_at IS NULL ORDER BY number LIMIT $2`,
		args: []any{after, limit}, start: func() { accounts = nil },
		row: func(rows pgx.Rows) error {
			a := &identity.Account{}
			accounts = append(accounts, a)
			return rows.Scan(&a.Number, idOf{&a.ID}, &a.Email, timeOf{&a.CreatedAt}, &a.Operator, timeOf{&a.SuspendedAt})
		},
	})
	return accounts, err
}

// AccountSize implements store.People.
func (s *Store) AccountSize(ctx context.Context, account int64, limit int) (size identity.RecordCounts, err error) {
	err = s.readAs(ctx, heavy, query{
		sql: `SELECT
			(SELECT count(*) FROM (SELECT FROM jobs WHERE account = (SELECT $1::bigint) AND state <= 2 ORDER BY state, number LIMIT $2) n),
			(SELECT count(*) FROM (SELECT FROM jobs WHERE account = (SELECT $1::bigint) AND state >= 4 ORDER BY state, number LIMIT $2) n),
			(SELECT count(*) FROM (SELECT FROM schedules WHERE account = (SELECT $1::bigint) LIMIT $2) n),
			(SELECT count(*) FROM (SELECT FROM logs WHERE account = (SELECT $1::bigint) LIMIT $2) n)`,
		args: []any{account, limit},
		row:  func(rows pgx.Rows) error { return rows.Scan(&size.Pending, &size.Final, &size.Schedules, &size.Logs) },
	})
	return size, err
}

// NodeList implements store.People.
func (s *Store) NodeList(ctx context.Context) ([]operator.Node, error) {
	var nodes []operator.Node
	err := s.readAs(ctx, access, query{
		sql: `SELECT number, started_at, beat_at FROM nodes ORDER BY number`, start: func() { nodes = nil },
		row: func(rows pgx.Rows) error {
			var n operator.Node
			err := rows.Scan(&n.Number, timeOf{&n.StartedAt}, timeOf{&n.HeartbeatAt})
			nodes = append(nodes, n)
			return err
		},
	})
	return nodes, err
}

// SessionInsert implements store.People.
func (s *Store) SessionInsert(ctx context.Context, session *identity.Session) error {
	// The account may have been deleted meanwhile.
	return s.account(ctx,
		query{sql: `SELECT 1 FROM accounts WHERE number = $1 AND deleted_at IS NULL FOR UPDATE`, args: []any{session.Account}},
		query{
			sql: `INSERT INTO sessions (hash, account, created_at, seen_at, expires_at, address, agent, pending) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			args: []any{session.Hash, session.Account, session.CreatedAt.UnixMicro(), session.SeenAt.UnixMicro(), session.ExpiresAt.UnixMicro(),
				text(session.Address), text(session.Agent), session.Pending},
		}, query{
			sql: `DELETE FROM sessions d USING (SELECT hash FROM sessions WHERE account = (SELECT $1::bigint) AND pending = $2 ORDER BY created_at DESC OFFSET $3) o
				WHERE d.hash = o.hash AND d.hash <> $4`,
			args: []any{session.Account, session.Pending, identity.MaxSessions, session.Hash},
		})
}

// sessionsWhere reads sessions that have not expired at a time.
func (s *Store) sessionsWhere(ctx context.Context, where string, arg any, at time.Time) (sessions []*identity.Session, err error) {
	err = s.readAs(ctx, access, query{
		sql:  `SELECT hash, account, created_at, seen_at, expires_at, address, agent, pending FROM sessions WHERE expires_at > $1 AND ` + where,
		args: []any{at.UnixMicro(), arg}, start: func() { sessions = nil },
		row: func(rows pgx.Rows) error {
			session := &identity.Session{}
			sessions = append(sessions, session)
			return rows.Scan(&session.Hash, &session.Account, timeOf{&session.CreatedAt}, timeOf{&session.SeenAt}, timeOf{&session.ExpiresAt},
				&session.Address, &session.Agent, &session.Pending)
		},
	})
	return sessions, err
}

// SessionList implements store.People.
func (s *Store) SessionList(ctx context.Context, account int64, at time.Time) ([]*identity.Session, error) {
	return s.sessionsWhere(ctx, `account = (SELECT $2::bigint) AND NOT pending ORDER BY seen_at DESC, hash`, account, at)
}

// SessionEndOthers implements store.People.
func (s *Store) SessionEndOthers(ctx context.Context, account int64, keep []byte) error {
	return s.write(ctx, func(t *tx) error { return t.commit(endOthers(account, keep)) })
}

// SessionFind implements store.People.
func (s *Store) SessionFind(ctx context.Context, hash []byte, at time.Time) (*identity.Session, error) {
	sessions, err := s.sessionsWhere(ctx, `hash = $2`, notNil(hash), at)
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, fault.NoSuch("session")
	}
	return sessions[0], nil
}

// SessionSeen implements store.People.
func (s *Store) SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql:  `UPDATE sessions SET seen_at = greatest(seen_at, $1), expires_at = greatest(expires_at, $2) WHERE hash = $3`,
			args: []any{at.UnixMicro(), expires.UnixMicro(), notNil(hash)},
		})
	})
}

// SessionDelete implements store.People.
func (s *Store) SessionDelete(ctx context.Context, hash []byte) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{sql: `DELETE FROM sessions WHERE hash = $1`, args: []any{notNil(hash)}})
	})
}

// SessionPrune implements store.People.
func (s *Store) SessionPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	for _, table := range []string{"sessions", "invites"} {
		removed, err := s.prune(ctx, `DELETE FROM `+table+` d USING (SELECT hash FROM `+table+` WHERE expires_at < $1 LIMIT $2) o
			WHERE d.hash = o.hash RETURNING 1`, before.UnixMicro(), limit)
		if err != nil {
			return n, err
		}
		n += removed
	}
	return n, nil
}

// InviteInsert implements store.People.
func (s *Store) InviteInsert(ctx context.Context, i *identity.Invite) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql:  `INSERT INTO invites (hash, created_at, expires_at) VALUES ($1, $2, $3)`,
			args: []any{i.Hash, i.CreatedAt.UnixMicro(), i.ExpiresAt.UnixMicro()},
		})
	})
}

// InviteFind implements store.People.
func (s *Store) InviteFind(ctx context.Context, hash []byte, at time.Time) (*identity.Invite, error) {
	var invite *identity.Invite
	err := s.readAs(ctx, access, query{
		sql:  `SELECT hash, created_at, expires_at FROM invites WHERE hash = $1 AND used_at IS NULL AND expires_at > $2`,
		args: []any{notNil(hash), at.UnixMicro()},
		row: func(rows pgx.Rows) error {
			invite = &identity.Invite{}
			return rows.Scan(&invite.Hash, timeOf{&invite.CreatedAt}, timeOf{&invite.ExpiresAt})
		},
	})
	if err == nil && invite == nil {
		return nil, fault.NoSuch("invite")
	}
	return invite, err
}
