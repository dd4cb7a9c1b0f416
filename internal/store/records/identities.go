package records

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var identities = Table[identity.Identity]{
	Name: "person_identities", Key: []string{"issuer", "subject"},
	Columns: []Column[identity.Identity]{
		{"issuer", func(i *identity.Identity) any { return &i.Issuer }},
		{"subject", func(i *identity.Identity) any { return &i.Subject }},
		{"person", func(i *identity.Identity) any { return &i.Person }},
		{"created_at", func(i *identity.Identity) any { return &i.CreatedAt }},
	},
}

var errIdentityTaken = fault.New(fault.Conflict, "this person of the sign-in provider has just signed in; try again")

// newIdentity returns the query that stores an identity, which may be nil, of a new
// person, and refuses one that exists.
func newIdentity(t Tx, i *identity.Identity, person uuid.UUID) ([]Query, error) {
	if i == nil {
		return nil, nil
	}
	known := false
	err := t.Run(Query{
		SQL:  `SELECT EXISTS (SELECT 1 FROM person_identities WHERE issuer = $1 AND subject = $2)`,
		Args: []any{i.Issuer, i.Subject}, Row: into(&known),
	})
	if err == nil && known {
		err = errIdentityTaken
	}
	i.Person = person
	return []Query{insertIdentity(i)}, err
}

func insertIdentity(i *identity.Identity) Query {
	q := identities.Insert(i)
	q.Taken = errIdentityTaken
	return q
}

// IdentityFind implements store.Identities.
func (r *Records) IdentityFind(ctx context.Context, issuer, subject string) (*identity.Person, error) {
	found, err := read(ctx, r, Access, &identities, `WHERE issuer = $1 AND subject = $2`, issuer, subject)
	i, err := first(found, err, "identity")
	if err != nil {
		return nil, err
	}
	return r.PersonOf(ctx, i.Person)
}

// IdentityInsert implements store.Identities. It locks the person, so that of two
// identities of an issuer only one is stored.
func (r *Records) IdentityInsert(ctx context.Context, i *identity.Identity) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var found []*identity.Identity
		err := t.Run(livePerson(i.Person), identities.Select(&found, nil, `WHERE person = $1 AND issuer = $2`, i.Person, i.Issuer))
		switch {
		case err != nil:
			return nil, err
		case len(found) > 0 && found[0].Subject == i.Subject:
			return nil, nil
		case len(found) > 0:
			return nil, fault.New(fault.Conflict, "the person has another identity at this provider")
		}
		return []Query{insertIdentity(i)}, nil
	})
}

// IdentityForget implements store.Identities.
func (r *Records) IdentityForget(ctx context.Context, i *identity.Identity) error {
	return r.write(ctx,
		Query{
			SQL:  `DELETE FROM person_identities WHERE person = $1 AND issuer = $2 AND subject = $3`,
			Args: []any{i.Person, i.Issuer, i.Subject},
			None: fault.NoSuch("identity"),
		},
		Query{SQL: `DELETE FROM sessions WHERE subject = $1 AND issuer = $2`, Args: []any{i.Subject, i.Issuer}})
}

// MemberJoin implements store.Identities.
func (r *Records) MemberJoin(ctx context.Context, j *identity.Joining) (joined *identity.Member, err error) {
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		if err := t.Run(liveAccount(j.Account)); err != nil {
			return nil, err
		}
		var found []*identity.Member
		all := 0
		err := t.Run(members.Select(&found, nil, `WHERE account = $1 AND email = $2`, j.Account, j.Person.Email), Query{
			SQL: `SELECT count(*) FROM members WHERE account = $1`, Args: []any{j.Account}, Row: into(&all),
		})
		joined = &identity.Member{ID: j.Person.ID, Account: j.Account, Person: j.Person.ID, Email: j.Person.Email, Role: j.Role,
			CreatedAt: j.At}
		switch {
		case err != nil:
			return nil, err
		case len(found) > 0 && !found[0].Invited():
			joined = found[0]
			return nil, nil
		case len(found) > 0:
			joined.ID = found[0].ID
			if j.Invited {
				joined.Role = found[0].Role
			}
		case all >= identity.MaxMembers:
			return nil, fault.New(fault.Conflict, fmt.Sprintf("the account has %d members and invitations, which is the limit", all))
		}
		if !j.New {
			return []Query{members.Put(joined)}, mayBelong(t, j.Person.ID)
		}
		last, err := newIdentity(t, j.Identity, j.Person.ID)
		if err != nil {
			return nil, err
		}
		insert := people.Insert(j.Person)
		insert.Taken = fault.New(fault.Conflict, "somebody with the email "+j.Person.Email+" has just signed up; try again")
		return append(last, members.Put(joined)), t.Run(insert)
	})
	return joined, err
}

// SessionLogout implements store.Identities.
func (r *Records) SessionLogout(ctx context.Context, l *identity.Logout) (ended int, err error) {
	use := Query{
		SQL: `INSERT INTO logout_tokens (hash, expires_at) VALUES ($1, $2)`, Args: []any{l.Token, l.Expires},
		Taken: fault.New(fault.Conflict, "this logout token was used before"),
	}
	end := Query{
		SQL:  `DELETE FROM sessions WHERE issuer = $1 AND subject = $2 AND created_at <= $3`,
		Args: []any{l.Issuer, l.Subject, l.Before}, Changed: &ended,
	}
	if l.SID != "" {
		end.SQL = `DELETE FROM sessions WHERE issuer = $1 AND sid = $2 AND created_at <= $3 AND ($4 = '' OR subject = $4)`
		end.Args = []any{l.Issuer, l.SID, l.Before, l.Subject}
	}
	return ended, r.write(ctx, use, end)
}
