package auth

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// SessionLasts is how long a session lasts after it was last used.
	SessionLasts = 14 * 24 * time.Hour
	// SessionMax is the longest a session lasts, however often it is used.
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
}

// SignedIn is the result of signing in with the right password.
type SignedIn struct {
	Token string // of a session or, when NeedsCode is set, for GiveCode
	// NeedsCode reports that the account has a second factor, whose code is needed
	// next.
	NeedsCode bool
}

// begin stores a new session of an account and returns its token.
func (p *People) begin(ctx context.Context, owner job.Owner, from Client) (token string, err error) {
	token, err = p.insertSession(ctx, owner.Number, from, SessionLasts, false)
	if err == nil {
		p.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: bySession(from.Address), Event: audit.SignedIn, Detail: Browser(from.Agent)})
	}
	return token, err
}

func (p *People) insertSession(ctx context.Context, account int64, from Client, lasts time.Duration, pending bool) (token string, err error) {
	now := p.Now()
	token = newToken("")
	err = p.Store.SessionInsert(ctx, &identity.Session{
		Hash: hashKey(token), Account: account, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(lasts),
		Address: from.Address, Agent: shorten(from.Agent), Pending: pending,
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

// Session returns the account and the session of a token, and extends the session.
// It returns an Unauthorized fault if the token has no session.
func (p *People) Session(ctx context.Context, token string) (*identity.Account, *identity.Session, error) {
	now := p.Now()
	s, err := p.Store.SessionFind(ctx, hashKey(token), now)
	if err == nil && !s.Pending && now.Sub(s.CreatedAt) < SessionMax {
		var a *identity.Account
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

func (p *People) seen(ctx context.Context, s *identity.Session, now time.Time) {
	if now.Sub(s.SeenAt) < seenEvery {
		return
	}
	s.SeenAt, s.ExpiresAt = now, now.Add(SessionLasts)
	if end := s.CreatedAt.Add(SessionMax); s.ExpiresAt.After(end) {
		s.ExpiresAt = end
	}
	if err := p.Store.SessionSeen(ctx, s.Hash, s.SeenAt, s.ExpiresAt); err != nil && ctx.Err() == nil {
		p.Log.Warn("storing when a session was last used failed", "error", err)
	}
}

// SignOut ends the session of a token.
func (p *People) SignOut(ctx context.Context, token, address string) error {
	a, s, err := p.Session(ctx, token)
	if err != nil && fault.CodeOf(err) == fault.Unauthorized {
		return p.Store.SessionDelete(ctx, hashKey(token)) // a pending session has no audit entry
	}
	if err != nil {
		return err
	}
	if err := p.Store.SessionDelete(ctx, s.Hash); err != nil {
		return err
	}
	p.audit(ctx, a, address, audit.SignedOut, "")
	return nil
}

// Sessions returns an account's sessions, most recently used first.
func (p *People) Sessions(ctx context.Context, account int64) ([]*identity.Session, error) {
	return p.Store.SessionList(ctx, account, p.Now())
}

// SessionID returns an ID of a session that gives no access to it.
func SessionID(s *identity.Session) string { return hex.EncodeToString(s.Hash) }

// EndSession ends one of an account's sessions, or returns a NotFound fault if
// there is no such session.
func (p *People) EndSession(ctx context.Context, a *identity.Account, id, address string) error {
	sessions, err := p.Sessions(ctx, a.Number)
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
		p.audit(ctx, a, address, audit.SessionEnded, fmt.Sprintf("%s from %s, begun %s", Browser(s.Agent), s.Address, s.CreatedAt.UTC().Format(time.RFC3339)))
		return nil
	}
	return fault.NoSuch("session")
}

// EndOtherSessions ends all sessions of an account except here.
func (p *People) EndOtherSessions(ctx context.Context, a *identity.Account, here *identity.Session, address string) error {
	if err := p.Store.SessionEndOthers(ctx, a.Number, here.Hash); err != nil {
		return err
	}
	p.audit(ctx, a, address, audit.SessionEnded, "all but the one at hand")
	return nil
}

// Browsers and systems as they appear in a User-Agent, the most specific first,
// because many also name others.
var (
	browsers = [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems  = [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
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
