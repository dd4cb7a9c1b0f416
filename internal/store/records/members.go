package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var members = Table[identity.Member]{
	Name: "members", Key: []string{"id"},
	Columns: []Column[identity.Member]{
		{"id", func(m *identity.Member) any { return &m.ID }},
		{"account", func(m *identity.Member) any { return &m.Account }},
		{"person", func(m *identity.Member) any { return orNone{&m.Person} }},
		{"email", func(m *identity.Member) any { return &m.Email }},
		{"role", func(m *identity.Member) any { return (*string)(&m.Role) }},
		{"created_at", func(m *identity.Member) any { return &m.CreatedAt }},
		{"hash", func(m *identity.Member) any { return &m.Hash }},
		{"expires_at", func(m *identity.Member) any { return &m.ExpiresAt }},
	},
}

// MemberList implements store.Members.
func (r *Records) MemberList(ctx context.Context, account int64) ([]*identity.Member, error) {
	return read(ctx, r, Access, &members, `WHERE account = $1 ORDER BY email LIMIT $2`, account, identity.MaxMembers)
}

// MembershipList implements store.Members.
func (r *Records) MembershipList(ctx context.Context, person uuid.UUID) (found []*identity.Membership, err error) {
	err = r.engine.Read(ctx, Access, Query{
		SQL: `SELECT a.number, a.id, a.email, m.role FROM members m JOIN accounts a ON a.number = m.account
			WHERE m.person = $1 AND a.deleted_at IS NULL ORDER BY a.number LIMIT $2`,
		Args: []any{person, identity.MaxMemberships}, Start: func() { found = nil },
		Row: func(row Row) error {
			m := &identity.Membership{}
			found = append(found, m)
			return scan(row, &m.Account.Number, &m.Account.ID, &m.Email, (*string)(&m.Role))
		},
	})
	return found, err
}

// MemberRole implements store.Members.
func (r *Records) MemberRole(ctx context.Context, account int64, person uuid.UUID) (role identity.Role, err error) {
	err = r.engine.Read(ctx, Access, Query{
		SQL: `SELECT role FROM members WHERE person = $1 AND account = $2`, Args: []any{person, account},
		Start: func() { role = "" }, Row: into((*string)(&role)),
	})
	return role, err
}

// MemberChange implements store.Members. It locks the account, so that of two owners
// who remove each other at once, only one succeeds.
func (r *Records) MemberChange(ctx context.Context, account int64, id uuid.UUID, email string, decide identity.DecideMember) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		if err := t.Run(liveAccount(account)); err != nil {
			return nil, err
		}
		state := &identity.MemberState{}
		var found []*identity.Member
		err := t.Run(
			members.Select(&found, nil, `WHERE account = $1 AND (id = $2 OR email = $3)`, account, id, email),
			Query{
				SQL: `SELECT count(*), coalesce(sum(CASE WHEN role = 'owner' AND person IS NOT NULL THEN 1 ELSE 0 END), 0)
					FROM members WHERE account = $1`,
				Args: []any{account}, Row: into(&state.All, &state.Owners),
			})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			state.Member = found[0]
		}
		next, err := decide(state)
		switch {
		case err != nil:
			return nil, err
		case next != nil:
			return []Query{members.Put(next)}, nil
		case state.Member == nil:
			return nil, nil
		case state.Member.Invited():
			return []Query{deleteMember(state.Member)}, nil
		}
		return append([]Query{lockPerson(state.Member.Person), deleteMember(state.Member)}, left(state.Member.Person, account)...), nil
	})
}

func deleteMember(m *identity.Member) Query {
	return Query{SQL: `DELETE FROM members WHERE id = $1`, Args: []any{m.ID}}
}

// lockPerson locks a person's row, so that changes of two memberships see each other.
func lockPerson(person uuid.UUID) Query {
	return Query{SQL: `SELECT 1 FROM people WHERE id = $1 FOR UPDATE`, Args: []any{person}, Lock: true}
}

// left returns the queries that delete what a person who has left an account leaves
// behind: the sessions there and, if it was the last account, the person.
func left(person uuid.UUID, account int64) []Query {
	const gone = ` AND NOT EXISTS (SELECT 1 FROM members m WHERE m.person = $1)`
	return []Query{
		{SQL: `DELETE FROM sessions WHERE person = $1 AND account = $2`, Args: []any{person, account}},
		{SQL: `DELETE FROM sessions WHERE person = $1` + gone, Args: []any{person}},
		{SQL: `DELETE FROM person_totps WHERE person = $1` + gone, Args: []any{person}},
		{SQL: `DELETE FROM person_identities WHERE person = $1` + gone, Args: []any{person}},
		{SQL: `DELETE FROM mail_tokens WHERE person = $1` + gone, Args: []any{person}},
		{SQL: `DELETE FROM people WHERE id = $1` + gone, Args: []any{person}},
	}
}

// leaving returns the queries that delete the persons who belong to no other account
// than one.
func leaving(account int64) []Query {
	const those = `(SELECT m.person FROM members m WHERE m.account = $1 AND m.person IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM members o WHERE o.person = m.person AND o.account <> $1))`
	return []Query{
		{
			SQL:  `SELECT 1 FROM people WHERE id IN (SELECT m.person FROM members m WHERE m.account = $1) ORDER BY id FOR UPDATE`,
			Args: []any{account}, Lock: true,
		},
		{SQL: `DELETE FROM sessions WHERE person IN ` + those, Args: []any{account}},
		{SQL: `DELETE FROM person_totps WHERE person IN ` + those, Args: []any{account}},
		{SQL: `DELETE FROM person_identities WHERE person IN ` + those, Args: []any{account}},
		{SQL: `DELETE FROM mail_tokens WHERE person IN ` + those, Args: []any{account}},
		{SQL: `DELETE FROM people WHERE id IN ` + those, Args: []any{account}},
	}
}

// invited selects an invitation that has not expired.
func invited(found *[]*identity.Member, hash []byte, at time.Time) Query {
	return members.Select(found, nil, `WHERE hash = $1 AND expires_at > $2`, notNil(hash), at)
}

// MemberInvited implements store.Members.
func (r *Records) MemberInvited(ctx context.Context, hash []byte, at time.Time) (*identity.Member, error) {
	var found []*identity.Member
	err := r.engine.Read(ctx, Access, invited(&found, hash, at))
	return first(found, err, "invitation")
}

// mayBelong locks a person, and refuses one who belongs to too many accounts.
func mayBelong(t Tx, person uuid.UUID) error {
	belongs := 0
	err := t.Run(livePerson(person), Query{
		SQL: `SELECT count(*) FROM members WHERE person = $1`, Args: []any{person}, Row: into(&belongs),
	})
	if err == nil && belongs >= identity.MaxMemberships {
		err = fault.New(fault.Conflict, "you belong to as many accounts as a person can; leave one first")
	}
	return err
}

// MemberAccept implements store.Members.
func (r *Records) MemberAccept(ctx context.Context, a *identity.Acceptance) (accepted *identity.Member, err error) {
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var before, found []*identity.Member
		if err := t.Run(invited(&before, a.Hash, a.At)); err != nil {
			return nil, err
		}
		if len(before) == 0 {
			return nil, fault.NoSuch("invitation")
		}
		// The account is locked before the person, as everywhere.
		if err := t.Run(liveAccount(before[0].Account), invited(&found, a.Hash, a.At)); err != nil {
			return nil, err
		}
		switch {
		case len(found) == 0:
			return nil, fault.NoSuch("invitation")
		case found[0].Email != a.Person.Email:
			return nil, fault.New(fault.Forbidden, "this invitation is for "+found[0].Email+"; sign in with that email")
		}
		accepted = found[0]
		accepted.Person, accepted.Hash, accepted.ExpiresAt, accepted.CreatedAt = a.Person.ID, nil, time.Time{}, a.At
		if a.New {
			insert := people.Insert(a.Person)
			insert.Taken = fault.New(fault.Invalid, "somebody with the email "+a.Person.Email+" can sign in already")
			last, err := newIdentity(t, a.Identity, a.Person.ID)
			if err != nil {
				return nil, err
			}
			return append(last, members.Put(accepted)), t.Run(insert)
		}
		return []Query{members.Put(accepted)}, mayBelong(t, a.Person.ID)
	})
	return accepted, err
}
