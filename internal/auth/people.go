package auth

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// SessionLasts is how long a session lasts after it was last used.
const SessionLasts = 14 * 24 * time.Hour

// seenEvery is how exactly it is noted when a session was last used.
const seenEvery = 5 * time.Minute

// PeopleConfig of People.
type PeopleConfig struct {
	Store interface {
		store.Accounts
		store.People
	}
	Now    func() time.Time
	Signup Signup
	// Pace is what the time of an answer is rounded up to where it could tell
	// whether an email is known; 0 for the usual.
	Pace time.Duration
	// Forget is called when an account's keys and secrets have ended; may be nil.
	Forget func()
	Log    *slog.Logger
}

// People signs people up, in and out.
type People struct {
	PeopleConfig
	hashes    *hasher
	setup     setup
	inhabited atomic.Bool
	// Attempts to sign in are counted by email and network, by email alone, so
	// that many networks don't help, and by network, so that many emails don't.
	pairs, emails, networks *throttle
	signups                 *throttle
	// homes are the pairs that have signed in: the count by email alone, which
	// strangers can use up, does not hold them off.
	homes *familiar
}

// NewPeople makes People.
func NewPeople(config PeopleConfig) *People {
	if config.Pace == 0 {
		config.Pace = 500 * time.Millisecond
	}
	return &People{
		PeopleConfig: config, hashes: newHasher(),
		pairs: newThrottle(5, time.Minute), emails: newThrottle(50, 10*time.Second), networks: newThrottle(20, 5*time.Second),
		signups: newThrottle(10, time.Minute), homes: newFamiliar(),
	}
}

// wrong is the answer to whoever can't be signed in, for whatever reason.
func wrong() error {
	return fault.New(fault.Unauthorized, "the email or the password is wrong")
}

// SignIn begins a session and gives its token; an Unauthorized fault when the
// email or the password is wrong, a TooMany fault after too many attempts.
func (p *People) SignIn(ctx context.Context, email, password, address string) (token string, err error) {
	email = NormalEmail(email)
	if err := p.attempt(email, address); err != nil {
		return "", err
	}
	a, err := p.Store.AccountGet(ctx, email)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return "", err
	}
	if err != nil {
		a = &store.Account{} // what follows takes as long as for one that exists
	}
	if same, err := p.hashes.matches(ctx, network(address), password, a.Password); err != nil || !same {
		if err == nil {
			err = wrong()
		}
		return "", err
	}
	p.pairs.forget(pair(email, address))
	p.homes.add(pair(email, address))
	return p.begin(ctx, a.Number)
}

func pair(email, address string) string { return email + " " + network(address) }

// maxEmail is how long an email may be.
const maxEmail = 254

// attempt counts an attempt to give an email's password.
func (p *People) attempt(email, address string) error {
	now := p.Now()
	if len(email) > maxEmail {
		email = email[:maxEmail] // nobody has it; what is remembered is bounded
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

// begin stores a new session of an account and gives its token.
func (p *People) begin(ctx context.Context, account int64) (token string, err error) {
	now := p.Now()
	token = newToken("")
	err = p.Store.SessionInsert(ctx, &store.Session{Hash: hashKey(token), Account: account, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(SessionLasts)})
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		err = wrong() // the account was deleted meanwhile
	}
	return token, err
}

// Session gives the account and the session that a token stands for; an
// Unauthorized fault when it stands for none. It lets the session last on.
func (p *People) Session(ctx context.Context, token string) (*store.Account, *store.Session, error) {
	now := p.Now()
	s, err := p.Store.SessionFind(ctx, hashKey(token), now)
	if err == nil {
		var a *store.Account
		if a, err = p.Store.AccountOf(ctx, s.Account); err == nil && a.DeletedAt.IsZero() {
			p.seen(ctx, s, now)
			return a, s, nil
		}
	}
	if err == nil || fault.CodeOf(err) == fault.NotFound {
		err = fault.New(fault.Unauthorized, "you are not signed in any more")
	}
	return nil, nil, err
}

func (p *People) seen(ctx context.Context, s *store.Session, now time.Time) {
	if now.Sub(s.SeenAt) < seenEvery {
		return
	}
	s.SeenAt, s.ExpiresAt = now, now.Add(SessionLasts)
	if err := p.Store.SessionSeen(ctx, s.Hash, s.SeenAt, s.ExpiresAt); err != nil && ctx.Err() == nil {
		p.Log.Warn("noting when a session was last used failed", "error", err)
	}
}

// SignOut ends the session of a token.
func (p *People) SignOut(ctx context.Context, token string) error {
	return p.Store.SessionDelete(ctx, hashKey(token))
}

// confirm checks an account's password, as a sign-in does.
func (p *People) confirm(ctx context.Context, a *store.Account, password, address, pointer string) error {
	if err := p.attempt(a.Email, address); err != nil {
		return err
	}
	same, err := p.hashes.matches(ctx, network(address), password, a.Password)
	if err != nil {
		return err
	}
	if !same {
		return fault.Refuse([]fault.Problem{{Pointer: pointer, Detail: "is not your password"}})
	}
	p.pairs.forget(pair(a.Email, address))
	return nil
}

// ChangePassword sets another password and ends the account's other sessions.
func (p *People) ChangePassword(ctx context.Context, a *store.Account, here *store.Session, old, password, address string) error {
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
	return p.Store.AccountPassword(ctx, a.Number, hash, here.Hash)
}

// Delete ends an account, provided that the password is right. Nothing of it
// works any more; its records are removed in the course of time.
func (p *People) Delete(ctx context.Context, a *store.Account, password, address string) error {
	if err := p.confirm(ctx, a, password, address, "#/password"); err != nil {
		return err
	}
	if err := p.Store.AccountDelete(ctx, a.Number, p.Now()); err != nil {
		return err
	}
	if p.Forget != nil {
		p.Forget()
	}
	return nil
}

// SetPassword sets an account's password and ends all its sessions, for who may
// do so without knowing the old one.
func SetPassword(ctx context.Context, s store.People, a *store.Account, password string) error {
	if problems := checkPassword(a.Email, password, "#/password"); len(problems) > 0 {
		return fault.New(fault.Invalid, "the password "+problems[0].Detail)
	}
	hash, err := newHasher().hash(ctx, "", password)
	if err != nil {
		return err
	}
	return s.AccountPassword(ctx, a.Number, hash, nil)
}
