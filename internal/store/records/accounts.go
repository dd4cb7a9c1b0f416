package records

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var accounts = Table[identity.Account]{
	Name: "accounts", Key: []string{"number"},
	Columns: []Column[identity.Account]{
		{"number", func(a *identity.Account) any { return &a.Number }},
		{"id", func(a *identity.Account) any { return &a.ID }},
		{"email", func(a *identity.Account) any { return &a.Email }},
		{"created_at", func(a *identity.Account) any { return &a.CreatedAt }},
		{"operator", func(a *identity.Account) any { return &a.Operator }},
		{"deleted_at", func(a *identity.Account) any { return &a.DeletedAt }},
		{"max_pending", func(a *identity.Account) any { return &a.Limits.Pending }},
		{"max_schedules", func(a *identity.Account) any { return &a.Limits.Schedules }},
		{"max_stored", func(a *identity.Account) any { return &a.Limits.Stored }},
		{"max_rate", func(a *identity.Account) any { return &a.Limits.Rate }},
		{"suspended_at", func(a *identity.Account) any { return &a.SuspendedAt }},
		{"suspended_for", func(a *identity.Account) any { return orNull{&a.SuspendedFor} }},
		{"origin", func(a *identity.Account) any { return numberOf(&a.Origin) }},
		{"token_keys", func(a *identity.Account) any { return orNull{&a.TokenKeys} }},
	},
}

// signingSecret is a signing secret with its account.
type signingSecret struct {
	account int64
	identity.Secret
}

var signingSecrets = Table[signingSecret]{
	Name: "secrets", Key: []string{"account", "created_at", "value"},
	Columns: []Column[signingSecret]{
		{"account", func(s *signingSecret) any { return &s.account }},
		{"created_at", func(s *signingSecret) any { return &s.CreatedAt }},
		{"value", func(s *signingSecret) any { return &s.Value }},
		{"expires_at", func(s *signingSecret) any { return &s.ExpiresAt }},
	},
}

func secretsOf(a *identity.Account) []*signingSecret {
	all := make([]*signingSecret, len(a.Secrets))
	for i, s := range a.Secrets {
		all[i] = &signingSecret{a.Number, s}
	}
	return all
}

// AccountInsert implements store.Accounts.
func (r *Records) AccountInsert(ctx context.Context, a *identity.Account) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		if a.Origin == identity.OriginShared {
			return insertAccount(t, a, nil)
		}
		var found []*identity.Person
		if err := t.Run(people.Select(&found, nil, `WHERE email = $1 FOR UPDATE`, a.Email)); err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return insertAccount(t, a, found[0])
		}
		owner := newOwner(a, "")
		insert := people.Insert(owner)
		insert.Taken = taken(a.Email) // a moment ago
		last, err := insertAccount(t, a, owner)
		return append([]Query{insert}, last...), err
	})
}

// newOwner returns the person who owns a new account.
func newOwner(a *identity.Account, password string) *identity.Person {
	return &identity.Person{ID: a.ID, Email: a.Email, CreatedAt: a.CreatedAt, Password: password}
}

// insertAccount stores an account, and returns the queries that store its secrets and
// its owner, if there is one.
func insertAccount(t Tx, a *identity.Account, owner *identity.Person) (rest []Query, err error) {
	err = t.Run(Query{
		SQL:   `INSERT INTO accounts (id, email, created_at, operator, origin) VALUES ($1, $2, $3, $4, $5) RETURNING number`,
		Args:  []any{a.ID, a.Email, a.CreatedAt, a.Operator, int(a.Origin)},
		Row:   into(&a.Number),
		Taken: taken(a.Email),
	})
	for _, secret := range secretsOf(a) {
		rest = append(rest, signingSecrets.Insert(secret))
	}
	if owner != nil {
		rest = append(rest, members.Insert(&identity.Member{
			ID: a.ID, Account: a.Number, Person: owner.ID, Email: owner.Email, Role: identity.RoleOwner, CreatedAt: a.CreatedAt,
		}))
	}
	return rest, err
}

func taken(email string) error {
	return fault.New(fault.Invalid, fmt.Sprintf("there is an account %s already", email))
}

// accountsWhere reads accounts a with their current secrets.
func (r *Records) accountsWhere(ctx context.Context, class Class, where string, args ...any) ([]*identity.Account, error) {
	var found []*identity.Account
	var secrets []*signingSecret
	err := r.engine.Read(ctx, class,
		accounts.Select(&found, nil, `a WHERE `+where+` ORDER BY a.number`, args...),
		Query{
			SQL: `SELECT s.account, s.value, s.created_at, s.expires_at FROM accounts a JOIN secrets s ON s.account = a.number
				WHERE ` + where + fmt.Sprintf(` AND (s.expires_at IS NULL OR s.expires_at > $%d) ORDER BY s.created_at DESC`, len(args)+1),
			Args: append(slices.Clone(args), r.engine.Now()), Start: func() { secrets = nil },
			Row: func(row Row) error {
				s := &signingSecret{}
				secrets = append(secrets, s)
				return scan(row, &s.account, &s.Value, &s.CreatedAt, &s.ExpiresAt)
			},
		})
	byNumber := map[int64]*identity.Account{}
	for _, a := range found {
		byNumber[a.Number] = a
	}
	for _, s := range secrets {
		if a := byNumber[s.account]; a != nil {
			a.Secrets = append(a.Secrets, s.Secret)
		}
	}
	return found, err
}

func (r *Records) accountWhere(ctx context.Context, where string, arg any) (*identity.Account, error) {
	found, err := r.accountsWhere(ctx, Access, where, arg)
	return first(found, err, "account")
}

// first returns the first of what was found, or a NotFound fault.
func first[T any](found []*T, err error, what string) (*T, error) {
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.NoSuch(what)
	}
	return found[0], nil
}

// AccountGet implements store.Accounts.
func (r *Records) AccountGet(ctx context.Context, email string) (*identity.Account, error) {
	return r.accountWhere(ctx, `a.email = $1`, email)
}

// AccountOf implements store.Accounts.
func (r *Records) AccountOf(ctx context.Context, number int64) (*identity.Account, error) {
	return r.accountWhere(ctx, `a.number = $1`, number)
}

// AccountWithID implements store.Accounts.
func (r *Records) AccountWithID(ctx context.Context, id uuid.UUID) (*identity.Account, error) {
	return r.accountWhere(ctx, `a.id = $1 AND a.deleted_at IS NULL`, id)
}

// AccountList implements store.Accounts.
func (r *Records) AccountList(ctx context.Context) ([]*identity.Account, error) {
	return r.accountsWhere(ctx, Background, `true`)
}

// AccountPage implements store.People.
func (r *Records) AccountPage(ctx context.Context, after int64, limit int) (found []*identity.Account, err error) {
	err = r.engine.Read(ctx, Access, Query{
		SQL: `SELECT number, id, email, created_at, operator, suspended_at FROM accounts
			WHERE number > $1 AND deleted_at IS NULL ORDER BY number LIMIT $2`,
		Args: []any{after, limit}, Start: func() { found = nil },
		Row: func(row Row) error {
			a := &identity.Account{}
			found = append(found, a)
			return scan(row, &a.Number, &a.ID, &a.Email, &a.CreatedAt, &a.Operator, &a.SuspendedAt)
		},
	})
	return found, err
}

// SecretAdd implements store.Accounts.
func (r *Records) SecretAdd(ctx context.Context, account int64, secret identity.Secret, othersEnd time.Time) error {
	return r.write(ctx, Query{
		SQL:  `UPDATE secrets SET expires_at = least(coalesce(expires_at, $1), $1) WHERE account = $2`,
		Args: []any{othersEnd, account},
	}, signingSecrets.Insert(&signingSecret{account, secret}), Query{
		SQL: `DELETE FROM secrets WHERE account = $1 AND (expires_at <= $2 OR (created_at, value) IN (
			SELECT o.created_at, o.value FROM secrets o WHERE o.account = $1 ORDER BY o.created_at DESC, o.value LIMIT 1000 OFFSET $3))`,
		Args: []any{account, r.engine.Now(), identity.MaxSecrets},
	})
}

// changeAccount changes the row of an account that is not deleted, then runs queries.
// The SET clause has the parameters $2 and up.
func (r *Records) changeAccount(ctx context.Context, account int64, set string, args []any, queries ...Query) error {
	return r.write(ctx, append([]Query{{
		SQL: `UPDATE accounts SET ` + set + ` WHERE number = $1 AND deleted_at IS NULL`, Args: append([]any{account}, args...),
		None: fault.NoSuch("account"),
	}}, queries...)...)
}

// AccountOperator implements store.People.
func (r *Records) AccountOperator(ctx context.Context, account int64, operator bool) error {
	return r.changeAccount(ctx, account, `operator = $2`, []any{operator})
}

// AccountLimit implements store.Quotas.
func (r *Records) AccountLimit(ctx context.Context, account int64, l identity.Overrides) error {
	return r.changeAccount(ctx, account, `max_pending = $2, max_schedules = $3, max_stored = $4, max_rate = $5`,
		[]any{l.Pending, l.Schedules, l.Stored, l.Rate})
}

// AccountSuspend implements store.Blocking.
func (r *Records) AccountSuspend(ctx context.Context, account int64, at time.Time, reason string) error {
	set := `suspended_at = coalesce(suspended_at, $2), suspended_for = $3`
	if at.IsZero() {
		set = `suspended_at = $2, suspended_for = $3`
	}
	return r.changeAccount(ctx, account, set, []any{at, orNull{&reason}})
}

// AccountsBlocked implements store.Blocking.
func (r *Records) AccountsBlocked(ctx context.Context) (numbers []int64, err error) {
	err = r.engine.Read(ctx, Queue, Query{
		SQL: `SELECT number FROM accounts INDEXED BY accounts_suspended WHERE suspended_at IS NOT NULL AND deleted_at IS NULL
			UNION SELECT number FROM accounts INDEXED BY accounts_purge WHERE deleted_at IS NOT NULL AND purged_at IS NULL ORDER BY number`,
		Start: func() { numbers = nil },
		Row: func(row Row) error {
			var number int64
			err := row.Scan(&number)
			numbers = append(numbers, number)
			return err
		},
	})
	return numbers, err
}

// AccountDelete implements store.People.
func (r *Records) AccountDelete(ctx context.Context, account int64, at time.Time) error {
	const set = `email = 'deleted ' || number, password = NULL, token_keys = NULL, operator = false, deleted_at = $2`
	return r.changeAccount(ctx, account, set, []any{at},
		LockOut(r.engine.Dialect(), account)...)
}

// LockOut returns the queries that delete an account's sessions, keys, secrets and
// other credentials, and what waits to be told about its jobs.
func LockOut(d Dialect, account int64) []Query {
	tables := []string{
		"members", "sessions", "keys", "secrets", "signing_keys", "totps", "header_secrets", "target_groups", "secret_uses",
		"alerts", "alert_states", "alert_outcomes", "alert_accounts", "schedule_mutes",
	}
	if d == PostgreSQL {
		tables = append(tables, "account_room")
	}
	queries := leaving(account)
	for _, table := range tables {
		queries = append(queries, Query{SQL: `DELETE FROM ` + table + ` WHERE account = $1`, Args: []any{account}})
	}
	// Who was asked still counts, and refusals still hold.
	return append(queries, Query{
		SQL: `UPDATE alert_recipients SET confirmed_at = NULL WHERE account = $1 AND confirmed_at IS NOT NULL`, Args: []any{account},
	})
}

// Owned is a table whose rows belong to accounts, with the columns of its primary key.
type Owned struct {
	Table string
	Key   []string
}

// Purged has the tables, in order, from which AccountPurge deletes a deleted account's
// rows by the hundred, besides those that it deletes with its jobs.
var Purged = []Owned{
	{"limit_items", []string{"account", "number", "key"}},
	{"job_waits", []string{"account", "job", "waits_for"}},
	{"job_ends", []string{"number"}},
	{"workflow_steps", []string{"account", "run", "position"}},
	{"workflow_runs", []string{"account", "id"}},
	{"limits", []string{"account", "key"}},
	{"revisions", []string{"account", "record", "revision"}},
	{"operations", []string{"account", "id"}},
	{"stats", []string{"account", "minute", "source"}},
	{"schedule_months", []string{"account", "schedule", "month"}},
	{"requests", []string{"account", "id"}},
	{"audits", []string{"account", "class", "seq"}},
}

// Purge returns the query that deletes some of an account's rows, and counts them.
func (o Owned) Purge(d Dialect, account int64, limit int, deleted *int) Query {
	return Query{SQL: d.DeleteSome(o.Table, o.Key, `WHERE account = $1 LIMIT $2`), Args: []any{account, limit}, Changed: deleted}
}

// AccountTokenKeys implements store.Accounts.
func (r *Records) AccountTokenKeys(ctx context.Context, account int64, before, keys string) (replaced bool, err error) {
	n := 0
	err = r.engine.Write(ctx, func(Tx) ([]Query, error) {
		return []Query{{
			SQL:  `UPDATE accounts SET token_keys = $1 WHERE number = $2 AND coalesce(token_keys, '') = $3 AND deleted_at IS NULL`,
			Args: []any{keys, account, before}, Changed: &n,
		}}, nil
	})
	return n > 0, err
}
