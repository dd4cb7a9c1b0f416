package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

type accountsCommand struct {
	Create       accountsCreate `cmd:"" help:"Create an account."`
	List         accountsList   `cmd:"" help:"List all accounts."`
	Show         accountsShow   `cmd:"" help:"Show an account with its signing secrets and keys."`
	RotateSecret accountsRotate `cmd:"" help:"Create a signing secret. The old one still signs for 24 hours."`

	SetPassword  accountsPassword     `cmd:"" help:"Set the password that a person signs in to the dashboard with."`
	SetOperator  accountsOperator     `cmd:"" help:"Make an account an operator, or an ordinary one. Its owners see the sizes of all accounts in the dashboard."`
	ResetTOTP    accountsTOTP         `cmd:"" name:"reset-totp" help:"Remove the second factor of a person who has lost it."`
	ConfirmEmail accountsConfirmEmail `cmd:"" help:"Record that a person owns their email address, so that they can sign in, also at the sign-in provider."`
	ChangeEmail  accountsChangeEmail  `cmd:"" help:"Change the email that a person signs in with, and the name of the accounts of theirs that have it."`
	ResetSignIn  accountsResetSignIn  `cmd:"" help:"Forget who a person is at the sign-in provider, and end their sessions from there."`
	Limit        accountsLimit        `cmd:"" help:"Set or show the limits of one account, which override those of the service."`
	Suspend      accountsSuspend      `cmd:"" help:"Suspend an account: none of its jobs run, its keys are refused, and its owner can't change anything."`
	Resume       accountsResume       `cmd:"" help:"Resume a suspended account. Jobs that became due in the meantime run at once."`
	Members      accountsMembers      `cmd:"" help:"Show who belongs to an account, with their roles, and who is invited."`
	Audit        accountsAudit        `cmd:"" help:"Show the audit log of an account, or of the service."`
	Delete       accountsDelete       `cmd:"" help:"Delete an account with all its records."`
}

type keysCommand struct {
	Create keysCreate `cmd:"" help:"Create a key for an account. It is shown once."`
	List   keysList   `cmd:"" help:"List an account's keys."`
	Revoke keysRevoke `cmd:"" help:"Revoke a key; it stops working within a second."`
	QStash keysQStash `cmd:"" name:"qstash" help:"Create a key for programs that use a QStash client, and print the variables that they read."`
}

// recordsFlags are the flags of commands that read or write records.
type recordsFlags struct {
	databaseFlag
	secretsFlag
	JSON bool `name:"json" type:"switch" help:"Print JSON."`
}

func (f *recordsFlags) wantsJSON() bool { return f.JSON }

// withStore calls f with the opened store.
func (f *recordsFlags) withStore(env *environment, do func(context.Context, store.Store) error) (err error) {
	s, err := app.OpenSealed(env.ctx, f.DatabaseURL, f.SecretsKeyFile, env.awaitingStore)
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(); err == nil {
			err = closing
		}
	}()
	return do(env.ctx, s)
}

// withAccount calls do with the opened store and an account.
func (f *recordsFlags) withAccount(env *environment, email string, do func(context.Context, store.Store, *identity.Account) error) error {
	return f.withStore(env, func(ctx context.Context, s store.Store) error {
		a, err := auth.AccountByEmail(ctx, s, email)
		if fault.CodeOf(err) == fault.NotFound && err != nil {
			return failed(statusNotFound, "there is no account %s; punctual accounts list shows all", email)
		}
		if err != nil {
			return err
		}
		return do(ctx, s, a)
	})
}

type accountView struct {
	ID             uuid.UUID `json:"id"`
	Email          string    `json:"email"`
	SigningSecrets []string  `json:"signing_secrets"`
}

type accountWithKeys struct {
	accountView
	Keys []keyView `json:"keys"`
}

type keyView struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Prefix     string    `json:"prefix"`
	CreatedAt  *string   `json:"created_at"`
	LastUsedAt *string   `json:"last_used_at"`
	RevokedAt  *string   `json:"revoked_at"`
	Scope      string    `json:"scope"`
	ExpiresAt  *string   `json:"expires_at"`
	CIDRs      []string  `json:"cidrs"`
	CreatedBy  *string   `json:"created_by"`
}

type newKeyView struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Key  string    `json:"key"`
}

func viewAccount(a *identity.Account) accountView {
	v := accountView{ID: a.ID, Email: a.Email, SigningSecrets: []string{}}
	for _, s := range a.Secrets {
		if s.Value == "" {
			continue // see readable
		}
		v.SigningSecrets = append(v.SigningSecrets, s.Value)
	}
	return v
}

// readable returns an error if a signing secret of an account can't be decrypted.
func (f *recordsFlags) readable(a *identity.Account) error {
	for _, s := range a.Secrets {
		if s.Value != "" {
			continue
		}
		return f.sealed("signing secrets", a)
	}
	return nil
}

// sealed returns the error for values of an account that can't be decrypted.
func (f *recordsFlags) sealed(what string, a *identity.Account) error {
	if f.SecretsKeyFile == "" {
		return fmt.Errorf("the %s of %s are encrypted; give the service's key file with --secrets-key-file", what, a.Email)
	}
	return fmt.Errorf("the %s of %s are encrypted with a key that %s does not have; add it to the file", what, a.Email, f.SecretsKeyFile)
}

func viewKeys(keys []*identity.Key) []keyView {
	views := []keyView{}
	for _, k := range keys {
		views = append(views, keyView{
			k.ID, printable(k.Name), k.Prefix, viewTime(k.CreatedAt), viewTime(k.LastUsedAt), viewTime(k.RevokedAt),
			string(k.Scope), viewTime(k.ExpiresAt), append([]string{}, k.CIDRs...), madeBy(k),
		})
	}
	return views
}

func madeBy(k *identity.Key) *string {
	if k.MadeBy == "" {
		return nil
	}
	return &k.MadeBy
}

func viewTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := job.FormatTime(t)
	return &text
}

func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

func (v accountView) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "account  %s\nid       %s\n", v.Email, v.ID)
	for i, secret := range v.SigningSecrets {
		note := ""
		if i > 0 {
			note = "  (replaced; signs for at most 24 more hours)"
		}
		_, err = fmt.Fprintf(out, "secret   %s%s\n", secret, note)
	}
	return err
}

func printKeys(out io.Writer, email string, keys []keyView) error {
	if len(keys) == 0 {
		_, err := fmt.Fprintf(out, "%s has no keys; create one with punctual keys create %s\n", email, email)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tNAME\tKEY\tSCOPE\tCREATED\tLAST USED\tEXPIRES\tREVOKED\tNETWORKS\tCREATED BY")
	for _, k := range keys {
		networks := "any"
		if len(k.CIDRs) > 0 {
			networks = strings.Join(k.CIDRs, ",")
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			k.ID, printable(k.Name), k.Prefix, k.Scope, orDash(k.CreatedAt), orDash(k.LastUsedAt), orDash(k.ExpiresAt), orDash(k.RevokedAt),
			networks, orDash(k.CreatedBy))
	}
	return w.Flush()
}

func orDash(text *string) string {
	if text == nil {
		return "-"
	}
	return printable(*text)
}

type accountsCreate struct {
	recordsFlags
	Email    string `arg:"" help:"The account's email."`
	Operator bool   `type:"switch" help:"Make it an operator, who sees the sizes of all accounts in the dashboard."`
	Key      bool   `type:"switch" help:"Also create a key with scope admin, which is shown once; keys create makes others."`
}

// accountWithNewKey is a created account with the key that was created with it.
type accountWithNewKey struct {
	accountView
	Key newKeyView `json:"key"`
}

// Run creates an account.
func (c *accountsCreate) Run(env *environment) error {
	return c.withStore(env, func(ctx context.Context, s store.Store) error {
		a, err := auth.CreateAccount(ctx, s, c.Email, s.Now())
		if err != nil {
			email := auth.NormalEmail(c.Email)
			if _, missing := auth.AccountByEmail(ctx, s, c.Email); missing == nil && email != auth.PublicEmail {
				return failed(statusConflict, "the account %s already exists; punctual accounts show %s shows it", email, email)
			}
			return err
		}
		if c.Operator {
			if err := s.AccountOperator(ctx, a.Number, true); err != nil {
				return err
			}
		}
		env.record(s, a.Owner, audit.AccountCreated, a.Email)
		if c.Operator {
			env.record(s, a.Owner, audit.OperatorChanged, "made an operator")
		}
		if c.Key {
			return c.createKey(ctx, env, s, a)
		}
		if c.JSON {
			return printJSON(env.out, viewAccount(a))
		}
		if err := viewAccount(a).print(env.out); err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.out, "\nNext: punctual keys create %s\n", a.Email)
		return err
	})
}

// createKey creates the key of a new account and prints both.
func (c *accountsCreate) createKey(ctx context.Context, env *environment, s store.Store, a *identity.Account) error {
	key, err := issueKey(ctx, env, s, a, auth.KeySpec{Scope: identity.ScopeAdmin}, s.Now())
	if err != nil {
		return fmt.Errorf("creating the key of %s, which has been created: %w", a.Email, err)
	}
	if c.JSON {
		return printJSON(env.out, accountWithNewKey{viewAccount(a), key})
	}
	if err := viewAccount(a).print(env.out); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(env.out)
	return key.print(env.out)
}

type accountsList struct{ recordsFlags }

// Run lists accounts.
func (c *accountsList) Run(env *environment) error {
	return c.withStore(env, func(ctx context.Context, s store.Store) error {
		accounts, err := s.AccountList(ctx)
		if err != nil {
			return err
		}
		views := []accountView{}
		for _, a := range accounts {
			if a.DeletedAt.IsZero() {
				views = append(views, viewAccount(a))
			}
		}
		if c.JSON {
			return printJSON(env.out, views)
		}
		if len(views) == 0 {
			_, err := fmt.Fprintln(env.out, "there are no accounts; create one with punctual accounts create EMAIL")
			return err
		}
		w := tabwriter.NewWriter(env.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "ID\tEMAIL")
		for _, v := range views {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", v.ID, printable(v.Email))
		}
		return w.Flush()
	})
}

type accountsShow struct {
	recordsFlags
	Email string `arg:"" help:"The account's email."`
}

// Run shows an account.
func (c *accountsShow) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		if err := c.readable(a); err != nil {
			return err
		}
		keys, err := s.KeyList(ctx, a.Number)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(env.out, accountWithKeys{viewAccount(a), viewKeys(keys)})
		}
		if err := viewAccount(a).print(env.out); err != nil {
			return err
		}
		if !a.SuspendedAt.IsZero() {
			_, _ = fmt.Fprintf(env.out, "suspended since %s; punctual accounts resume %s ends it\n", job.FormatTime(a.SuspendedAt), a.Email)
		}
		_, _ = fmt.Fprintln(env.out)
		return printKeys(env.out, a.Email, viewKeys(keys))
	})
}

type accountsRotate struct {
	recordsFlags
	Email string `arg:"" help:"The account's email."`
}

// Run creates a signing secret.
func (c *accountsRotate) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		if err := c.readable(a); err != nil {
			return err
		}
		if err := auth.RotateSecret(ctx, s, a, s.Now()); err != nil {
			return err
		}
		env.record(s, a.Owner, audit.SecretRotated, "")
		rotated, err := s.AccountGet(ctx, a.Email)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(env.out, viewAccount(rotated))
		}
		return viewAccount(rotated).print(env.out)
	})
}

type keysCreate struct {
	recordsFlags
	Email   string   `arg:"" help:"The account's email."`
	Name    label    `placeholder:"NAME" help:"What the key is for."`
	Scope   scope    `default:"admin" placeholder:"SCOPE" help:"What it permits: read (reading), jobs (also creating and changing jobs and schedules) or admin (also keys, signing secrets and the audit log)."`
	Expires period   `placeholder:"PERIOD" help:"How long until it expires (12h, 90d). Default: never."`
	CIDR    []string `name:"cidr" placeholder:"NETWORK" help:"A network it can be used from, such as 192.0.2.0/24. For several, separate them with commas or repeat the flag. Default: anywhere."`
}

// Run creates a key.
func (c *keysCreate) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		now := s.Now()
		spec := auth.KeySpec{Name: string(c.Name), Scope: identity.Scope(c.Scope), CIDRs: c.CIDR}
		if c.Expires > 0 {
			spec.ExpiresAt = now.Add(time.Duration(c.Expires))
		}
		key, err := issueKey(ctx, env, s, a, spec, now)
		if err != nil {
			return keyRefusal(err)
		}
		if c.JSON {
			return printJSON(env.out, key)
		}
		return key.print(env.out)
	})
}

// issueKey creates a key for an account and records that in the audit log.
func issueKey(ctx context.Context, env *environment, s store.Store, a *identity.Account, spec auth.KeySpec,
	now time.Time) (newKeyView, error) {
	key, k, err := auth.IssueKey(ctx, s, a.Number, spec, now)
	if err != nil {
		return newKeyView{}, err
	}
	env.record(s, a.Owner, audit.KeyCreated, auth.DescribeKey(k))
	return newKeyView{k.ID, k.Name, key}, nil
}

func (v newKeyView) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "key  %s\nid   %s\n\nCopy the key now. You won't see it again.\n", v.Key, v.ID)
	return err
}

// keyRefusal replaces the field in the error of a refused key with the flag.
func keyRefusal(err error) error {
	for _, p := range fault.ProblemsOf(err) {
		if strings.HasPrefix(p.Pointer, "#/cidrs") {
			return errors.New("--cidr " + p.Detail)
		}
	}
	return err
}

type keysList struct {
	recordsFlags
	Email string `arg:"" help:"The account's email."`
}

// Run lists keys.
func (c *keysList) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		keys, err := s.KeyList(ctx, a.Number)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(env.out, viewKeys(keys))
		}
		return printKeys(env.out, a.Email, viewKeys(keys))
	})
}

type keysRevoke struct {
	recordsFlags
	ID string `arg:"" help:"The key's id, as keys list shows it."`
}

// Run revokes a key.
func (c *keysRevoke) Run(env *environment) error {
	id, ok := job.ParseID(c.ID)
	if !ok {
		return failed(statusUsage, "%q is not a key's id; punctual keys list EMAIL shows them", c.ID)
	}
	return c.withStore(env, func(ctx context.Context, s store.Store) error {
		k, err := s.KeyGet(ctx, id)
		if err == nil {
			err = s.KeyRevoke(ctx, id, s.Now())
		}
		if err != nil && fault.CodeOf(err) == fault.NotFound {
			return failed(statusNotFound, "there is no key %s; punctual keys list EMAIL shows an account's keys", id)
		}
		if err != nil {
			return err
		}
		if a, err := s.AccountOf(ctx, k.Account); err == nil && k.RevokedAt.IsZero() {
			env.record(s, a.Owner, audit.KeyRevoked, auth.DescribeKey(k))
		}
		if c.JSON {
			return printJSON(env.out, struct {
				ID uuid.UUID `json:"id"`
			}{id})
		}
		_, err = fmt.Fprintf(env.out, "key %s is revoked\n", id)
		return err
	})
}
