package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

type accountsConfirmEmail struct {
	recordsFlags
	Email string `arg:"" help:"The email that the person signs in with."`
}

// Run records that a person owns their email.
func (c *accountsConfirmEmail) Run(env *environment) error {
	return c.withPerson(env, c.Email, func(ctx context.Context, s store.Store, p *identity.Person) error {
		if err := s.PersonConfirm(ctx, p.ID); err != nil {
			return err
		}
		env.record(s, p.Home, audit.EmailConfirmed, p.Email)
		return c.say(env, p, "the email is confirmed")
	})
}

type accountsChangeEmail struct {
	recordsFlags
	Email string `arg:"" help:"The email that the person signs in with."`
	New   string `arg:"" help:"The email that the person signs in with from now on."`
}

// Run sets the email of a person, and of the accounts that have it as their name.
func (c *accountsChangeEmail) Run(env *environment) error {
	return c.withPerson(env, c.Email, func(ctx context.Context, s store.Store, p *identity.Person) error {
		if err := auth.SetEmail(ctx, s, p, c.New); err != nil {
			return err
		}
		fresh := auth.NormalEmail(c.New)
		env.record(s, p.Home, audit.EmailChanged, "from "+p.Email+" to "+fresh)
		return c.say(env, p, "signs in as "+fresh+" from now on; sessions and keys stay")
	})
}

// say prints a person's ID, or a sentence about them.
func (f *recordsFlags) say(env *environment, p *identity.Person, sentence string) error {
	if f.JSON {
		return printJSON(env.out, struct {
			ID uuid.UUID `json:"id"`
		}{p.ID})
	}
	_, err := fmt.Fprintf(env.out, "%s: %s\n", p.Email, sentence)
	return err
}

type accountsResetSignIn struct {
	recordsFlags
	Email string `arg:"" help:"The email that the person signs in with."`
}

// Run removes how sign-in providers know a person.
func (c *accountsResetSignIn) Run(env *environment) error {
	return c.withPerson(env, c.Email, func(ctx context.Context, s store.Store, p *identity.Person) error {
		if len(p.Identities) == 0 {
			return failed(statusNotFound, "%s has never signed in at a sign-in provider", p.Email)
		}
		for _, i := range p.Identities {
			if err := s.IdentityForget(ctx, &i); err != nil {
				return err
			}
			env.record(s, p.Home, audit.IdentityRemoved, i.Issuer+", subject "+i.Subject)
		}
		return c.say(env, p, "the next sign-in at the provider with this email connects anew; sessions from there have ended")
	})
}
