package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var recipientTests = group{
	"OfTwoAccounts":       recipientRecords,
	"RefusalsHoldForAll":  recipientRefusals,
	"Prune":               recipientPrune,
	"OutliveTheirAccount": recipientsOfDeleted,
	"ChangesTakeTurns":    recipientTurns,
	"OriginOfAccounts":    accountOrigins,
}

// recipient changes a recipient and returns what the decision saw.
func (w *world) recipient(owner job.Owner, address string, change *store.RecipientChange) (seen store.RecipientSnapshot) {
	w.Helper()
	mailbox, _, _ := strings.Cut(address, "+")
	w.ok("RecipientChange", w.s.RecipientChange(w.ctx, owner.Number, address, mailbox, w.past(),
		func(m *store.RecipientSnapshot) *store.RecipientChange {
			seen = *m
			return change
		}))
	return seen
}

func asked(token string, at time.Time) *store.Recipient {
	return &store.Recipient{Token: []byte(token), AskedAt: at.Truncate(time.Microsecond)}
}

func describeRecipient(r *store.Recipient) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s %s %t %t", r.Address, r.Mailbox, r.Token, !r.ConfirmedAt.IsZero(), !r.RefusedAt.IsZero())
}

func recipientRecords(w *world) {
	m := w.recipient(w.owner, "ann+1", &store.RecipientChange{Recipient: asked("a", w.now)})
	if m.Recipient != nil || m.Refused || !m.MailboxAskedAt.IsZero() || m.Asked != 0 || m.Recipients != 0 || m.Now.Before(w.now) {
		w.Errorf("at first: %+v", m)
	}
	m = w.recipient(w.other, "ann+1", &store.RecipientChange{Recipient: asked("b", w.past().Add(-time.Hour))})
	if m.Recipient != nil || !m.MailboxAskedAt.Equal(w.now.Truncate(time.Microsecond)) || m.Asked != 0 || m.Recipients != 0 {
		w.Errorf("the other account: %+v", m)
	}
	w.recipient(w.owner, "bob", &store.RecipientChange{Recipient: asked("c", w.past().Add(-time.Hour))})
	confirmed := asked("a", w.now)
	confirmed.ConfirmedAt = w.now
	m = w.recipient(w.owner, "ann+1", &store.RecipientChange{Recipient: confirmed})
	if m.Recipient == nil || m.Asked != 1 || m.Recipients != 2 || !m.Recipient.AskedAt.Equal(w.now.Truncate(time.Microsecond)) {
		w.Errorf("before it is confirmed: %+v", m)
	}
	w.recipient(w.owner, "ann+1", nil)
	for token, want := range map[string]string{"a": "ann+1 ann a true false", "b": "ann+1 ann b false false",
		"c": "bob bob c false false"} {
		r, err := w.s.RecipientFind(w.ctx, []byte(token))
		w.ok("RecipientFind", err)
		w.same("found", describeRecipient(r), want)
	}
	_, err := w.s.RecipientFind(w.ctx, []byte("x"))
	w.wantCode("another token", err, fault.NotFound)
	_, err = w.s.RecipientFind(w.ctx, nil)
	w.wantCode("no token", err, fault.NotFound)
	r, refused, err := w.s.RecipientGet(w.ctx, w.other.Number, "ann+1", "ann")
	w.ok("RecipientGet", err)
	w.same("read", fmt.Sprint(describeRecipient(r), " ", refused), "ann+1 ann b false false false")
	w.wantRecipients(w.owner, "", 10, "ann+1 bob")
	w.wantRecipients(w.owner, "", 1, "ann+1")
	w.wantRecipients(w.owner, "ann+1", 10, "bob")
	w.wantRecipients(w.other, "", 10, "ann+1")
	w.recipient(w.owner, "ann+1", &store.RecipientChange{})
	w.wantRecipients(w.owner, "", 10, "bob")
	w.wantRecipients(w.other, "", 10, "ann+1")
}

func (w *world) wantRecipients(owner job.Owner, after string, limit int, want string) {
	w.Helper()
	found, err := w.s.RecipientList(w.ctx, owner.Number, after, limit)
	w.ok("RecipientList", err)
	var names []string
	for _, r := range found {
		if r.Account != owner.Number {
			w.Errorf("listed %+v", r)
		}
		names = append(names, r.Address)
	}
	w.same("recipients", strings.Join(names, " "), want)
}

func recipientRefusals(w *world) {
	refused := asked("a", w.now)
	refused.RefusedAt = w.now
	w.recipient(w.owner, "ann", &store.RecipientChange{Recipient: refused})
	read := func(owner job.Owner, address string) bool {
		w.Helper()
		_, refused, err := w.s.RecipientGet(w.ctx, owner.Number, address, "ann")
		w.ok("RecipientGet", err)
		return refused
	}
	if !read(w.other, "ann+tag") || !w.recipient(w.other, "ann+tag", nil).Refused {
		w.Error("a refusal does not hold for another account")
	}
	if w.recipient(w.other, "bob", nil).Refused {
		w.Error("a refusal holds for another mailbox")
	}
	w.recipient(w.other, "ann+tag", &store.RecipientChange{Recipient: asked("b", w.now), Allow: true})
	if read(w.owner, "ann") || read(w.other, "ann+tag") {
		w.Error("a refusal that has ended still holds")
	}
}

func recipientPrune(w *world) {
	old := w.past().Add(-time.Hour)
	for i, r := range []*store.Recipient{asked("a", old), asked("b", old), asked("c", old), asked("d", w.now), asked("e", old)} {
		switch i {
		case 1:
			r.ConfirmedAt = w.now
		case 2:
			r.RefusedAt = w.now
		}
		w.recipient(w.owner, string(r.Token), &store.RecipientChange{Recipient: r})
	}
	for i, want := range []int{1, 1, 0} {
		n, err := w.s.RecipientPrune(w.ctx, w.past(), 1)
		w.ok("RecipientPrune", err)
		if n != want {
			w.Errorf("prune %d: deleted %d, want %d", i, n, want)
		}
	}
	w.wantRecipients(w.owner, "", 10, "b c d")
}

// recipientsOfDeleted: a deleted account's questions still count for the mailbox, and
// refusals hold, but nothing stays confirmed.
func recipientsOfDeleted(w *world) {
	old := w.past().Add(-time.Hour)
	confirmed, refused := asked("a", old), asked("b", old)
	confirmed.ConfirmedAt, refused.RefusedAt = old, old
	w.recipient(w.owner, "ann", &store.RecipientChange{Recipient: confirmed})
	w.recipient(w.owner, "bob", &store.RecipientChange{Recipient: refused})
	w.recipient(w.other, "eve", &store.RecipientChange{Recipient: &store.Recipient{Token: []byte("c"), AskedAt: old, ConfirmedAt: old}})
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	if m := w.recipient(w.other, "ann", nil); m.MailboxAskedAt.IsZero() {
		w.Error("the mailbox was never asked")
	}
	n, err := w.s.RecipientPrune(w.ctx, w.past(), 10)
	w.ok("RecipientPrune", err)
	if n != 1 {
		w.Errorf("deleted %d, want 1", n)
	}
	w.wantRecipients(w.owner, "", 10, "bob")
	w.wantRecipients(w.other, "", 10, "eve")
}

// recipientTurns has both accounts ask one mailbox at once: one of them sees that the
// other has.
func recipientTurns(w *world) {
	var all sync.WaitGroup
	var mu sync.Mutex
	first := 0
	for _, owner := range []job.Owner{w.owner, w.other, w.owner, w.other} {
		all.Go(func() {
			asks := false
			err := w.s.RecipientChange(w.ctx, owner.Number, "ann", "ann", w.past(),
				func(m *store.RecipientSnapshot) *store.RecipientChange {
					if asks = m.MailboxAskedAt.IsZero(); !asks {
						return nil
					}
					return &store.RecipientChange{Recipient: asked(fmt.Sprint("t", owner.Number), w.now)}
				})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				w.Errorf("RecipientChange: %v", err)
			}
			if asks {
				first++
			}
		})
	}
	all.Wait()
	if first != 1 {
		w.Errorf("%d changes were the first", first)
	}
}

func accountOrigins(w *world) {
	for i, origin := range []identity.Origin{identity.OriginUnknown, identity.OriginKnown, identity.OriginOpen} {
		email := fmt.Sprintf("origin%d@example.com", i)
		a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: email, CreatedAt: w.now, Origin: origin}
		if i == 1 {
			w.ok("AccountInsert", w.s.AccountInsert(w.ctx, a))
		} else {
			w.ok("AccountRegister", w.s.AccountRegister(w.ctx, &identity.Registration{Account: a}))
		}
		byEmail, err := w.s.AccountGet(w.ctx, email)
		w.ok("AccountGet", err)
		byNumber, err := w.s.AccountOf(w.ctx, a.Number)
		w.ok("AccountOf", err)
		if byEmail.Origin != origin || byNumber.Origin != origin {
			w.Errorf("origin %d is read as %d and %d", origin, byEmail.Origin, byNumber.Origin)
		}
	}
}
