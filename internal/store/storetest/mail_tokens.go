package storetest

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var mailTokenTests = group{
	"OfAPerson":         mailTokensOfAPerson,
	"UsedByOneOfMany":   mailTokensRace,
	"GoneWithThePerson": mailTokensGone,
	"ThatChangeEmails":  mailTokensThatChange,
	"EmailsThatChange":  emailsThatChange,
}

func (w *world) mailToken(hash string, person uuid.UUID, purpose identity.Purpose, expires time.Time) {
	w.Helper()
	w.ok("MailTokenPut", w.s.MailTokenPut(w.ctx, &identity.MailToken{Person: person, Purpose: purpose, Hash: []byte(hash),
		ExpiresAt: expires}))
}

func (w *world) useToken(hash string, purpose identity.Purpose, password string) error {
	return w.s.MailTokenUse(w.ctx, &identity.MailTokenUse{Hash: []byte(hash), Purpose: purpose, At: w.now, Password: password})
}

func mailTokensOfAPerson(w *world) {
	w.mailToken("old", w.owner.ID, identity.ForReset, w.ahead())
	w.mailToken("new", w.owner.ID, identity.ForReset, w.ahead())
	w.mailToken("confirm", w.owner.ID, identity.ForConfirmation, w.ahead())
	w.mailToken("expired", w.other.ID, identity.ForReset, w.now)
	nobody := &identity.MailToken{Person: uuid.New(), Purpose: identity.ForReset, Hash: []byte("x"), ExpiresAt: w.ahead()}
	w.wantCode("nobody's", w.s.MailTokenPut(w.ctx, nobody), fault.NotFound)
	for _, hash := range []string{"old", "confirm", "expired", "x", ""} {
		_, err := w.s.MailTokenFind(w.ctx, []byte(hash), identity.ForReset, w.now)
		w.wantCode("the token "+hash, err, fault.NotFound)
		w.wantCode("using "+hash, w.useToken(hash, identity.ForReset, "hash"), fault.NotFound)
	}
	m, err := w.s.MailTokenFind(w.ctx, []byte("new"), identity.ForReset, w.now)
	if err != nil || m.Person != w.owner.ID || m.Purpose != identity.ForReset || m.Email != "" || !m.ExpiresAt.Equal(w.ahead()) {
		w.Errorf("the token is %+v, %v", m, err)
	}
	s, others := w.session("s", w.owner), w.session("others", w.other)
	w.ok("MailTokenUse", w.useToken("new", identity.ForReset, "new hash"))
	w.wantNoSession("a session from before", s)
	w.wantSession(others)
	if p, err := w.s.PersonOf(w.ctx, w.owner.ID); err != nil || p.Password != "new hash" || p.EmailState != identity.EmailConfirmed {
		w.Errorf("the person is %+v, %v", p, err)
	}
	w.wantCode("once more", w.useToken("new", identity.ForReset, "other"), fault.NotFound)
	w.wantCode("the person's other", w.useToken("confirm", identity.ForConfirmation, ""), fault.NotFound)
	if p, err := w.s.PersonOf(w.ctx, w.other.ID); err != nil || p.Password != "" || p.EmailState != identity.EmailUnknown {
		w.Errorf("the other is %+v, %v", p, err)
	}
	s = w.session("s", w.other)
	w.mailToken("confirm", w.other.ID, identity.ForConfirmation, w.ahead())
	w.ok("MailTokenUse", w.useToken("confirm", identity.ForConfirmation, ""))
	w.wantSession(s)
	w.mailToken("expired", w.owner.ID, identity.ForReset, w.past())
	w.mailToken("good", w.owner.ID, identity.ForConfirmation, w.ahead())
	if n, err := w.s.SessionPrune(w.ctx, w.now, 10); n != 1 || err != nil {
		w.Errorf("%d are pruned, %v", n, err)
	}
	w.ok("one that is left", w.useToken("good", identity.ForConfirmation, ""))
}

func mailTokensRace(w *world) {
	w.mailToken("one", w.owner.ID, identity.ForReset, w.ahead())
	if worked := together(8, func(int) error { return w.useToken("one", identity.ForReset, "hash") }); worked != 1 {
		w.Errorf("it was used %d times", worked)
	}
}

func mailTokensGone(w *world) {
	w.mailToken("one", w.owner.ID, identity.ForReset, w.ahead())
	w.mailToken("two", w.other.ID, identity.ForReset, w.ahead())
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.wantCode("a token of a deleted person", w.useToken("one", identity.ForReset, "hash"), fault.NotFound)
	w.ok("the other's", w.useToken("two", identity.ForReset, "hash"))
}

// emails describes what has a person's email.
func (w *world) emails(person uuid.UUID) string {
	w.Helper()
	p, err := w.s.PersonOf(w.ctx, person)
	w.ok("PersonOf", err)
	of, err := w.s.MembershipList(w.ctx, person)
	w.ok("MembershipList", err)
	text := p.Email
	for _, m := range of {
		text += ", " + string(m.Role) + " of " + m.Email + " (" + w.members(m.Account) + ")"
	}
	return text
}

func mailTokensThatChange(w *world) {
	change := &identity.MailToken{Person: w.owner.ID, Purpose: identity.ForChange, Email: "new@example.com", Hash: []byte("change"),
		ExpiresAt: w.ahead()}
	w.ok("MailTokenPut", w.s.MailTokenPut(w.ctx, change))
	w.mailToken("reset", w.owner.ID, identity.ForReset, w.ahead())
	if m, err := w.s.MailTokenFind(w.ctx, []byte("change"), identity.ForChange, w.now); err != nil || m.Email != "new@example.com" {
		w.Errorf("the token is %+v, %v", m, err)
	}
	s := w.session("s", w.owner)
	w.ok("MailTokenUse", w.useToken("change", identity.ForChange, ""))
	w.wantSession(s)
	w.same("the person", w.emails(w.owner.ID),
		"new@example.com, owner of new@example.com (new@example.com owner invited false)")
	w.same("the other", w.emails(w.other.ID),
		"other@example.com, owner of other@example.com (other@example.com owner invited false)")
	if p, err := w.s.PersonGet(w.ctx, "new@example.com"); err != nil || p.ID != w.owner.ID || p.EmailState != identity.EmailConfirmed {
		w.Errorf("the person is %+v, %v", p, err)
	}
	_, err := w.s.PersonGet(w.ctx, "owner@example.com")
	w.wantCode("the old email", err, fault.NotFound)
	w.wantCode("a link to the old email", w.useToken("reset", identity.ForReset, "hash"), fault.NotFound)

	change.Email = "other@example.com"
	w.ok("MailTokenPut", w.s.MailTokenPut(w.ctx, change))
	w.wantCode("an email that is taken", w.useToken("change", identity.ForChange, ""), fault.Invalid)
	w.same("the person", w.emails(w.owner.ID),
		"new@example.com, owner of new@example.com (new@example.com owner invited false)")
}

func emailsThatChange(w *world) {
	ann := w.joined(w.owner, "ann@example.com", identity.RoleEditor)
	w.invited(w.other, "ann@example.com", identity.RoleAdmin)
	_, err := w.s.MemberAccept(w.ctx, &identity.Acceptance{Hash: []byte("code ann@example.com"), Person: ann, At: w.now})
	w.ok("MemberAccept", err)
	w.invited(w.other, "anna@example.com", identity.RoleViewer)
	// An invitation to an account that she belongs to would be a second membership.
	w.ok("PersonEmail", w.s.PersonEmail(w.ctx, ann.ID, "anna@example.com"))
	w.same("the person", w.emails(ann.ID), "anna@example.com, "+
		"editor of owner@example.com (anna@example.com editor invited false; owner@example.com owner invited false), "+
		"admin of other@example.com (anna@example.com admin invited false; other@example.com owner invited false)")
	w.wantCode("the email of a person", w.s.PersonEmail(w.ctx, ann.ID, "owner@example.com"), fault.Invalid)
	w.wantCode("nobody's", w.s.PersonEmail(w.ctx, uuid.New(), "nobody@example.com"), fault.NotFound)
	if won := together(8, func(i int) error {
		return w.s.PersonEmail(w.ctx, []uuid.UUID{w.owner.ID, w.other.ID}[i%2], "both@example.com")
	}); won == 0 {
		w.Error("nobody got the email")
	}
	owner, other := w.emails(w.owner.ID), w.emails(w.other.ID)
	if strings.HasPrefix(owner, "both@") == strings.HasPrefix(other, "both@") {
		w.Errorf("they have %s and %s", owner, other)
	}
}
