package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

var memberTests = group{
	"BeginWithAnOwner":       membersBegin,
	"InvitedAndAccepted":     membersAccepted,
	"InvitationsOfTwo":       membersOthers,
	"RemovedWithSessions":    membersRemoved,
	"OwnersThatRemoveOthers": membersLastOwner,
	"AcceptedOnce":           membersAcceptedOnce,
	"DeletedAccounts":        membersDeleted,
	"Adopted":                membersAdopted,
}

// show describes the members of an account.
func (w *world) members(owner job.Owner) string {
	w.Helper()
	all, err := w.s.MemberList(w.ctx, owner.Number)
	w.ok("MemberList", err)
	var shown []string
	for _, m := range all {
		shown = append(shown, fmt.Sprintf("%s %s invited %t", m.Email, m.Role, m.Invited()))
	}
	return strings.Join(shown, "; ")
}

// invited stores an invitation, whose code has the hash of its email.
func (w *world) invited(owner job.Owner, email string, role identity.Role) *identity.Member {
	w.Helper()
	m := &identity.Member{ID: uuid.New(), Account: owner.Number, Email: email, Role: role, CreatedAt: w.now, Hash: []byte("code " + email),
		ExpiresAt: w.ahead()}
	w.ok("MemberChange", w.s.MemberChange(w.ctx, owner.Number, uuid.Nil, email,
		func(s *identity.MemberState) (*identity.Member, error) { return m, nil }))
	return m
}

// joined makes a new person a member.
func (w *world) joined(owner job.Owner, email string, role identity.Role) *identity.Person {
	w.Helper()
	m := w.invited(owner, email, role)
	p := &identity.Person{ID: uuid.New(), Email: email, CreatedAt: w.now, Password: "hash"}
	_, err := w.s.MemberAccept(w.ctx, &identity.Acceptance{Hash: m.Hash, Person: p, New: true, At: w.now})
	w.ok("MemberAccept", err)
	return p
}

func membersBegin(w *world) {
	w.same("the members", w.members(w.owner), "owner@example.com owner invited false")
	p, err := w.s.PersonGet(w.ctx, "owner@example.com")
	w.ok("PersonGet", err)
	if p.Home != w.owner || p.Email != "owner@example.com" {
		w.Errorf("the person is %+v", p)
	}
	of, err := w.s.MembershipList(w.ctx, p.ID)
	w.ok("MembershipList", err)
	if len(of) != 1 || of[0].Account != w.owner || of[0].Role != identity.RoleOwner || of[0].Email != "owner@example.com" {
		w.Errorf("the person belongs to %+v", of)
	}
	role, err := w.s.MemberRole(w.ctx, w.other.Number, p.ID)
	if role != "" || err != nil {
		w.Errorf("in another account the role is %q, %v", role, err)
	}
	public := w.newcomer("public")
	public.Origin = identity.OriginShared
	w.ok("AccountInsert", w.s.AccountInsert(w.ctx, public))
	w.same("the shared account's members", w.members(public.Owner), "")
}

func membersAccepted(w *world) {
	m := w.invited(w.owner, "ann@example.com", identity.RoleEditor)
	w.same("the members", w.members(w.owner), "ann@example.com editor invited true; owner@example.com owner invited false")
	found, err := w.s.MemberInvited(w.ctx, m.Hash, w.now)
	w.ok("MemberInvited", err)
	if found.ID != m.ID || found.Account != w.owner.Number || !found.ExpiresAt.Equal(m.ExpiresAt) {
		w.Errorf("the invitation is %+v", found)
	}
	for what, hash := range map[string][]byte{"no code": nil, "another": []byte("other")} {
		_, err := w.s.MemberInvited(w.ctx, hash, w.now)
		w.wantCode(what, err, fault.NotFound)
	}
	_, err = w.s.MemberInvited(w.ctx, m.Hash, m.ExpiresAt)
	w.wantCode("an expired invitation", err, fault.NotFound)
	p := &identity.Person{ID: uuid.New(), Email: "ann@example.com", CreatedAt: w.now, Password: "hash"}
	accept := func(a identity.Acceptance) error {
		_, err := w.s.MemberAccept(w.ctx, &a)
		return err
	}
	w.wantCode("another's email", accept(identity.Acceptance{Hash: m.Hash,
		Person: &identity.Person{ID: w.other.ID, Email: "other@example.com"}, At: w.now}), fault.Forbidden)
	w.wantCode("too late", accept(identity.Acceptance{Hash: m.Hash, Person: p, New: true, At: m.ExpiresAt}), fault.NotFound)
	w.ok("MemberAccept", accept(identity.Acceptance{Hash: m.Hash, Person: p, New: true, At: w.now}))
	w.wantCode("once more", accept(identity.Acceptance{Hash: m.Hash, Person: p, At: w.now}), fault.NotFound)
	w.same("the members", w.members(w.owner), "ann@example.com editor invited false; owner@example.com owner invited false")
	stored, err := w.s.PersonOf(w.ctx, p.ID)
	if err != nil || stored.Password != "hash" || stored.Home != w.owner {
		w.Errorf("the person is %+v, %v", stored, err)
	}
	again := w.invited(w.other, "ann@example.com", identity.RoleViewer)
	w.wantCode("a person who exists", accept(identity.Acceptance{Hash: again.Hash,
		Person: &identity.Person{ID: uuid.New(), Email: "ann@example.com", CreatedAt: w.now}, New: true, At: w.now}), fault.Invalid)
	w.ok("MemberAccept", accept(identity.Acceptance{Hash: again.Hash, Person: stored, At: w.now}))
	of, err := w.s.MembershipList(w.ctx, p.ID)
	if err != nil || len(of) != 2 || of[0].Role != identity.RoleEditor || of[1].Role != identity.RoleViewer {
		w.Errorf("the person belongs to %+v, %v", of, err)
	}
}

// membersOthers: IDs of members mean nothing in another account.
func membersOthers(w *world) {
	m := w.invited(w.owner, "ann@example.com", identity.RoleAdmin)
	seen := func(account int64, id uuid.UUID, email string) (found *identity.Member) {
		w.ok("MemberChange", w.s.MemberChange(w.ctx, account, id, email, func(s *identity.MemberState) (*identity.Member, error) {
			if found = s.Member; s.All != 1 && account == w.other.Number || s.Owners != 1 {
				w.Errorf("account %d has %d members, %d owners", account, s.All, s.Owners)
			}
			return s.Member, nil
		}))
		return found
	}
	if seen(w.owner.Number, m.ID, "") == nil || seen(w.owner.Number, uuid.Nil, "ann@example.com") == nil ||
		seen(w.owner.Number, uuid.New(), "") != nil {
		w.Error("the member is not found in its account")
	}
	if seen(w.other.Number, m.ID, "") != nil || seen(w.other.Number, uuid.Nil, "ann@example.com") != nil {
		w.Error("the member is found in another account")
	}
	w.wantCode("no account", w.s.MemberChange(w.ctx, 1<<40, m.ID, "",
		func(*identity.MemberState) (*identity.Member, error) { return nil, nil }), fault.NotFound)
	no := errors.New("no")
	if err := w.s.MemberChange(w.ctx, w.owner.Number, m.ID, "",
		func(*identity.MemberState) (*identity.Member, error) { return nil, no }); !errors.Is(err, no) {
		w.Errorf("a refusal is %v", err)
	}
	w.same("after it", w.members(w.owner), "ann@example.com admin invited true; owner@example.com owner invited false")
}

func membersRemoved(w *world) {
	p := w.joined(w.owner, "ann@example.com", identity.RoleEditor)
	again := w.invited(w.other, "ann@example.com", identity.RoleViewer)
	_, err := w.s.MemberAccept(w.ctx, &identity.Acceptance{Hash: again.Hash, Person: p, At: w.now})
	w.ok("MemberAccept", err)
	here := w.personSession("here", p.ID, w.owner)
	there := w.personSession("there", p.ID, w.other)
	switched := w.personSession("switched", p.ID, w.owner)
	w.ok("SessionSwitch", w.s.SessionSwitch(w.ctx, switched.Hash, w.other.Number))
	switched.Account = w.other.Number
	w.wantSession(switched)
	remove := func(owner job.Owner) {
		w.Helper()
		w.ok("MemberChange", w.s.MemberChange(w.ctx, owner.Number, uuid.Nil, "ann@example.com",
			func(*identity.MemberState) (*identity.Member, error) { return nil, nil }))
	}
	remove(w.owner)
	w.wantNoSession("a session in the account", here)
	w.wantSession(there)
	w.wantSession(switched)
	w.wantCode("a session there", w.s.SessionInsert(w.ctx, here), fault.NotFound)
	w.wantCode("switching there", w.s.SessionSwitch(w.ctx, there.Hash, w.owner.Number), fault.NotFound)
	w.wantCode("no session", w.s.SessionSwitch(w.ctx, []byte("x"), w.owner.Number), fault.NotFound)
	remove(w.other)
	w.wantNoSession("the last account's", there)
	_, err = w.s.PersonGet(w.ctx, "ann@example.com")
	w.wantCode("a person without accounts", err, fault.NotFound)
}

// personSession stores a session of a person in an account.
func (w *world) personSession(token string, person uuid.UUID, owner job.Owner) *identity.Session {
	w.Helper()
	s := &identity.Session{Hash: []byte(token), Account: owner.Number, Person: person, CreatedAt: w.now, SeenAt: w.now,
		ExpiresAt: w.ahead()}
	w.ok("SessionInsert", w.s.SessionInsert(w.ctx, s))
	return s
}

// membersLastOwner: of owners who demote or remove each other at once, one stays.
func membersLastOwner(w *world) {
	last := errors.New("the last owner")
	for round := range 4 {
		w.joined(w.owner, fmt.Sprintf("ann%d@example.com", round), identity.RoleOwner)
		all, err := w.s.MemberList(w.ctx, w.owner.Number)
		w.ok("MemberList", err)
		var owners []*identity.Member
		for _, m := range all {
			if m.Role == identity.RoleOwner {
				owners = append(owners, m)
			}
		}
		if len(owners) != 2 {
			w.Fatalf("there are %d owners", len(owners))
		}
		var acts sync.WaitGroup
		for i, m := range owners {
			acts.Go(func() {
				_ = w.s.MemberChange(w.ctx, w.owner.Number, m.ID, "", func(s *identity.MemberState) (*identity.Member, error) {
					if s.Owners < 2 {
						return nil, last
					}
					if (i+round)%2 == 0 {
						return nil, nil
					}
					next := *s.Member
					next.Role = identity.RoleViewer
					return &next, nil
				})
			})
		}
		acts.Wait()
		if shown := w.members(w.owner); strings.Count(shown, " owner invited false") != 1 {
			w.Fatalf("after round %d the members are %s", round, shown)
		}
	}
}

// membersAcceptedOnce: of two acceptances at once, one succeeds.
func membersAcceptedOnce(w *world) {
	m := w.invited(w.owner, "ann@example.com", identity.RoleEditor)
	worked := together(8, func(int) error {
		p := &identity.Person{ID: uuid.New(), Email: "ann@example.com", CreatedAt: w.now, Password: "hash"}
		_, err := w.s.MemberAccept(w.ctx, &identity.Acceptance{Hash: m.Hash, Person: p, New: true, At: w.now})
		return err
	})
	if worked != 1 {
		w.Errorf("the invitation was accepted %d times", worked)
	}
}

func membersDeleted(w *world) {
	ann := w.joined(w.owner, "ann@example.com", identity.RoleAdmin)
	bob := w.joined(w.owner, "bob@example.com", identity.RoleOwner)
	again := w.invited(w.other, "bob@example.com", identity.RoleViewer)
	_, err := w.s.MemberAccept(w.ctx, &identity.Acceptance{Hash: again.Hash, Person: bob, At: w.now})
	w.ok("MemberAccept", err)
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.same("the members", w.members(w.owner), "")
	_, err = w.s.PersonOf(w.ctx, ann.ID)
	w.wantCode("who belonged to it only", err, fault.NotFound)
	stays, err := w.s.PersonOf(w.ctx, bob.ID)
	if err != nil || stays.Home != w.other {
		w.Errorf("who belongs to another too: %+v, %v", stays, err)
	}
	w.same("the other account's", w.members(w.other), "bob@example.com viewer invited false; other@example.com owner invited false")
	// Somebody who is known already owns the account that is made for them.
	next := w.newcomer("bob@example.com")
	w.ok("AccountInsert", w.s.AccountInsert(w.ctx, next))
	of, err := w.s.MembershipList(w.ctx, bob.ID)
	if err != nil || len(of) != 2 || of[1].Account != next.Owner || of[1].Role != identity.RoleOwner {
		w.Errorf("the person belongs to %+v, %v", of, err)
	}
}

// membersAdopted: an account that a node of an earlier version has made gets an owner.
func membersAdopted(w *world) {
	w.ok("AccountsAdopt", w.s.AccountsAdopt(w.ctx, "public"))
	w.same("the members", w.members(w.owner), "owner@example.com owner invited false")
	alone := w.newcomer("alone@example.com")
	alone.Origin = identity.OriginShared // stored without an owner
	w.ok("AccountInsert", w.s.AccountInsert(w.ctx, alone))
	w.ok("AccountsAdopt", w.s.AccountsAdopt(w.ctx, "alone@example.com"))
	w.same("the members of the one left out", w.members(alone.Owner), "")
	w.ok("AccountsAdopt", w.s.AccountsAdopt(w.ctx, "public"))
	w.same("the members", w.members(alone.Owner), "alone@example.com owner invited false")
	p, err := w.s.PersonGet(w.ctx, "alone@example.com")
	if err != nil || p.Home != alone.Owner {
		w.Errorf("the person is %+v, %v", p, err)
	}
}
