package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

var sessions = Table[identity.Session]{
	Name: "sessions", Key: []string{"hash"},
	Columns: []Column[identity.Session]{
		{"hash", func(s *identity.Session) any { return &s.Hash }},
		{"account", func(s *identity.Session) any { return &s.Account }},
		{"created_at", func(s *identity.Session) any { return &s.CreatedAt }},
		{"seen_at", func(s *identity.Session) any { return &s.SeenAt }},
		{"expires_at", func(s *identity.Session) any { return &s.ExpiresAt }},
		{"address", func(s *identity.Session) any { return &s.Address }},
		{"agent", func(s *identity.Session) any { return &s.Agent }},
		{"pending", func(s *identity.Session) any { return &s.Pending }},
	},
}

// SessionInsert implements store.Sessions. The account may have been deleted meanwhile.
func (r *Records) SessionInsert(ctx context.Context, s *identity.Session) error {
	return r.write(ctx, liveAccount(s.Account), sessions.Insert(s), Query{
		SQL: r.engine.Dialect().DeleteSome("sessions", sessions.Key,
			`WHERE account = $1 AND pending = $2 AND hash <> $3 ORDER BY created_at DESC LIMIT $5 OFFSET $4`),
		Args: []any{s.Account, s.Pending, s.Hash, identity.MaxSessions - 1, surplus},
	})
}

// SessionList implements store.Sessions.
func (r *Records) SessionList(ctx context.Context, account int64, at time.Time) ([]*identity.Session, error) {
	return read(ctx, r, Access, &sessions, `WHERE account = $1 AND expires_at > $2 AND NOT pending ORDER BY seen_at DESC, hash`,
		account, at)
}

// SessionFind implements store.Sessions.
func (r *Records) SessionFind(ctx context.Context, hash []byte, at time.Time) (*identity.Session, error) {
	found, err := read(ctx, r, Access, &sessions, `WHERE hash = $1 AND expires_at > $2`, notNil(hash), at)
	return first(found, err, "session")
}

// endOthers deletes the sessions of an account except one.
func endOthers(account int64, keep []byte) Query {
	return Query{SQL: `DELETE FROM sessions WHERE account = $1 AND hash <> $2`, Args: []any{account, notNil(keep)}}
}

// SessionEndOthers implements store.Sessions.
func (r *Records) SessionEndOthers(ctx context.Context, account int64, keep []byte) error {
	return r.write(ctx, endOthers(account, keep))
}

// SessionSeen implements store.Sessions.
func (r *Records) SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error {
	return r.write(ctx, Query{
		SQL:  `UPDATE sessions SET seen_at = greatest(seen_at, $1), expires_at = greatest(expires_at, $2) WHERE hash = $3`,
		Args: []any{at, expires, notNil(hash)},
	})
}

// SessionDelete implements store.Sessions.
func (r *Records) SessionDelete(ctx context.Context, hash []byte) error {
	return r.write(ctx, Query{SQL: `DELETE FROM sessions WHERE hash = $1`, Args: []any{notNil(hash)}})
}

// SessionPrune implements store.Sessions.
func (r *Records) SessionPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	for _, table := range []string{"sessions", "invites"} {
		removed, err := r.prune(ctx, table, []string{"hash"}, `WHERE expires_at < $1 LIMIT $2`, before, limit)
		if err != nil {
			return n, err
		}
		n += removed
	}
	return n, nil
}

var invites = Table[identity.Invite]{
	Name: "invites", Key: []string{"hash"},
	Columns: []Column[identity.Invite]{
		{"hash", func(i *identity.Invite) any { return &i.Hash }},
		{"created_at", func(i *identity.Invite) any { return &i.CreatedAt }},
		{"expires_at", func(i *identity.Invite) any { return &i.ExpiresAt }},
	},
}

func unusedInvite(found *[]*identity.Invite, hash []byte, at time.Time, lock string) Query {
	return invites.Select(found, nil, `WHERE hash = $1 AND used_at IS NULL AND expires_at > $2`+lock, notNil(hash), at)
}

// InviteInsert implements store.Sessions.
func (r *Records) InviteInsert(ctx context.Context, i *identity.Invite) error {
	return r.write(ctx, invites.Insert(i))
}

// InviteFind implements store.Sessions.
func (r *Records) InviteFind(ctx context.Context, hash []byte, at time.Time) (*identity.Invite, error) {
	var found []*identity.Invite
	err := r.engine.Read(ctx, Access, unusedInvite(&found, hash, at, ``))
	return first(found, err, "invite")
}
