package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var people = Table[identity.Person]{
	Name: "people", Key: []string{"id"},
	Columns: []Column[identity.Person]{
		{"id", func(p *identity.Person) any { return &p.ID }},
		{"email", func(p *identity.Person) any { return &p.Email }},
		{"created_at", func(p *identity.Person) any { return &p.CreatedAt }},
		{"password", func(p *identity.Person) any { return orNull{&p.Password} }},
		{"email_state", func(p *identity.Person) any { return numberOf(&p.EmailState) }},
	},
}

// AccountRegister implements store.People. It locks out other registrations, so that
// only one account can be the first.
func (r *Records) AccountRegister(ctx context.Context, g *identity.Registration) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		others, known := false, false
		reads := []Query{
			{SQL: `LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE`, Lock: true},
			{SQL: `SELECT EXISTS (SELECT 1 FROM accounts WHERE email <> $1 AND deleted_at IS NULL)`, Args: []any{g.Uncounted},
				Row: into(&others)},
			{SQL: `SELECT EXISTS (SELECT 1 FROM people WHERE email = $1)`, Args: []any{g.Account.Email}, Row: into(&known)},
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
		case known:
			return nil, taken(g.Account.Email)
		}
		owner := newOwner(g.Account, g.Password)
		owner.EmailState = g.EmailState
		first, err := newIdentity(t, g.Identity, owner.ID)
		if err != nil {
			return nil, err
		}
		insert := people.Insert(owner)
		insert.Taken = taken(g.Account.Email)
		last, err := insertAccount(t, g.Account, owner)
		last = slices.Concat(first, []Query{insert}, last)
		if g.Invite != nil {
			last = append(last, Query{SQL: `UPDATE invites SET used_at = $1 WHERE hash = $2`, Args: []any{now, g.Invite}})
		}
		return last, err
	})
}

// AccountsAdopt implements store.People.
func (r *Records) AccountsAdopt(ctx context.Context, except string) error {
	const withoutPerson = `FROM accounts a WHERE a.deleted_at IS NULL AND a.email <> $1
		AND NOT EXISTS (SELECT 1 FROM members m WHERE m.account = a.number) ON CONFLICT DO NOTHING`
	return r.write(ctx, Query{
		SQL:  `INSERT INTO people (id, email, created_at, password) SELECT a.id, a.email, a.created_at, a.password ` + withoutPerson,
		Args: []any{except},
	}, Query{
		SQL: `INSERT INTO members (id, account, person, email, role, created_at)
			SELECT a.id, a.number, (SELECT p.id FROM people p WHERE p.email = a.email), a.email, 'owner', a.created_at ` + withoutPerson,
		Args: []any{except},
	})
}

// personWhere reads a person p.
func (r *Records) personWhere(ctx context.Context, where string, arg any) (*identity.Person, error) {
	var found []*identity.Person
	var factors []*factor
	var known []*identity.Identity
	err := r.engine.Read(ctx, Access,
		Query{
			SQL: `SELECT ` + people.namesOf("p.") + `, coalesce(a.number, 0), a.id FROM people p
				LEFT JOIN accounts a ON a.number = (SELECT min(m.account) FROM members m WHERE m.person = p.id) WHERE ` + where,
			Args: []any{arg}, Start: func() { found = nil },
			Row: func(row Row) error {
				p := &identity.Person{}
				found = append(found, p)
				return scan(row, append(people.values(p), &p.Home.Number, &p.Home.ID)...)
			},
		},
		Query{
			SQL:  `SELECT ` + totps.namesOf("t.") + ` FROM people p JOIN person_totps t ON t.person = p.id WHERE ` + where,
			Args: []any{arg}, Start: func() { factors = nil },
			Row: func(row Row) error {
				f := &factor{}
				factors = append(factors, f)
				return scan(row, totps.values(f)...)
			},
		},
		Query{
			SQL: `SELECT ` + identities.namesOf("i.") + ` FROM people p JOIN person_identities i ON i.person = p.id
				WHERE ` + where + ` ORDER BY i.created_at`,
			Args: []any{arg}, Start: func() { known = nil },
			Row: func(row Row) error {
				i := &identity.Identity{}
				known = append(known, i)
				return scan(row, identities.values(i)...)
			},
		})
	person, err := first(found, err, "person")
	if err == nil && len(factors) > 0 {
		person.TOTP = &factors[0].TOTP
	}
	if err == nil {
		for _, i := range known {
			person.Identities = append(person.Identities, *i)
		}
	}
	return person, err
}

// PersonGet implements store.People.
func (r *Records) PersonGet(ctx context.Context, email string) (*identity.Person, error) {
	return r.personWhere(ctx, `p.email = $1`, email)
}

// PersonOf implements store.People.
func (r *Records) PersonOf(ctx context.Context, id uuid.UUID) (*identity.Person, error) {
	return r.personWhere(ctx, `p.id = $1`, id)
}

// PersonPassword implements store.People.
func (r *Records) PersonPassword(ctx context.Context, change identity.PasswordChange) error {
	queries := append(newPassword(change.Person, change.Password), endOthers(change.Person, change.Keep))
	if !change.RevokeKeys.IsZero() {
		queries = append(queries, Query{
			SQL:  `UPDATE keys SET revoked_at = $1 WHERE account = $2 AND revoked_at IS NULL`,
			Args: []any{change.RevokeKeys, change.Account},
		})
	}
	return r.write(ctx, queries...)
}

// PersonConfirm implements store.Identities.
func (r *Records) PersonConfirm(ctx context.Context, person uuid.UUID) error {
	return r.write(ctx, confirmed(person))
}

func confirmed(person uuid.UUID) Query {
	return Query{
		SQL: `UPDATE people SET email_state = $2 WHERE id = $1`, Args: []any{person, int(identity.EmailConfirmed)},
		None: fault.NoSuch("person"),
	}
}

// PersonEmail implements store.Identities.
func (r *Records) PersonEmail(ctx context.Context, person uuid.UUID, email string) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		if err := t.Run(livePerson(person)); err != nil {
			return nil, err
		}
		changes, err := newEmail(t, person, email)
		return append(changes, Query{SQL: `DELETE FROM mail_tokens WHERE person = $1`, Args: []any{person}}), err
	})
}

// factor is the second factor of a person.
type factor struct {
	person uuid.UUID
	identity.TOTP
}

var totps = Table[factor]{
	Name: "person_totps", Key: []string{"person"},
	Columns: []Column[factor]{
		{"person", func(f *factor) any { return &f.person }},
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

// PersonTOTP implements store.People. It locks the person's row, so that only one of
// several simultaneous uses of a code succeeds.
func (r *Records) PersonTOTP(ctx context.Context, person uuid.UUID, decide identity.DecideTOTP) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var found []*factor
		err := t.Run(livePerson(person), totps.Select(&found, nil, `WHERE person = $1`, person))
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
			return []Query{{SQL: `DELETE FROM person_totps WHERE person = $1`, Args: []any{person}}}, nil
		}
		return []Query{totps.Put(&factor{person, *next})}, nil
	})
}

// livePerson locks the row of a person, and refuses one that does not exist.
func livePerson(person uuid.UUID) Query {
	return Query{SQL: `SELECT 1 FROM people WHERE id = $1 FOR UPDATE`, Args: []any{person}, None: fault.NoSuch("person")}
}

// liveAccount locks the row of an account, and refuses one that is deleted.
func liveAccount(account int64) Query {
	return Query{
		SQL: `SELECT 1 FROM accounts WHERE number = $1 AND deleted_at IS NULL FOR UPDATE`, Args: []any{account},
		None: fault.NoSuch("account"),
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
