package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// AccountRegister implements store.People. It locks out other registrations, so that
// only one account can be the first.
func (r *Records) AccountRegister(ctx context.Context, g *identity.Registration) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		others := false
		reads := []Query{
			{SQL: `LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE`, Lock: true},
			{SQL: `SELECT EXISTS (SELECT 1 FROM accounts WHERE email <> $1 AND deleted_at IS NULL)`, Args: []any{g.Uncounted}, Row: into(&others)},
		}
		var invited []*identity.Invite
		now := t.Now()
		if g.Invite != nil {
			reads = append(reads, unusedInvite(&invited, g.Invite, now, ` FOR UPDATE`))
		}
		if err := t.Run(reads...); err != nil {
			return nil, err
		}
		g.Account.Operator = g.FirstOnly
		switch {
		case g.FirstOnly && others:
			return nil, fault.New(fault.Forbidden, "there is an account already")
		case g.Invite != nil && len(invited) == 0:
			return nil, fault.NoSuch("invite")
		}
		last, err := insertAccount(t, g.Account)
		if g.Invite != nil {
			last = append(last, Query{SQL: `UPDATE invites SET used_at = $1 WHERE hash = $2`, Args: []any{now, g.Invite}})
		}
		return last, err
	})
}

// AccountPassword implements store.People.
func (r *Records) AccountPassword(ctx context.Context, change identity.PasswordChange) error {
	rest := []Query{endOthers(change.Account, change.Keep)}
	if !change.RevokeKeys.IsZero() {
		rest = append(rest, Query{
			SQL: `UPDATE keys SET revoked_at = $1 WHERE account = $2 AND revoked_at IS NULL`, Args: []any{change.RevokeKeys, change.Account},
		})
	}
	return r.changeAccount(ctx, change.Account, `password = $2`, []any{orNull{&change.Password}}, rest...)
}

// factor is the second factor of an account.
type factor struct {
	account int64
	identity.TOTP
}

var totps = Table[factor]{
	Name: "totps", Key: []string{"account"},
	Columns: []Column[factor]{
		{"account", func(f *factor) any { return &f.account }},
		{"secret", func(f *factor) any { return &f.Secret }},
		{"created_at", func(f *factor) any { return &f.CreatedAt }},
		{"confirmed_at", func(f *factor) any { return &f.ConfirmedAt }},
		{"last_step", func(f *factor) any { return &f.LastStep }},
		{"recovery", func(f *factor) any { return &hashes{to: &f.Recovery} }},
	},
}

// hashes stores SHA-256 hashes one after the other.
type hashes struct {
	to  *[][]byte
	all []byte
}

func (f *hashes) Target() any { return &f.all }
func (f *hashes) Stored() any { return notNil(bytes.Join(*f.to, nil)) }

func (f *hashes) Load() {
	*f.to = nil
	for hash := range slices.Chunk(f.all, sha256.Size) {
		*f.to = append(*f.to, hash)
	}
}

// AccountTOTP implements store.People. It locks the account's row, so that only one of
// several simultaneous uses of a code succeeds.
func (r *Records) AccountTOTP(ctx context.Context, account int64, decide identity.DecideTOTP) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var found []*factor
		err := t.Run(liveAccount(account), totps.Select(&found, nil, `WHERE account = $1`, account))
		if err != nil {
			return nil, err
		}
		var current *identity.TOTP
		if len(found) > 0 {
			current = &found[0].TOTP
		}
		next, err := decide(current)
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return []Query{{SQL: `DELETE FROM totps WHERE account = $1`, Args: []any{account}}}, nil
		}
		return []Query{totps.Put(&factor{account, *next})}, nil
	})
}

// liveAccount locks the row of an account, and refuses one that is deleted.
func liveAccount(account int64) Query {
	return Query{
		SQL: `SELECT 1 FROM accounts WHERE number = $1 AND deleted_at IS NULL FOR UPDATE`, Args: []any{account}, None: fault.NoSuch("account"),
	}
}

// AccountSize implements store.People.
func (r *Records) AccountSize(ctx context.Context, account int64, limit int) (size identity.RecordCounts, err error) {
	err = r.engine.Read(ctx, Heavy, Query{
		SQL: `SELECT
			(SELECT count(*) FROM (SELECT 1 FROM jobs WHERE account = $1 AND state <= 2 ORDER BY state, number LIMIT $2) n),
			(SELECT count(*) FROM (SELECT 1 FROM jobs WHERE account = $1 AND state >= 4 ORDER BY state, number LIMIT $2) n),
			(SELECT count(*) FROM (SELECT 1 FROM schedules WHERE account = $1 LIMIT $2) n),
			(SELECT count(*) FROM (SELECT 1 FROM logs WHERE account = $1 LIMIT $2) n)`,
		Args: []any{account, limit}, Row: into(&size.Pending, &size.Final, &size.Schedules, &size.Logs),
	})
	return size, err
}
