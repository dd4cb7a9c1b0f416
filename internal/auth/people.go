package auth

import (
	"context"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/store"
)

// PeopleConfig configures People.
type PeopleConfig struct {
	Store interface {
		store.Accounts
		store.People
		store.Members
		store.Sessions
		store.Identities
		store.MailTokens
	}
	Now    func() time.Time
	Signup Signup
	// Provider says who may sign in at the OpenID provider; nil if there is none.
	Provider *ProviderPolicy
	// NoPasswords: nobody can sign up or sign in by a password.
	NoPasswords bool
	// SessionMaxAge is the longest a session lasts, however often it is used; 0 for
	// SessionMax.
	SessionMaxAge time.Duration
	// Mail sends links to people, and PublicURL is where they lead; nil for none.
	Mail      MailLink
	PublicURL *url.URL
	// Pace is the unit to which response times are rounded up where they could
	// reveal whether an email has an account; 0 means the default.
	Pace time.Duration
	// Forget is called after an account's keys and secrets are revoked; may be nil.
	Forget func()
	Log    *slog.Logger
	Audit  *audit.Log // nil records nothing
}

// People handles sign-up, sign-in, sessions and passwords.
type People struct {
	PeopleConfig
	hashes      *hasher
	setup       setup
	hasAccounts atomic.Bool
	// Sign-in attempts are counted by email and network; by email alone, against
	// guesses from many networks; and by network, against guesses of many emails.
	pairs, emails, networks *throttle
	signups, resets         *throttle
	mailing                 *mailing
	// Code attempts are counted by email and network, and by email alone.
	codePairs, codes *throttle
	// codeHomes are the pairs of email and network that entered a right code, as
	// homes are those that signed in.
	codeHomes *familiar
	// homes are the pairs that signed in. The limit by email alone, which strangers
	// can use up, does not apply to them.
	homes *familiar
}

// NewPeople returns People.
func NewPeople(config PeopleConfig) *People {
	if config.Pace == 0 {
		config.Pace = 500 * time.Millisecond
	}
	if config.SessionMaxAge <= 0 {
		config.SessionMaxAge = SessionMax
	}
	return &People{
		PeopleConfig: config, hashes: newHasher(),
		pairs: newThrottle(5, time.Minute), emails: newThrottle(50, 10*time.Second), networks: newThrottle(20, 5*time.Second),
		signups: newThrottle(10, time.Minute), resets: newThrottle(10, time.Minute), mailing: newMailing(), homes: newFamiliar(),
		codePairs: newThrottle(5, time.Minute), codes: newThrottle(20, 2*time.Minute), codeHomes: newFamiliar(),
	}
}

// errCredentials returns the error of every failed sign-in, whatever the reason.
func errCredentials() error {
	return fault.New(fault.Unauthorized, "the email or the password is wrong")
}

var errNoPasswords = fault.New(fault.Forbidden, "nobody signs in by a password here; sign in at your organization's sign-in provider")

// SignIn starts a session, or asks for the second factor. It returns an Unauthorized
// fault if the email or the password is wrong, and a TooMany fault after too many
// attempts.
func (p *People) SignIn(ctx context.Context, email, password string, from Client) (in SignedIn, err error) {
	if p.NoPasswords {
		return in, errNoPasswords
	}
	address, typed := from.Address, email
	email = NormalEmail(email)
	if err := p.attempt(email, address); err != nil {
		return in, err
	}
	person, err := PersonByEmail(ctx, p.Store, typed)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return in, err
	}
	if err != nil {
		person = &identity.Person{} // so that the rest takes as long as for an existing one
	}
	if same, err := p.hashes.matches(ctx, network(address), password, person.Password); err != nil || !same {
		if err == nil {
			p.failed(ctx, person, email, address, audit.SignInFailed, "the password was wrong")
			err = errCredentials()
		}
		return in, err
	}
	p.pairs.forget(pair(email, address))
	if err := p.mustConfirm(ctx, person); err != nil {
		return in, err
	}
	if HasTOTP(person) {
		in.NeedsCode = true
		in.Token, err = p.insertSession(ctx, person, person.Home.Number, from, codeWithin, true)
		return in, err
	}
	p.homes.add(pair(email, address))
	in.Token, err = p.begin(ctx, person, from)
	return in, err
}

// PersonByEmail returns the person with an email as somebody has typed it, or a
// NotFound fault; see AccountByEmail.
func PersonByEmail(ctx context.Context, s store.People, email string) (*identity.Person, error) {
	normal, old := NormalEmail(email), earlierForm(email)
	person, err := s.PersonGet(ctx, old)
	if old != normal && err != nil && fault.CodeOf(err) == fault.NotFound {
		return s.PersonGet(ctx, normal)
	}
	return person, err
}

// bySession returns the audit actor for a signed-in person.
func bySession(email, address string) audit.Actor {
	return audit.Actor{Kind: audit.BySession, Name: email, Address: address}
}

// audit records what a person did with their own credentials.
func (p *People) audit(ctx context.Context, person *identity.Person, address, event, detail string) {
	p.Audit.Audit(ctx, audit.Entry{Account: person.Home, Actor: bySession(person.Email, address), Event: event, Detail: detail})
}

// failed records a wrong password or code. If nobody has the email, the entry goes to
// the service's own log, and includes the email only if it looks like one: people type
// passwords into the wrong field.
func (p *People) failed(ctx context.Context, person *identity.Person, email, address, event, detail string) {
	if person.Home.Number == 0 {
		detail = "no account has this email"
		if isEmail(email) {
			detail = "no account has the email " + email
		}
	}
	p.Audit.Audit(ctx, audit.Entry{
		Account: person.Home, Actor: audit.Actor{Kind: audit.ByNobody, Address: address}, Event: event, Detail: detail,
		Same: network(address),
	})
}

func pair(email, address string) string { return email + " " + network(address) }

// attempt counts an attempt to enter the password of an email's account.
func (p *People) attempt(email, address string) error {
	now := p.Now()
	if len(email) > mailaddress.MaxLength {
		email = email[:mailaddress.MaxLength] // no account has it; bound the memory it takes
	}
	if err := p.networks.allow(network(address), now); err != nil {
		return err
	}
	if err := p.pairs.allow(pair(email, address), now); err != nil {
		return err
	}
	if p.homes.has(pair(email, address)) {
		return nil
	}
	return p.emails.allow(email, now)
}

// confirm checks a person's password, as a sign-in does.
func (p *People) confirm(ctx context.Context, a *identity.Person, password, address, pointer string) error {
	if err := p.attempt(a.Email, address); err != nil {
		return err
	}
	same, err := p.hashes.matches(ctx, network(address), password, a.Password)
	if err != nil {
		return err
	}
	if !same {
		p.failed(ctx, a, a.Email, address, audit.PasswordFailed, "the password was wrong")
		return fault.Refuse([]fault.Problem{{Pointer: pointer, Detail: "is not your password"}})
	}
	p.pairs.forget(pair(a.Email, address))
	return nil
}

// ChangePassword sets a new password, ends the person's other sessions and, on
// request, revokes all keys of the account, which needs an admin.
func (p *People) ChangePassword(ctx context.Context, v *Visit, old, password string, revokeKeys bool, address string) error {
	a := v.Person
	if revokeKeys && !v.Role.Includes(access.Least["auth.Authenticator.RevokeKey"]) {
		return fault.Refuse([]fault.Problem{{Pointer: "#/revoke_keys", Detail: "needs an admin of this account"}})
	}
	if err := fault.Refuse(checkPassword(a.Email, password, "#/password")); err != nil {
		return err
	}
	if err := p.confirm(ctx, a, old, address, "#/current"); err != nil {
		return err
	}
	hash, err := p.hashes.hash(ctx, network(address), password)
	if err != nil {
		return err
	}
	change := identity.PasswordChange{Person: a.ID, Password: hash, Keep: v.Session.Hash, Account: v.Account.Number}
	detail := "other sessions ended"
	if revokeKeys {
		change.RevokeKeys = p.Now()
		detail += ", all keys revoked"
	}
	if err := p.Store.PersonPassword(ctx, change); err != nil {
		return err
	}
	if revokeKeys && p.Forget != nil {
		p.Forget()
	}
	v.audit(ctx, p.Audit, address, audit.PasswordChanged, detail)
	return nil
}

// Delete deletes the account that an owner visits, if confirmVisit permits, and the
// code of the second factor if there is one. Its keys and sessions stop working at once;
// its records are removed in the background.
func (p *People) Delete(ctx context.Context, v *Visit, password, code, address string) error {
	if err := access.Allow(ctx, "auth.People.Delete"); err != nil {
		return err
	}
	a := v.Account
	if err := p.confirmVisit(ctx, v, password, address); err != nil {
		return err
	}
	current, err := p.Store.PersonOf(ctx, v.Person.ID) // the factor may have just been enabled
	if err != nil {
		return err
	}
	if HasTOTP(current) {
		if err := p.confirmCode(ctx, current, code, address); err != nil {
			return err
		}
	}
	if err := p.Store.AccountDelete(ctx, a.Number, p.Now()); err != nil {
		return err
	}
	if p.Forget != nil {
		p.Forget()
	}
	// The account's own entries are removed with it, so record this for the
	// service. With open sign-up anyone can repeat it, so it must not displace the
	// entries of operators.
	p.Audit.Audit(ctx, audit.Entry{
		Actor: audit.Actor{Kind: audit.BySession, Name: v.Person.Email, Address: address}, Event: audit.AccountDeleted,
		Detail: a.Email + ", id " + a.ID.String(), Same: a.ID.String(),
	})
	return nil
}

// SetPassword sets a person's password without the old one, for operators, and ends
// all their sessions.
func SetPassword(ctx context.Context, s store.People, a *identity.Person, password string) error {
	if problems := checkPassword(a.Email, password, "#/password"); len(problems) > 0 {
		return fault.New(fault.Invalid, "the password "+problems[0].Detail)
	}
	hash, err := newHasher().hash(ctx, "", password)
	if err != nil {
		return err
	}
	return s.PersonPassword(ctx, identity.PasswordChange{Person: a.ID, Password: hash})
}
