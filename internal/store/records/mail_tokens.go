package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var mailTokens = Table[identity.MailToken]{
	Name: "mail_tokens", Key: []string{"person", "purpose"},
	Columns: []Column[identity.MailToken]{
		{"person", func(m *identity.MailToken) any { return &m.Person }},
		{"purpose", func(m *identity.MailToken) any { return (*string)(&m.Purpose) }},
		{"hash", func(m *identity.MailToken) any { return &m.Hash }},
		{"email", func(m *identity.MailToken) any { return orNull{&m.Email} }},
		{"expires_at", func(m *identity.MailToken) any { return &m.ExpiresAt }},
	},
}

func validToken(found *[]*identity.MailToken, hash []byte, purpose identity.Purpose, at time.Time) Query {
	return mailTokens.Select(found, nil, `WHERE hash = $1 AND purpose = $2 AND expires_at > $3`, notNil(hash), string(purpose), at)
}

// MailTokenPut implements store.MailTokens. It locks the person, so that no token outlives
// the person.
func (r *Records) MailTokenPut(ctx context.Context, m *identity.MailToken) error {
	return r.write(ctx, livePerson(m.Person), mailTokens.Put(m))
}

// MailTokenFind implements store.MailTokens.
func (r *Records) MailTokenFind(ctx context.Context, hash []byte, purpose identity.Purpose, at time.Time) (*identity.MailToken, error) {
	var found []*identity.MailToken
	err := r.engine.Read(ctx, Access, validToken(&found, hash, purpose, at))
	return first(found, err, "link")
}

// MailTokenUse implements store.MailTokens. It locks the person, so that of simultaneous
// uses only one succeeds.
func (r *Records) MailTokenUse(ctx context.Context, use *identity.MailTokenUse) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var before, found []*identity.MailToken
		if err := t.Run(validToken(&before, use.Hash, use.Purpose, use.At)); err != nil {
			return nil, err
		}
		if len(before) == 0 {
			return nil, fault.NoSuch("link")
		}
		person := before[0].Person
		if err := t.Run(livePerson(person), validToken(&found, use.Hash, use.Purpose, use.At)); err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fault.NoSuch("link")
		}
		last := []Query{{SQL: `DELETE FROM mail_tokens WHERE person = $1`, Args: []any{person}}}
		if email := found[0].Email; email != "" {
			changes, err := newEmail(t, person, email)
			if err != nil {
				return nil, err
			}
			last = append(last, changes...)
		}
		last = append(last, confirmed(person))
		if use.Password != "" {
			last = append(last, newPassword(person, use.Password)...)
			last = append(last, endOthers(person, nil))
		}
		return last, nil
	})
}

// newPassword returns the queries that set a person's password. They take it from nodes
// of earlier versions, which look for it in accounts.
func newPassword(person uuid.UUID, hash string) []Query {
	return []Query{
		{
			SQL: `UPDATE people SET password = $2 WHERE id = $1`, Args: []any{person, orNull{&hash}},
			None: fault.NoSuch("person"),
		},
		{
			SQL: `UPDATE accounts SET password = NULL WHERE password IS NOT NULL
				AND email = (SELECT p.email FROM people p WHERE p.id = $1)`,
			Args: []any{person},
		},
	}
}

// newEmail returns the queries that set a person's email, or an Invalid fault if it is
// taken. The accounts of the person that are named by the old one follow it.
func newEmail(t Tx, person uuid.UUID, email string) ([]Query, error) {
	known := false
	if err := t.Run(Query{
		SQL:  `SELECT EXISTS (SELECT 1 FROM people WHERE email = $1) OR EXISTS (SELECT 1 FROM accounts WHERE email = $1)`,
		Args: []any{email}, Row: into(&known),
	}); err != nil {
		return nil, err
	}
	if known {
		return nil, taken(email)
	}
	return []Query{
		{
			SQL: `UPDATE accounts SET email = $2 WHERE email = (SELECT p.email FROM people p WHERE p.id = $1)
				AND number IN (SELECT m.account FROM members m WHERE m.person = $1 AND m.role = 'owner')`,
			Args: []any{person, email}, Taken: taken(email),
		},
		// An invitation of the new email to an account that the person belongs to is void.
		{
			SQL: `DELETE FROM members WHERE person IS NULL AND email = $2
				AND account IN (SELECT m.account FROM members m WHERE m.person = $1)`,
			Args: []any{person, email},
		},
		{SQL: `UPDATE members SET email = $2 WHERE person = $1`, Args: []any{person, email}},
		{
			SQL: `UPDATE people SET email = $2 WHERE id = $1`, Args: []any{person, email}, Taken: taken(email),
			None: fault.NoSuch("person"),
		},
	}, nil
}
