package storetest

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var mailTokenTests = group{
	"OfAPerson":         mailTokensOfAPerson,
	"UsedByOneOfMany":   mailTokensRace,
	"GoneWithThePerson": mailTokensGone,
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
	p, err := w.s.MailTokenFind(w.ctx, []byte("new"), identity.ForReset, w.now)
	if err != nil || p.ID != w.owner.ID || p.Password != "" || p.EmailState != identity.EmailUnknown {
		w.Errorf("the person is %+v, %v", p, err)
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
