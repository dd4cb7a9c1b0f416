package auth

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

const (
	// SessionLasts is how long a session lasts after it was last used.
	SessionLasts = 14 * 24 * time.Hour
	// SessionMax is the longest a session lasts unless something else is configured,
	// however often it is used.
	SessionMax = 90 * 24 * time.Hour
)

// seenEvery is the precision of the time a session was last used.
const seenEvery = 5 * time.Minute

// maxAgent is how many bytes of a client's User-Agent are kept.
const maxAgent = 300

// Client is the client that a person signs in from.
type Client struct {
	Address string // IP address
	Agent   string // the User-Agent
	// Provider is the provider's session; zero for a sign-in by password.
	Provider identity.ProviderSession
}

// SignedIn is the result of signing in with the right password.
type SignedIn struct {
	Token string // of a session or, when NeedsCode is set, for GiveCode
	// NeedsCode reports that the account has a second factor, whose code is needed
	// next.
	NeedsCode bool
}

// Visit is a signed-in person in one of their accounts.
type Visit struct {
	Account *identity.Account
	Person  *identity.Person
	Role    identity.Role // of the person in the account
	Session *identity.Session
}

// begin stores a new session of a person, in the account of the session that they used
// last, and returns its token.
func (p *People) begin(ctx context.Context, person *identity.Person, from Client) (token string, err error) {
	memberships, err := p.Store.MembershipList(ctx, person.ID)
	if err != nil {
		return "", err
	}
	if len(memberships) == 0 {
		return "", errCredentials() // the account was just deleted
	}
	owner := memberships[0].Account
	if len(memberships) > 1 {
		latest, err := p.Sessions(ctx, person.ID)
		if err != nil {
			return "", err
		}
		for _, m := range memberships {
			if len(latest) > 0 && m.Account.Number == latest[0].Account {
				owner = m.Account
			}
		}
	}
	token, err = p.insertSession(ctx, person, owner.Number, from, min(SessionLasts, p.SessionMaxAge), false)
	if err == nil {
		detail := Browser(from.Agent)
		if from.Provider.Issuer != "" {
			detail += ", at " + from.Provider.Issuer
		}
		p.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: bySession(person.Email, from.Address), Event: audit.SignedIn, Detail: detail})
	}
	return token, err
}

func (p *People) insertSession(ctx context.Context, person *identity.Person, account int64, from Client, lasts time.Duration,
	pending bool) (token string, err error) {
	now := p.Now()
	token = newToken("")
	err = p.Store.SessionInsert(ctx, &identity.Session{
		Hash: hashKey(token), Account: account, Person: person.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(lasts),
		Address: from.Address, Agent: shorten(from.Agent), Provider: from.Provider, Pending: pending,
	})
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		err = errCredentials() // the account was just deleted
	}
	return token, err
}

func shorten(agent string) string {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	return strings.ToValidUTF8(agent, "")
}

// Session returns who has the session of a token, and extends the session. It returns
// an Unauthorized fault if the token has no session.
func (p *People) Session(ctx context.Context, token string) (*Visit, error) {
	now := p.Now()
	s, err := p.Store.SessionFind(ctx, hashKey(token), now)
	if err == nil && !s.Pending && now.Sub(s.CreatedAt) < p.SessionMaxAge && p.accepts(s) {
		var v *Visit
		if v, err = p.visit(ctx, s); err == nil && v.Role != "" && v.Account.DeletedAt.IsZero() {
			p.seen(ctx, s, now)
			return v, nil
		}
	}
	if err == nil || fault.CodeOf(err) == fault.NotFound {
		err = fault.New(fault.Unauthorized, "you are not signed in any more")
	}
	return nil, err
}

// accepts reports whether people can still sign in as they have for a session.
func (p *People) accepts(s *identity.Session) bool {
	if s.Provider.Issuer == "" {
		return !p.NoPasswords
	}
	return p.Provider != nil && s.Provider.Issuer == p.Provider.Issuer
}

func (p *People) visit(ctx context.Context, s *identity.Session) (v *Visit, err error) {
	v = &Visit{Session: s}
	if v.Account, err = p.Store.AccountOf(ctx, s.Account); err != nil {
		return nil, err
	}
	if v.Person, err = p.Store.PersonOf(ctx, s.Person); err != nil {
		return nil, err
	}
	v.Role, err = p.Store.MemberRole(ctx, s.Account, s.Person)
	return v, err
}

// Person returns a person as stored, or a NotFound fault.
func (p *People) Person(ctx context.Context, id uuid.UUID) (*identity.Person, error) {
	return p.Store.PersonOf(ctx, id)
}

// Memberships returns the accounts that a person belongs to, the oldest first.
func (p *People) Memberships(ctx context.Context, person uuid.UUID) ([]*identity.Membership, error) {
	return p.Store.MembershipList(ctx, person)
}

// Switch has a visit's session show another of the person's accounts. It returns a
// NotFound fault if the person does not belong to it.
func (p *People) Switch(ctx context.Context, v *Visit, account uuid.UUID) error {
	memberships, err := p.Store.MembershipList(ctx, v.Person.ID)
	if err != nil {
		return err
	}
	for _, m := range memberships {
		if m.Account.ID == account {
			return p.Store.SessionSwitch(ctx, v.Session.Hash, m.Account.Number)
		}
	}
	return fault.NoSuch("account")
}

func (p *People) seen(ctx context.Context, s *identity.Session, now time.Time) {
	if now.Sub(s.SeenAt) < seenEvery {
		return
	}
	s.SeenAt, s.ExpiresAt = now, now.Add(SessionLasts)
	if end := s.CreatedAt.Add(p.SessionMaxAge); s.ExpiresAt.After(end) {
		s.ExpiresAt = end
	}
	if err := p.Store.SessionSeen(ctx, s.Hash, s.SeenAt, s.ExpiresAt); err != nil && ctx.Err() == nil {
		p.Log.Warn("storing when a session was last used failed", "error", err)
	}
}

// SignOut ends the session of a token.
func (p *People) SignOut(ctx context.Context, token, address string) error {
	v, err := p.Session(ctx, token)
	if err != nil && fault.CodeOf(err) == fault.Unauthorized {
		return p.Store.SessionDelete(ctx, hashKey(token)) // a pending session has no audit entry
	}
	if err != nil {
		return err
	}
	if err := p.Store.SessionDelete(ctx, v.Session.Hash); err != nil {
		return err
	}
	v.audit(ctx, p.Audit, address, audit.SignedOut, "")
	return nil
}

// audit records in the account that is visited what the person did.
func (v *Visit) audit(ctx context.Context, log *audit.Log, address, event, detail string) {
	log.Audit(ctx, audit.Entry{Account: v.Account.Owner, Actor: bySession(v.Person.Email, address), Event: event, Detail: detail})
}

// Sessions returns a person's sessions, most recently used first.
func (p *People) Sessions(ctx context.Context, person uuid.UUID) ([]*identity.Session, error) {
	return p.Store.SessionList(ctx, person, p.Now())
}

// SessionID returns an ID of a session that gives no access to it.
func SessionID(s *identity.Session) string { return hex.EncodeToString(s.Hash) }

// EndSession ends one of a person's sessions, or returns a NotFound fault if
// there is no such session.
func (p *People) EndSession(ctx context.Context, v *Visit, id, address string) error {
	sessions, err := p.Sessions(ctx, v.Person.ID)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if SessionID(s) != id {
			continue
		}
		if err := p.Store.SessionDelete(ctx, s.Hash); err != nil {
			return err
		}
		v.audit(ctx, p.Audit, address, audit.SessionEnded,
			fmt.Sprintf("%s from %s, begun %s", Browser(s.Agent), s.Address, s.CreatedAt.UTC().Format(time.RFC3339)))
		return nil
	}
	return fault.NoSuch("session")
}

// EndOtherSessions ends all sessions of a person except that of the visit.
func (p *People) EndOtherSessions(ctx context.Context, v *Visit, address string) error {
	if err := p.Store.SessionEndOthers(ctx, v.Person.ID, v.Session.Hash); err != nil {
		return err
	}
	v.audit(ctx, p.Audit, address, audit.SessionEnded, "all but the one at hand")
	return nil
}

// Browsers and systems as they appear in a User-Agent, the most specific first,
// because many also name others.
var (
	browsers = [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems = [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// Browser describes a User-Agent in a few words.
func Browser(agent string) string {
	pick := func(known [][2]string) string {
		for _, k := range known {
			if strings.Contains(agent, k[0]) {
				return k[1]
			}
		}
		return ""
	}
	browser, system := pick(browsers), pick(systems)
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser != "":
		return browser
	case agent == "":
		return "unknown browser"
	}
	const shown = 40
	if runes := []rune(agent); len(runes) > shown {
		return string(runes[:shown]) + "…"
	}
	return agent
}
