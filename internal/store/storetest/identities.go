package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var providerTests = group{
	"KnowAPerson":        identitiesKnown,
	"JoinAnAccount":      identitiesJoined,
	"JoinedByOneOfMany":  identitiesRace,
	"EndSessions":        identitiesLogout,
	"GoneWithThePerson":  identitiesGone,
	"RegisterAnAccount":  identitiesRegistered,
	"AcceptAnInvitation": identitiesAccepted,
}

const issuerURL = "https://login.example"

func (w *world) identityOf(subject string, person uuid.UUID) *identity.Identity {
	return &identity.Identity{Issuer: issuerURL, Subject: subject, Person: person, CreatedAt: w.now}
}

// wantIdentity verifies whose email the person with a subject has; "" for nobody.
func (w *world) wantIdentity(subject, email string) {
	w.Helper()
	p, err := w.s.IdentityFind(w.ctx, issuerURL, subject)
	switch {
	case email == "":
		w.wantCode("the identity "+subject, err, fault.NotFound)
	case err != nil || p.Email != email || len(p.Identities) != 1 || p.Identities[0].Subject != subject ||
		!p.Identities[0].CreatedAt.Equal(w.now):
		w.Errorf("the person of %s is %+v, %v", subject, p, err)
	}
}

func identitiesKnown(w *world) {
	w.wantIdentity("one", "")
	w.ok("IdentityInsert", w.s.IdentityInsert(w.ctx, w.identityOf("one", w.owner.ID)))
	w.ok("IdentityInsert again", w.s.IdentityInsert(w.ctx, w.identityOf("one", w.owner.ID)))
	w.wantIdentity("one", "owner@example.com")
	w.wantCode("another's", w.s.IdentityInsert(w.ctx, w.identityOf("one", w.other.ID)), fault.Conflict)
	w.wantCode("a second", w.s.IdentityInsert(w.ctx, w.identityOf("two", w.owner.ID)), fault.Conflict)
	w.wantCode("nobody's", w.s.IdentityInsert(w.ctx, w.identityOf("three", uuid.New())), fault.NotFound)
	elsewhere := w.identityOf("one", w.other.ID)
	elsewhere.Issuer = "https://other.example"
	w.ok("another issuer's", w.s.IdentityInsert(w.ctx, elsewhere))
	w.wantIdentity("one", "owner@example.com")
	w.ok("PersonConfirm", w.s.PersonConfirm(w.ctx, w.owner.ID))
	w.wantCode("PersonConfirm", w.s.PersonConfirm(w.ctx, uuid.New()), fault.NotFound)
	if p, err := w.s.PersonOf(w.ctx, w.owner.ID); err != nil || p.EmailState != identity.EmailConfirmed {
		w.Errorf("the person is %+v, %v", p, err)
	}
	s, others := w.sessionAt("here", w.owner.ID, w.owner.Number, "one", ""), w.session("others", w.owner)
	w.ok("IdentityForget", w.s.IdentityForget(w.ctx, w.identityOf("one", w.owner.ID)))
	w.wantCode("IdentityForget", w.s.IdentityForget(w.ctx, w.identityOf("one", w.owner.ID)), fault.NotFound)
	w.wantIdentity("one", "")
	w.wantNoSession("a session of the identity", s)
	w.wantSession(others)
}

// sessionAt stores a session that began at a provider.
func (w *world) sessionAt(token string, person uuid.UUID, account int64, subject, sid string) *identity.Session {
	w.Helper()
	s := &identity.Session{
		Hash: []byte(token), Account: account, Person: person, CreatedAt: w.now, SeenAt: w.now, ExpiresAt: w.ahead(),
		Provider: identity.ProviderSession{Issuer: issuerURL, Subject: subject, SID: sid},
	}
	w.ok("SessionInsert", w.s.SessionInsert(w.ctx, s))
	got, err := w.s.SessionFind(w.ctx, s.Hash, w.now)
	if err != nil || got.Provider != s.Provider {
		w.Errorf("the session is %+v, %v", got, err)
	}
	return s
}

func (w *world) joining(email string, role identity.Role) *identity.Joining {
	p := &identity.Person{ID: uuid.New(), Email: email, CreatedAt: w.now, EmailState: identity.EmailConfirmed}
	return &identity.Joining{Account: w.owner.Number, Person: p, New: true, Identity: w.identityOf(email, uuid.Nil), Role: role, At: w.now}
}

func identitiesJoined(w *world) {
	ann := w.joining("ann@example.com", identity.RoleEditor)
	m, err := w.s.MemberJoin(w.ctx, ann)
	if err != nil || m.Role != identity.RoleEditor || m.Person != ann.Person.ID {
		w.Fatalf("the member is %+v, %v", m, err)
	}
	w.wantIdentity("ann@example.com", "ann@example.com")
	ann.New, ann.Role = false, identity.RoleOwner
	if m, err := w.s.MemberJoin(w.ctx, ann); err != nil || m.Role != identity.RoleEditor {
		w.Errorf("a member who joins again is %+v, %v", m, err)
	}
	w.invited(w.owner, "bob@example.com", identity.RoleAdmin)
	bob := w.joining("bob@example.com", identity.RoleViewer)
	bob.Invited = true
	if m, err := w.s.MemberJoin(w.ctx, bob); err != nil || m.Role != identity.RoleAdmin {
		w.Errorf("who was invited is %+v, %v", m, err)
	}
	w.same("the members", w.members(w.owner), "ann@example.com editor invited false; bob@example.com admin invited false; owner@example.com owner invited false")
	taken := w.joining("owner@example.com", identity.RoleViewer)
	taken.Account = w.other.Number
	_, err = w.s.MemberJoin(w.ctx, taken)
	w.wantCode("an email that is taken", err, fault.Conflict)
	taken = w.joining("eve@example.com", identity.RoleViewer)
	taken.Identity.Subject = "ann@example.com"
	_, err = w.s.MemberJoin(w.ctx, taken)
	w.wantCode("an identity that is taken", err, fault.Conflict)
	nowhere := w.joining("eve@example.com", identity.RoleViewer)
	nowhere.Account = 1 << 40
	_, err = w.s.MemberJoin(w.ctx, nowhere)
	w.wantCode("no account", err, fault.NotFound)
	if _, err := w.s.PersonGet(w.ctx, "eve@example.com"); fault.CodeOf(err) != fault.NotFound {
		w.Errorf("somebody who could not join is stored: %v", err)
	}
	w.same("the members there", w.members(w.other), "other@example.com owner invited false")
}

func identitiesRace(w *world) {
	worked := together(6, func(i int) error {
		j := w.joining(fmt.Sprintf("%d@example.com", i), identity.RoleViewer)
		j.Identity.Subject = "one"
		_, err := w.s.MemberJoin(w.ctx, j)
		return err
	})
	if worked != 1 {
		w.Errorf("%d persons have the identity", worked)
	}
}

func identitiesLogout(w *world) {
	one, two := w.sessionAt("one", w.owner.ID, w.owner.Number, "ann", "s1"), w.sessionAt("two", w.owner.ID, w.owner.Number, "ann", "s2")
	other := w.sessionAt("other", w.other.ID, w.other.Number, "bob", "s1")
	logout := func(token, subject, sid string) (int, error) {
		return w.s.SessionLogout(w.ctx, &identity.Logout{Issuer: issuerURL, Subject: subject, SID: sid, Token: []byte(token),
			Expires: w.ahead(), Before: w.now})
	}
	if n, err := logout("a", "ann", "s1"); n != 1 || err != nil {
		w.Errorf("%d sessions have ended, %v", n, err)
	}
	w.wantNoSession("the session", one)
	w.wantSession(two)
	w.wantSession(other)
	_, err := logout("a", "ann", "")
	w.wantCode("a used token", err, fault.Conflict)
	w.wantSession(two)
	if n, err := logout("b", "", "s1"); n != 1 || err != nil {
		w.Errorf("by the provider's session: %d, %v", n, err)
	}
	w.wantNoSession("the other's", other)
	early := &identity.Logout{Issuer: issuerURL, Subject: "ann", Token: []byte("c"), Expires: w.past(), Before: w.now.Add(-time.Second)}
	if n, err := w.s.SessionLogout(w.ctx, early); n != 0 || err != nil {
		w.Errorf("a session that began later: %d, %v", n, err)
	}
	if n, err := w.s.SessionPrune(w.ctx, w.now, 10); n != 1 || err != nil {
		w.Errorf("%d tokens are pruned, %v", n, err)
	}
	if n, err := logout("d", "ann", ""); n != 1 || err != nil {
		w.Errorf("all of a person: %d, %v", n, err)
	}
	w.wantNoSession("the last", two)
}

func identitiesGone(w *world) {
	ann := w.joining("ann@example.com", identity.RoleEditor)
	_, err := w.s.MemberJoin(w.ctx, ann)
	w.ok("MemberJoin", err)
	w.ok("MemberChange", w.s.MemberChange(w.ctx, w.owner.Number, uuid.Nil, "ann@example.com",
		func(*identity.MemberState) (*identity.Member, error) { return nil, nil }))
	w.wantIdentity("ann@example.com", "")
	w.ok("IdentityInsert", w.s.IdentityInsert(w.ctx, w.identityOf("one", w.owner.ID)))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.wantIdentity("one", "")
}

func identitiesRegistered(w *world) {
	register := func(email, subject string) error {
		return w.s.AccountRegister(w.ctx, &identity.Registration{Account: w.newcomer(email), EmailState: identity.EmailConfirmed,
			Identity: w.identityOf(subject, uuid.Nil)})
	}
	w.ok("AccountRegister", register("ann@example.com", "one"))
	w.wantIdentity("one", "ann@example.com")
	w.wantCode("an identity that is taken", register("bob@example.com", "one"), fault.Conflict)
	w.wantCode("an email that is taken", register("ann@example.com", "two"), fault.Invalid)
	w.wantIdentity("two", "")
	if _, err := w.s.AccountGet(w.ctx, "bob@example.com"); fault.CodeOf(err) != fault.NotFound {
		w.Errorf("the refused account: %v", err)
	}
}

func identitiesAccepted(w *world) {
	accept := func(email, subject string) error {
		m := w.invited(w.owner, email, identity.RoleEditor)
		p := &identity.Person{ID: uuid.New(), Email: email, CreatedAt: w.now}
		_, err := w.s.MemberAccept(w.ctx, &identity.Acceptance{Hash: m.Hash, Person: p, New: true,
			Identity: w.identityOf(subject, uuid.Nil), At: w.now})
		return err
	}
	w.ok("MemberAccept", accept("ann@example.com", "one"))
	w.wantIdentity("one", "ann@example.com")
	w.wantCode("an identity that is taken", accept("bob@example.com", "one"), fault.Conflict)
	w.same("the members", w.members(w.owner), "ann@example.com editor invited false; bob@example.com editor invited true; owner@example.com owner invited false")
}
