package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/term"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

type accountsPassword struct {
	recordsFlags
	Email string `arg:"" help:"The email that the person signs in with."`
}

// Run sets a password, which is typed twice at a terminal and else is the first
// line of standard input.
func (c *accountsPassword) Run(env *environment) error {
	return c.withPerson(env, c.Email, func(ctx context.Context, s store.Store, p *identity.Person) error {
		password, err := readPassword(env)
		if err != nil {
			return err
		}
		if err := auth.SetPassword(ctx, s, p, password); err != nil {
			return err
		}
		env.record(s, p.Home, audit.PasswordChanged, p.Email+", all sessions ended")
		if c.JSON {
			a, err := s.AccountOf(ctx, p.Home.Number)
			if err != nil {
				return err
			}
			return printJSON(env.out, viewAccount(a))
		}
		_, err = fmt.Fprintf(env.out, "%s has a new password, and has to sign in again everywhere\n", p.Email)
		return err
	})
}

// withPerson calls do with the opened store and the person who signs in with an email.
func (f *recordsFlags) withPerson(env *environment, email string, do func(context.Context, store.Store, *identity.Person) error) error {
	return f.withStore(env, func(ctx context.Context, s store.Store) error {
		if auth.NormalEmail(email) == auth.PublicEmail {
			return errors.New("nobody signs in to the account of the public key")
		}
		p, err := auth.PersonByEmail(ctx, s, email)
		if fault.CodeOf(err) == fault.NotFound && err != nil {
			return failed(statusNotFound, "nobody signs in as %s; punctual accounts members EMAIL shows who belongs to an account", email)
		}
		if err != nil {
			return err
		}
		return do(ctx, s, p)
	})
}

func readPassword(env *environment) (string, error) {
	file, ok := env.in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		line, err := bufio.NewReader(env.in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("reading the password from standard input: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	ask := func(prompt string) (string, error) {
		_, _ = fmt.Fprint(env.errOut, prompt)
		typed, err := term.ReadPassword(int(file.Fd()))
		_, _ = fmt.Fprintln(env.errOut)
		return string(typed), err
	}
	first, err := ask("New password: ")
	if err != nil {
		return "", err
	}
	second, err := ask("Once more: ")
	if err == nil && first != second {
		err = errors.New("the two are not the same; nothing was changed")
	}
	return first, err
}

type accountsOperator struct {
	recordsFlags
	Email string `arg:"" help:"The account's email."`
	No    bool   `type:"switch" help:"Make it an ordinary account again."`
}

// Run marks an account as an operator's.
func (c *accountsOperator) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		if a.Email == auth.PublicEmail {
			return errors.New("everybody shares the account of the public key; it can't be an operator's")
		}
		if err := s.AccountOperator(ctx, a.Number, !c.No); err != nil {
			return err
		}
		what := "is an operator's account"
		if c.No {
			what = "is no operator's account"
		}
		env.record(s, a.Owner, audit.OperatorChanged, what)
		if c.JSON {
			return printJSON(env.out, struct {
				ID       uuid.UUID `json:"id"`
				Operator bool      `json:"operator"`
			}{a.ID, !c.No})
		}
		_, err := fmt.Fprintln(env.out, a.Email, what)
		return err
	})
}

type accountsTOTP struct {
	recordsFlags
	Email string `arg:"" help:"The email that the person signs in with."`
}

// Run removes a second factor.
func (c *accountsTOTP) Run(env *environment) error {
	return c.withPerson(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Person) error {
		if err := auth.ResetTOTP(ctx, s, a); err != nil {
			return err
		}
		env.record(s, a.Home, audit.TOTPReset, a.Email)
		if c.JSON {
			return printJSON(env.out, struct {
				ID uuid.UUID `json:"id"`
			}{a.ID})
		}
		_, err := fmt.Fprintf(env.out, "%s has no second factor any more: the password is enough to sign in\n", a.Email)
		return err
	})
}

type accountsDelete struct {
	recordsFlags
	Email string `arg:"" help:"The account's email."`
	Yes   bool   `type:"switch" help:"Confirm the deletion."`
}

// Run deletes an account.
func (c *accountsDelete) Run(env *environment) error {
	return c.withAccount(env, c.Email, func(ctx context.Context, s store.Store, a *identity.Account) error {
		switch {
		case a.Email == auth.PublicEmail:
			return errors.New("the account of the public key is not deleted; start the service without --public-api-key, and nobody can use it")
		case !c.Yes:
			return fmt.Errorf("this deletes %s with its jobs, schedules, logs and keys, for good; say --yes to do it", a.Email)
		}
		if err := s.AccountDelete(ctx, a.Number, s.Now()); err != nil {
			return err
		}
		env.record(s, job.Owner{}, audit.AccountDeleted, a.Email+", id "+a.ID.String())
		if c.JSON {
			return printJSON(env.out, struct {
				ID uuid.UUID `json:"id"`
			}{a.ID})
		}
		_, err := fmt.Fprintf(env.out, "%s is deleted: its keys don't work, its jobs don't fire; a running service removes what it stored\n", a.Email)
		return err
	})
}

type invitesCommand struct {
	Create invitesCreate `cmd:"" help:"Create an invite for one person. It is shown once."`
}

type invitesCreate struct{ recordsFlags }

// Run makes an invite.
func (c *invitesCreate) Run(env *environment) error {
	return c.withStore(env, func(ctx context.Context, s store.Store) error {
		code, invite, err := auth.CreateInvite(ctx, s, s.Now())
		if err != nil {
			return err
		}
		until := job.FormatTime(invite.ExpiresAt)
		env.record(s, job.Owner{}, audit.InviteCreated, "until "+until)
		if c.JSON {
			return printJSON(env.out, struct {
				Invite    string `json:"invite"`
				ExpiresAt string `json:"expires_at"`
			}{code, until})
		}
		_, err = fmt.Fprintf(env.out, "invite  %s\nuntil   %s\n\nIt lets one person sign up in the dashboard, at /sign-up?invite=%s\n",
			code, until, code)
		return err
	})
}
