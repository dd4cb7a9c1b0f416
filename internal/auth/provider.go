package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
)

// ProviderPolicy says who may sign in at an OpenID provider, and to which account.
type ProviderPolicy struct {
	Issuer string
	// Domains are the domains whose addresses may sign in; nil for all.
	Domains []string
	// Roles are the roles by value of the provider's claim; EveryValue is for everyone.
	Roles map[string]identity.Role
	// ByClaim: the claim decides on the role at each sign-in, and who gets none can't
	// sign in.
	ByClaim bool
	// Join is the account that people join at their first sign-in: JoinNone, JoinFirst, or
	// the account's email.
	Join string
}

// EveryValue stands for any value of the provider's claim, and for none.
const EveryValue = "*"

// What people join at their first sign-in at a provider, other than an account with an
// email.
const (
	JoinNone  = "own"   // none: they get an account of their own, if they may sign up
	JoinFirst = "first" // the oldest account
)

// DefaultRoles are the roles by value of a claim unless others are configured: by claim,
// the values are the names of the roles, else everyone is a viewer.
func DefaultRoles(byClaim bool) map[string]identity.Role {
	if !byClaim {
		return map[string]identity.Role{EveryValue: identity.RoleViewer}
	}
	roles := map[string]identity.Role{}
	for _, r := range identity.Roles {
		roles[string(r)] = r
	}
	return roles
}

// google is the issuer of Google, which also lets people sign in whose address is of an
// organization that they have left, unless the token names the organization.
const google = "https://accounts.google.com"

// ProviderClaims are what a provider says of who has signed in there.
type ProviderClaims struct {
	identity.ProviderSession
	Email    string
	Verified bool     // the provider has verified that the person owns the email
	Domain   string   // of the organization, if the provider names one
	Roles    []string // the values of the claim that roles derive from
}

// role returns the highest role of a person's claims; "" for none.
func (o *ProviderPolicy) role(values []string) (role identity.Role) {
	for _, value := range append([]string{EveryValue}, values...) {
		if found := o.Roles[value]; found.Includes(identity.RoleViewer) && !role.Includes(found) {
			role = found
		}
	}
	return role
}

var errNotVerified = fault.New(fault.Forbidden, "the sign-in provider has not verified your email address; verify it there, then sign in again")

// admit checks whether a person may sign in, and returns their email.
func (o *ProviderPolicy) admit(c *ProviderClaims) (string, error) {
	address, ok := mailaddress.Parse(c.Email)
	switch {
	case !ok || !isEmail(c.Email):
		return "", fault.New(fault.Forbidden, "the sign-in provider names no email address of yours; whoever runs this service must request it there")
	case !c.Verified:
		return "", errNotVerified
	case o.ByClaim && o.role(c.Roles) == "":
		return "", fault.New(fault.Forbidden, "your groups at the sign-in provider give no access to this service; ask whoever runs it")
	case len(o.Domains) == 0:
		return NormalEmail(c.Email), nil
	case !slices.Contains(o.Domains, address.Domain), o.Issuer == google && !slices.Contains(o.Domains, strings.ToLower(c.Domain)):
		return "", fault.New(fault.Forbidden, "your email address is of a domain that may not sign in here")
	}
	return NormalEmail(c.Email), nil
}

// ProviderSignIn signs in a person whom the provider has vouched for. Code is that of an
// invitation that the person is about to accept; "" for none. It returns a Forbidden fault
// if the person may not sign in, and a Conflict fault if the email is that of a person who
// can't be taken for the same.
func (p *People) ProviderSignIn(ctx context.Context, c *ProviderClaims, code string, from Client) (in SignedIn, err error) {
	from.Provider = c.ProviderSession
	person, err := p.providerPerson(ctx, c, code, from)
	if err != nil {
		p.ProviderFailed(ctx, c.Email, err, from)
		var f *fault.Error
		if errors.As(err, &f) && f.Code == fault.Forbidden {
			// The provider has just said that the person has no access any more.
			err = errors.Join(err, p.endSessionsOf(ctx, c.ProviderSession))
		}
		return in, err
	}
	if HasTOTP(person) {
		in.NeedsCode = true
		in.Token, err = p.insertSession(ctx, person, person.Home.Number, from, codeWithin, true)
		return in, err
	}
	in.Token, err = p.begin(ctx, person, from)
	return in, err
}

// ProviderFailed records that a sign-in at the provider did not succeed.
func (p *People) ProviderFailed(ctx context.Context, email string, cause error, from Client) {
	detail := "at the sign-in provider: " + cause.Error()
	if isEmail(email) {
		detail = "at the sign-in provider, as " + email + ": " + cause.Error()
	}
	p.Audit.Audit(ctx, audit.Entry{
		Actor: audit.Actor{Kind: audit.ByNobody, Address: from.Address}, Event: audit.SignInFailed, Detail: detail,
		Same: network(from.Address),
	})
}

func (p *People) endSessionsOf(ctx context.Context, s identity.ProviderSession) error {
	now := p.Now()
	_, err := p.Store.SessionLogout(ctx, &identity.Logout{
		Issuer: s.Issuer, Subject: s.Subject, Token: hashKey(newToken("")), Expires: now, Before: now,
	})
	return err
}

// providerPerson returns the person of a provider's claims. A person who is not known yet
// joins an account, or gets one.
func (p *People) providerPerson(ctx context.Context, c *ProviderClaims, code string, from Client) (*identity.Person, error) {
	email, err := p.Provider.admit(c)
	if err != nil {
		return nil, err
	}
	person, err := p.Store.IdentityFind(ctx, c.Issuer, c.Subject)
	if err == nil {
		return person, p.syncRole(ctx, person, c, from)
	}
	if fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	id := &identity.Identity{Issuer: c.Issuer, Subject: c.Subject, CreatedAt: p.Now()}
	person, err = PersonByEmail(ctx, p.Store, c.Email)
	switch {
	case err == nil:
		return person, p.link(ctx, person, id, c, from)
	case fault.CodeOf(err) != fault.NotFound:
		return nil, err
	}
	person = &identity.Person{ID: uuid.New(), Email: email, CreatedAt: p.Now(), EmailState: identity.EmailConfirmed}
	return p.newcomer(ctx, person, id, c, code, from)
}

// link lets a person who is known by email sign in at the provider from now on. It refuses
// a person whose email may be somebody else's, who would get into that person's account.
func (p *People) link(ctx context.Context, person *identity.Person, id *identity.Identity, c *ProviderClaims, from Client) error {
	if person.EmailState != identity.EmailConfirmed {
		home, err := p.Store.AccountOf(ctx, person.Home.Number)
		if err != nil {
			return err
		}
		if person.EmailState == identity.EmailPending || home.Origin == identity.OriginOpen || home.Origin == identity.OriginUnknown &&
			p.Signup == SignupOpen {
			return fault.New(fault.Conflict, "somebody has signed up with your email address and has not confirmed it; ask whoever runs this service to confirm "+
				"that it was you: punctual accounts confirm-email "+person.Email)
		}
	}
	for _, other := range person.Identities {
		if other.Issuer == id.Issuer {
			return fault.New(fault.Conflict, "your email address is that of somebody else at the sign-in provider, who used it before; ask whoever runs this service: "+
				"punctual accounts reset-sign-in "+person.Email)
		}
	}
	if person.EmailState != identity.EmailConfirmed {
		if err := p.disown(ctx, person); err != nil {
			return err
		}
	}
	id.Person = person.ID
	if err := p.Store.IdentityInsert(ctx, id); err != nil {
		return err
	}
	p.audit(ctx, person, from.Address, audit.IdentityAdded, id.Issuer+", subject "+id.Subject)
	return p.join(ctx, person, c, from)
}

// disown removes the password, the second factor and the sessions of a person whose email
// was not confirmed: whoever set them may be somebody else.
func (p *People) disown(ctx context.Context, person *identity.Person) error {
	if err := p.Store.PersonPassword(ctx, identity.PasswordChange{Person: person.ID}); err != nil {
		return err
	}
	if err := p.Store.PersonTOTP(ctx, person.ID, func(*identity.TOTP) (*identity.TOTP, error) { return nil, nil }); err != nil {
		return err
	}
	person.Password, person.TOTP, person.EmailState = "", nil, identity.EmailConfirmed
	return p.Store.PersonConfirm(ctx, person.ID)
}

// newcomer stores a person, as a member of an account.
func (p *People) newcomer(
	ctx context.Context, person *identity.Person, id *identity.Identity, c *ProviderClaims, code string, from Client,
) (*identity.Person, error) {
	if code != "" {
		i, err := p.Invitation(ctx, code)
		if err == nil && i.Email == person.Email {
			if _, err := p.acceptAs(ctx, &identity.Acceptance{Hash: joinHash(code), Person: person, New: true, Identity: id, At: p.Now()},
				from.Address); err != nil {
				return nil, err
			}
			return person, p.syncRole(ctx, person, c, from)
		}
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	account, err := p.joined(ctx)
	switch {
	case err != nil:
		return nil, err
	case account == nil:
		return p.registerBy(ctx, person, id, from)
	}
	m, err := p.Store.MemberJoin(ctx, &identity.Joining{
		Account: account.Number, Person: person, New: true, Identity: id, Role: p.Provider.role(c.Roles), Invited: !p.Provider.ByClaim,
		At: p.Now(),
	})
	if err != nil {
		return nil, err
	}
	person.Home = account.Owner
	p.Audit.Audit(ctx, audit.Entry{
		Account: account.Owner, Actor: bySession(person.Email, from.Address), Event: audit.MemberJoined,
		Detail: person.Email + ", role " + string(m.Role) + ", by the sign-in provider",
	})
	return person, nil
}

// joined returns the account that people join; nil if they get one of their own.
func (p *People) joined(ctx context.Context) (*identity.Account, error) {
	switch p.Provider.Join {
	case JoinNone, "":
		return nil, nil
	case JoinFirst:
		accounts, err := p.Store.AccountList(ctx)
		for _, a := range accounts {
			if a.Origin != identity.OriginShared && a.DeletedAt.IsZero() {
				return a, err
			}
		}
		return nil, err
	}
	a, err := AccountByEmail(ctx, p.Store, p.Provider.Join)
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil, fault.New(fault.Forbidden, fmt.Sprintf(
			"the account %s, which people join, does not exist; whoever runs this service must create it", p.Provider.Join))
	}
	return a, err
}

// join makes a person, who was there before, a member of the account that people join.
func (p *People) join(ctx context.Context, person *identity.Person, c *ProviderClaims, from Client) error {
	account, err := p.joined(ctx)
	if err != nil || account == nil {
		return err
	}
	role, err := p.Store.MemberRole(ctx, account.Number, person.ID)
	if err != nil {
		return err
	}
	if role != "" {
		return p.syncRole(ctx, person, c, from)
	}
	m, err := p.Store.MemberJoin(ctx, &identity.Joining{
		Account: account.Number, Person: person, Role: p.Provider.role(c.Roles), Invited: !p.Provider.ByClaim, At: p.Now(),
	})
	if err == nil {
		p.Audit.Audit(ctx, audit.Entry{
			Account: account.Owner, Actor: bySession(person.Email, from.Address), Event: audit.MemberJoined,
			Detail: person.Email + ", role " + string(m.Role) + ", by the sign-in provider",
		})
	}
	return err
}

// registerBy stores an account of the person's own, if they may sign up. The first is an
// operator's if only people of some domains may sign in.
func (p *People) registerBy(ctx context.Context, person *identity.Person, id *identity.Identity, from Client) (*identity.Person, error) {
	some, err := p.anyone(ctx)
	if err != nil {
		return nil, err
	}
	first := !some && p.Signup != SignupClosed
	if !first && p.Signup != SignupOpen {
		return nil, fault.New(fault.Forbidden, "sign-up is closed; ask the operator of this service for an account")
	}
	if err := p.signups.allow(network(from.Address), p.Now()); err != nil {
		return nil, err
	}
	now := p.Now()
	r := &identity.Registration{
		Account: &identity.Account{
			Owner: job.Owner{ID: person.ID}, Email: person.Email, CreatedAt: now, Origin: identity.OriginOpen,
			Secrets: []identity.Secret{newSecret(now)},
		},
		EmailState: identity.EmailConfirmed, Identity: id, Uncounted: PublicEmail, FirstOnly: first && len(p.Provider.Domains) > 0,
	}
	if first || len(p.Provider.Domains) > 0 {
		r.Account.Origin = identity.OriginKnown
	}
	if err := p.Store.AccountRegister(ctx, r); err != nil {
		if fault.CodeOf(err) == fault.Forbidden || fault.CodeOf(err) == fault.Invalid {
			err = fault.New(fault.Conflict, "somebody else has just signed up; try again")
		}
		return nil, err
	}
	p.hasAccounts.Store(true)
	person.Home = r.Account.Owner
	p.audit(ctx, person, from.Address, audit.AccountCreated, person.Email+", by the sign-in provider")
	return person, nil
}

// syncRole gives a person the role that the claim names, in the account that people join.
// The last owner stays one.
func (p *People) syncRole(ctx context.Context, person *identity.Person, c *ProviderClaims, from Client) error {
	if !p.Provider.ByClaim {
		return nil
	}
	account, err := p.joined(ctx)
	if err != nil || account == nil {
		return err
	}
	role := p.Provider.role(c.Roles)
	current, err := p.Store.MemberRole(ctx, account.Number, person.ID)
	if err != nil || current == "" || current == role {
		return err
	}
	var before identity.Role
	err = p.Store.MemberChange(ctx, account.Number, uuid.Nil, person.Email, func(s *identity.MemberState) (*identity.Member, error) {
		before = ""
		if s.Member == nil || s.Member.Person != person.ID {
			return nil, fault.NoSuch("member") // removed a moment ago
		}
		changed := *s.Member
		if changed.Role == role || changed.Role == identity.RoleOwner && s.Owners <= 1 {
			return &changed, nil
		}
		before, changed.Role = changed.Role, role
		return &changed, nil
	})
	if err == nil && before != "" {
		p.Audit.Audit(ctx, audit.Entry{
			Account: account.Owner, Actor: bySession(person.Email, from.Address), Event: audit.MemberChanged,
			Detail: person.Email + ", role " + string(role) + " instead of " + string(before) + ", by the sign-in provider",
		})
	}
	return err
}

// ProviderLogout ends the sessions that a logout token of the provider names. It returns a
// Conflict fault if the token was used before.
func (p *People) ProviderLogout(ctx context.Context, l *identity.Logout, address string) error {
	ended, err := p.Store.SessionLogout(ctx, l)
	if err != nil || ended == 0 {
		return err
	}
	entry := audit.Entry{
		Actor: audit.Actor{Kind: audit.ByNobody, Address: address}, Event: audit.SessionEnded,
		Detail: fmt.Sprintf("%d by the sign-in provider, subject %s", ended, l.Subject),
	}
	if person, err := p.Store.IdentityFind(ctx, l.Issuer, l.Subject); err == nil {
		entry.Account, entry.Detail = person.Home, fmt.Sprintf("%d of %s, by the sign-in provider", ended, person.Email)
	}
	p.Audit.Audit(ctx, entry)
	return nil
}

// freshFor is how long after a sign-in at the provider an act needs no further proof.
const freshFor = 15 * time.Minute

// confirmVisit checks the password of a person who is about to do what can't be undone or,
// if they have signed in at the provider, whether that was a moment ago.
func (p *People) confirmVisit(ctx context.Context, v *Visit, password, address string) error {
	switch {
	case v.Session.Provider.Issuer == "":
		return p.confirm(ctx, v.Person, password, address, "#/password")
	case p.Now().Sub(v.Session.CreatedAt) <= freshFor:
		return nil
	}
	return fault.Refuse([]fault.Problem{{Pointer: "#/password",
		Detail: "is a sign-in of the last 15 minutes: sign out, sign in again, then repeat this"}})
}
