package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var sessions = Table[identity.Session]{
	Name: "sessions", Key: []string{"hash"},
	Columns: []Column[identity.Session]{
		{"hash", func(s *identity.Session) any { return &s.Hash }},
		{"account", func(s *identity.Session) any { return &s.Account }},
		{"person", func(s *identity.Session) any { return orNone{&s.Person} }},
		{"created_at", func(s *identity.Session) any { return &s.CreatedAt }},
		{"seen_at", func(s *identity.Session) any { return &s.SeenAt }},
		{"expires_at", func(s *identity.Session) any { return &s.ExpiresAt }},
		{"address", func(s *identity.Session) any { return &s.Address }},
		{"agent", func(s *identity.Session) any { return &s.Agent }},
		{"issuer", func(s *identity.Session) any { return orNull{&s.Provider.Issuer} }},
		{"subject", func(s *identity.Session) any { return orNull{&s.Provider.Subject} }},
		{"sid", func(s *identity.Session) any { return orNull{&s.Provider.SID} }},
		{"pending", func(s *identity.Session) any { return &s.Pending }},
	},
}

// belongs locks the row of a person in an account, and refuses one who does not belong
// there: the person may have been removed meanwhile.
func belongs(account int64, person uuid.UUID) Query {
	return Query{
		SQL: `SELECT 1 FROM members WHERE person = $1 AND account = $2 FOR UPDATE`, Args: []any{person, account},
		None: fault.NoSuch("member"),
	}
}

// SessionInsert implements store.Sessions.
func (r *Records) SessionInsert(ctx context.Context, s *identity.Session) error {
	return r.write(ctx, belongs(s.Account, s.Person), sessions.Insert(s), Query{
		SQL: r.engine.Dialect().DeleteSome("sessions", sessions.Key,
			`WHERE person = $1 AND pending = $2 AND hash <> $3 ORDER BY created_at DESC LIMIT $5 OFFSET $4`),
		Args: []any{s.Person, s.Pending, s.Hash, identity.MaxSessions - 1, surplus},
	})
}

// SessionList implements store.Sessions.
func (r *Records) SessionList(ctx context.Context, person uuid.UUID, at time.Time) ([]*identity.Session, error) {
	return read(ctx, r, Access, &sessions, `WHERE person = $1 AND expires_at > $2 AND NOT pending ORDER BY seen_at DESC, hash`,
		person, at)
}

// SessionFind implements store.Sessions.
func (r *Records) SessionFind(ctx context.Context, hash []byte, at time.Time) (*identity.Session, error) {
	found, err := read(ctx, r, Access, &sessions, `WHERE hash = $1 AND expires_at > $2`, notNil(hash), at)
	return first(found, err, "session")
}

// endOthers deletes the sessions of a person except one.
func endOthers(person uuid.UUID, keep []byte) Query {
	return Query{SQL: `DELETE FROM sessions WHERE person = $1 AND hash <> $2`, Args: []any{person, notNil(keep)}}
}

// SessionEndOthers implements store.Sessions.
func (r *Records) SessionEndOthers(ctx context.Context, person uuid.UUID, keep []byte) error {
	return r.write(ctx, endOthers(person, keep))
}

// SessionSwitch implements store.Sessions. It locks the row of the membership, so that
// a person who is removed at the same time loses the session.
func (r *Records) SessionSwitch(ctx context.Context, hash []byte, account int64) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var found []*identity.Session
		err := t.Run(sessions.Select(&found, nil, `WHERE hash = $1`, notNil(hash)))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fault.NoSuch("session")
		}
		update := Query{SQL: `UPDATE sessions SET account = $1 WHERE hash = $2`, Args: []any{account, notNil(hash)}}
		return []Query{update}, t.Run(belongs(account, found[0].Person))
	})
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
	for _, table := range []string{"sessions", "invites", "logout_tokens", "mail_tokens"} {
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
