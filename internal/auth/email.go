package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/store"
)

// ChangeEmail sends a link to the email that who is signed in wants to sign in with, if the
// password is theirs and nobody else has the email. The result does not reveal the latter.
// It returns an Invalid fault if the email isn't one, or the service sends no e-mails, and a
// TooMany fault after too many attempts.
func (p *People) ChangeEmail(ctx context.Context, v *Visit, email, password, address string) error {
	normal := NormalEmail(email)
	var problems []fault.Problem
	switch {
	case !p.Mails():
		return fault.New(fault.Invalid, "this service sends no e-mails; ask its operator to change the address")
	case !isEmail(normal):
		problems = []fault.Problem{{Pointer: "#/email", Detail: "must be an email address like alex@example.com"}}
	case normal == v.Person.Email:
		problems = []fault.Problem{{Pointer: "#/email", Detail: "is your address already"}}
	case p.Provider != nil && NormalEmail(p.Provider.Join) == v.Person.Email:
		// Whoever gets the old email next could sign up with it, and newcomers would join them.
		return fault.New(fault.Invalid, "people who sign in at the provider join the account "+v.Person.Email+
			" by its name; ask the operator of this service to change --oidc-account first")
	}
	if err := fault.Refuse(problems); err != nil {
		return err
	}
	if err := p.confirm(ctx, v.Person, password, address, "#/password"); err != nil {
		return err
	}
	v.audit(ctx, p.Audit, address, audit.EmailChangeAsked, normal)
	p.later(ctx, func(ctx context.Context) error {
		if free, err := emailFree(ctx, p.Store, email); err != nil || !free {
			return err
		}
		return p.send(ctx, normal, identity.MailToken{Person: v.Person.ID, Purpose: identity.ForChange, Email: normal}, ChangePath, confirmLasts)
	})
	return nil
}

// people is what knows who has an email.
type people interface {
	store.Accounts
	store.People
	store.Identities
}

// emailFree reports whether no person and no account has an email, as somebody has typed it.
func emailFree(ctx context.Context, s people, email string) (bool, error) {
	_, err := PersonByEmail(ctx, s, email)
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		_, err = AccountByEmail(ctx, s, email)
	}
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return true, nil
	}
	return false, err
}

// UseNewEmail sets the email that the link with a token was sent to, if the password is that
// of who has asked for it: somebody else may have typed the address. It tells the old email,
// and signs in with the new one. It returns the faults of SignIn, a NotFound fault if the
// link does not work any more, and an Invalid fault if the email was taken meanwhile.
func (p *People) UseNewEmail(ctx context.Context, token, password string, from Client) (in SignedIn, err error) {
	person, email, err := p.Linked(ctx, identity.ForChange, token)
	if err != nil {
		return in, err
	}
	if err := p.confirm(ctx, person, password, from.Address, "#/password"); err != nil {
		return in, err
	}
	if err := p.Store.MailTokenUse(ctx, &identity.MailTokenUse{Hash: linkHash(token), Purpose: identity.ForChange, At: p.Now()}); err != nil {
		return in, oldLink(err)
	}
	if p.Forget != nil {
		p.Forget() // accounts have a new name
	}
	p.audit(ctx, person, from.Address, audit.EmailChanged, "from "+person.Email+" to "+email)
	if to, ok := mailaddress.Parse(person.Email); ok {
		// It does not count as one of the mailbox's e-mails: who has asked for links there could prevent it.
		p.later(ctx, func(ctx context.Context) error { return p.mail(ctx, to, identity.ForNotice, "/sign-in") })
	}
	return p.SignIn(ctx, email, password, from)
}

// SetEmail sets the email of a person without a link, for operators. It returns an Invalid
// fault if it isn't one, or is taken.
func SetEmail(ctx context.Context, s people, person *identity.Person, email string) error {
	normal := NormalEmail(email)
	if !isEmail(normal) {
		return errors.New("the new email must be an address like alex@example.com")
	}
	free, err := emailFree(ctx, s, email)
	switch {
	case err != nil:
		return err
	case !free:
		return fault.New(fault.Invalid, fmt.Sprintf("there is an account %s already", normal))
	}
	return s.PersonEmail(ctx, person.ID, normal)
}
