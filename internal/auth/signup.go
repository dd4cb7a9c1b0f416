package auth

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// Signup says who may sign up.
type Signup string

// Who may sign up.
const (
	SignupFirst  Signup = "" // only the first person
	SignupOpen   Signup = "open"
	SignupInvite Signup = "invite"
	SignupClosed Signup = "closed"
)

// SignupPolicy describes who may sign up now.
type SignupPolicy struct {
	Signup Signup // SignupOpen, SignupInvite or SignupClosed
	// First reports that there is no account yet; the person who signs up with
	// the setup code becomes the operator.
	First bool
}

// SignupPolicy returns who may sign up now.
func (p *People) SignupPolicy(ctx context.Context) (SignupPolicy, error) {
	door := SignupPolicy{Signup: p.Signup, First: false}
	some, err := p.anyone(ctx)
	if err != nil {
		return door, err
	}
	door.First = !some
	if door.Signup == SignupFirst {
		door.Signup = SignupOpen
		if some {
			door.Signup = SignupClosed
		}
	}
	if door.First && door.Signup != SignupClosed {
		err = p.prepareSetup(ctx)
	}
	return door, err
}

// anyone reports whether there is or was an account. It stays true for the life of
// the process, so that deleting the last account does not let a stranger sign up
// as the first.
func (p *People) anyone(ctx context.Context) (bool, error) {
	if p.hasAccounts.Load() {
		return true, nil
	}
	accounts, err := p.Store.AccountList(ctx)
	if err != nil {
		return false, err
	}
	for _, a := range accounts {
		if a.Email != PublicEmail && a.DeletedAt.IsZero() {
			p.hasAccounts.Store(true)
			return true, nil
		}
	}
	return false, nil
}

// SignUp is the input of a sign-up.
type SignUp struct {
	Email, Password, Invite string
	Setup                   string // the setup code, of the first
	Address                 string // IP address, whose network attempts are counted by
	Agent                   string // what the browser calls itself
}

// SignUp creates an account. The first person, or a person with an invite, is
// signed in and gets a session's token. With open sign-up there is no token, and
// the result does not reveal whether the email already had an account; the person
// signs in next.
func (p *People) SignUp(ctx context.Context, s SignUp) (token string, err error) {
	start := time.Now()
	door, err := p.SignupPolicy(ctx)
	if err != nil {
		return "", err
	}
	if door.Signup == SignupClosed {
		return "", fault.New(fault.Forbidden, "sign-up is closed; ask the operator of this service for an account")
	}
	if p.NoPasswords {
		return "", errNoPasswords
	}
	if err := p.signups.allow(network(s.Address), p.Now()); err != nil {
		return "", err
	}
	email := NormalEmail(s.Email)
	r := &identity.Registration{Uncounted: PublicEmail, FirstOnly: door.First || p.Signup == SignupFirst}
	if err := p.checkSignUp(ctx, door, r, s); err != nil {
		return "", err
	}
	hash, err := p.hashes.hash(ctx, network(s.Address), s.Password)
	if err != nil {
		return "", err
	}
	now := p.Now()
	r.Account = &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: email, CreatedAt: now, Origin: identity.OriginKnown,
		Secrets: []identity.Secret{newSecret(now)}}
	r.Password = hash
	if door.Signup == SignupOpen && !r.FirstOnly {
		r.Account.Origin = identity.OriginOpen
	}
	stranger := door.Signup == SignupOpen && !r.FirstOnly
	if stranger && p.Mails() {
		r.EmailState = identity.EmailPending
	}
	if err = refuseTaken(ctx, p.Store, s.Email); err == nil {
		err = p.Store.AccountRegister(ctx, r)
	}
	switch {
	case err == nil && stranger:
		p.registered(ctx, r, s)
	case err == nil:
		return p.begin(ctx, p.registered(ctx, r, s), Client{Address: s.Address, Agent: s.Agent})
	case fault.CodeOf(err) == fault.Forbidden:
		return "", fault.New(fault.Forbidden, "somebody else just signed up first, and sign-up is now closed")
	case fault.CodeOf(err) == fault.NotFound:
		return "", fault.Refuse([]fault.Problem{door.badCode()})
	case fault.CodeOf(err) != fault.Invalid:
		return "", err
	case !stranger:
		return "", fault.Refuse([]fault.Problem{{Pointer: "#/email", Detail: "has an account already; sign in instead"}})
	}
	if err != nil {
		if err := p.signUpAgain(ctx, email, hash); err != nil {
			return "", err
		}
	}
	// The duration must not reveal it either.
	return "", p.evenDuration(ctx, start)
}

// registered records a new account and, if its email is to be confirmed, mails its person.
func (p *People) registered(ctx context.Context, r *identity.Registration, s SignUp) *identity.Person {
	p.hasAccounts.Store(true)
	person := &identity.Person{ID: r.Account.ID, Email: r.Account.Email, Home: r.Account.Owner}
	p.audit(ctx, person, s.Address, audit.AccountCreated, r.Account.Email)
	if r.EmailState == identity.EmailPending {
		p.sendConfirmation(ctx, person)
	}
	return person
}

var badInvite = fault.Problem{Pointer: "#/invite", Detail: "is not known, or was used, or is too old; ask for another"}

var badSetup = fault.Problem{Pointer: "#/setup", Detail: "is not known, or too old; the service printed the code when it started, and its log has it too"}

// badCode returns the problem of a wrong code of a sign-up.
func (d SignupPolicy) badCode() fault.Problem {
	if d.First {
		return badSetup
	}
	return badInvite
}

func (p *People) checkSignUp(ctx context.Context, door SignupPolicy, r *identity.Registration, s SignUp) error {
	email := NormalEmail(s.Email)
	problems := checkPassword(email, s.Password, "#/password")
	if !isEmail(email) {
		problems = append(problems, fault.Problem{Pointer: "#/email", Detail: "must be an email address like alex@example.com"})
	}
	switch {
	case door.First:
		r.Invite = hashSetup(s.Setup)
	case door.Signup == SignupInvite && strings.HasPrefix(s.Invite, InvitePrefix):
		r.Invite = hashKey(s.Invite)
	case door.Signup == SignupInvite:
		problems = append(problems, badInvite)
	}
	if r.Invite != nil {
		if _, err := p.Store.InviteFind(ctx, r.Invite, p.Now()); err != nil && fault.CodeOf(err) == fault.NotFound {
			problems = append(problems, door.badCode())
		} else if err != nil {
			return err
		}
	}
	return fault.Refuse(problems)
}

// evenDuration waits until a whole number of paces has passed since start.
func (p *People) evenDuration(ctx context.Context, start time.Time) error {
	if !pause.For(ctx, p.Pace-time.Since(start)%p.Pace) {
		return fault.Unreachable(ctx.Err())
	}
	return nil
}

// InvitePrefix is the prefix of every invite's code.
const InvitePrefix = "inv_"

// InviteLasts is how long an invite is valid.
const InviteLasts = 7 * 24 * time.Hour

// Invite creates an invite, as CreateInvite does.
func (p *People) Invite(ctx context.Context) (code string, invite *identity.Invite, err error) {
	return CreateInvite(ctx, p.Store, p.Now())
}

// CreateInvite creates an invite and returns its code, which can't be retrieved
// again.
func CreateInvite(ctx context.Context, s store.Sessions, now time.Time) (code string, invite *identity.Invite, err error) {
	code = newToken(InvitePrefix)
	invite = &identity.Invite{Hash: hashKey(code), CreatedAt: now, ExpiresAt: now.Add(InviteLasts)}
	if err := s.InviteInsert(ctx, invite); err != nil {
		return "", nil, fmt.Errorf("storing an invite: %w", err)
	}
	return code, invite, nil
}
