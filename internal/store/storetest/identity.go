package storetest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

var identityTests = group{
	"KeysKeepScopeExpiryAndNetworks": identityKeys,
	"EndedKeysAreBounded":            identityKeysBounded,
	"SecretsAreBounded":              identitySecretsBounded,
	"PasswordChangeRevokesKeys":      identityPasswordKeys,
	"SessionsAreListed":              identitySessions,
	"SessionsAreBounded":             identitySessionsBounded,
	"SecondFactor":                   identityTOTP,
	"SecondFactorIsUsedOnce":         identityTOTPRace,
	"AuditReadsBack":                 identityAudit,
	"AuditCountsRepetitions":         identityAuditSlots,
	"AuditCountsConcurrently":        identityAuditRace,
	"AuditIsBounded":                 identityAuditBounded,
	"AuditLimitsEdits":               identityAuditEdits,
	"AuditPrune":                     identityAuditPrune,
	"AuditOfDeletedAccounts":         identityAuditDeleted,
}

func identityKeys(w *world) {
	k := &identity.Key{
		ID: uuid.New(), Account: w.owner.Number, Name: "n", Prefix: "sk_n", Hash: []byte("hash"), CreatedAt: w.now,
		Scope: identity.ScopeJobs, ExpiresAt: w.ahead(), CIDRs: []string{"192.0.2.0/24", "2001:db8::/32"},
	}
	w.ok("KeyInsert", w.s.KeyInsert(w.ctx, k))
	plain := w.key("plain")
	for _, want := range []*identity.Key{k, plain} {
		got, err := w.s.KeyFind(w.ctx, want.Hash)
		w.ok("KeyFind", err)
		w.same("the key", showKeyLimits(got), showKeyLimits(want))
		got, err = w.s.KeyGet(w.ctx, want.ID)
		w.ok("KeyGet", err)
		w.same("the key", showKey(got)+showKeyLimits(got), showKey(want)+showKeyLimits(want))
	}
	w.ok("KeyRevoke", w.s.KeyRevoke(w.ctx, k.ID, w.now))
	got, err := w.s.KeyGet(w.ctx, k.ID)
	if err != nil || !got.RevokedAt.Equal(w.now) {
		w.Errorf("a revoked key: %+v, %v", got, err)
	}
	_, err = w.s.KeyGet(w.ctx, uuid.New())
	w.wantCode("no key", err, fault.NotFound)
}

func showKeyLimits(k *identity.Key) string {
	return fmt.Sprintf("%s until %s from %q", k.Scope, moment(k.ExpiresAt), k.CIDRs)
}

func identityKeysBounded(w *world) {
	for i := range identity.MaxKeysEnded + 3 {
		k := &identity.Key{ID: uuid.New(), Account: w.owner.Number, Name: fmt.Sprint(i), Hash: []byte(fmt.Sprint(i)), CreatedAt: w.now,
			Scope: identity.ScopeJobs}
		if i%2 == 0 {
			k.ExpiresAt = w.past().Add(time.Duration(i) * time.Second)
		}
		w.ok("KeyInsert", w.s.KeyInsert(w.ctx, k))
		if i%2 == 1 {
			w.ok("KeyRevoke", w.s.KeyRevoke(w.ctx, k.ID, w.past().Add(time.Duration(i)*time.Second)))
		}
	}
	working := w.key("working")
	keys, err := w.s.KeyList(w.ctx, w.owner.Number)
	w.ok("KeyList", err)
	names := map[string]bool{}
	for _, k := range keys {
		names[k.Name] = true
	}
	if len(keys) != identity.MaxKeysEnded+1 || !names[working.Name] || names["0"] || names["1"] || names["2"] || !names["3"] {
		w.Errorf("%d keys are kept: %v", len(keys), names)
	}
}

func identitySecretsBounded(w *world) {
	for i := range identity.MaxSecrets + 3 {
		secret := identity.Secret{Value: fmt.Sprint("whsec_", i), CreatedAt: w.now.Add(time.Duration(i+1) * time.Second)}
		w.ok("SecretAdd", w.s.SecretAdd(w.ctx, w.owner.Number, secret, w.ahead()))
	}
	a, err := w.s.AccountOf(w.ctx, w.owner.Number)
	if err != nil || len(a.Secrets) != identity.MaxSecrets || a.Secrets[0].Value != "whsec_12" || a.Secrets[9].Value != "whsec_3" {
		w.Errorf("the secrets are %+v, %v", a.Secrets, err)
	}
	if other, err := w.s.AccountOf(w.ctx, w.other.Number); err != nil || len(other.Secrets) != 1 {
		w.Errorf("another's are %+v, %v", other.Secrets, err)
	}
}

func identityPasswordKeys(w *world) {
	a, b := w.key("a"), w.key("b")
	w.ok("KeyRevoke", w.s.KeyRevoke(w.ctx, b.ID, w.past()))
	others := &identity.Key{ID: uuid.New(), Account: w.other.Number, Hash: []byte("others"), CreatedAt: w.now}
	w.ok("KeyInsert", w.s.KeyInsert(w.ctx, others))
	w.ok("PersonPassword", w.s.PersonPassword(w.ctx,
		identity.PasswordChange{Person: w.owner.ID, Password: "x", RevokeKeys: w.now, Account: w.owner.Number}))
	_, err := w.s.KeyFind(w.ctx, a.Hash)
	w.wantCode("a key", err, fault.NotFound)
	_, err = w.s.KeyFind(w.ctx, others.Hash)
	w.ok("another's key", err)
	keys, err := w.s.KeyList(w.ctx, w.owner.Number)
	w.ok("KeyList", err)
	for _, k := range keys {
		if want := map[uuid.UUID]time.Time{a.ID: w.now, b.ID: w.past()}[k.ID]; !k.RevokedAt.Equal(want) {
			w.Errorf("%s is revoked at %s, want %s", k.Name, moment(k.RevokedAt), moment(want))
		}
	}
}

func identitySessions(w *world) {
	first := &identity.Session{
		Hash: []byte("first"), Account: w.owner.Number, Person: w.owner.ID, CreatedAt: w.past(), SeenAt: w.past(), ExpiresAt: w.ahead(),
		Address: "192.0.2.1", Agent: "Browser/1",
	}
	second := w.session("second", w.owner)
	pending := &identity.Session{Hash: []byte("pending"), Account: w.owner.Number, Person: w.owner.ID, CreatedAt: w.now, SeenAt: w.now,
		ExpiresAt: w.ahead(), Pending: true}
	expired := &identity.Session{Hash: []byte("expired"), Account: w.owner.Number, Person: w.owner.ID, CreatedAt: w.past(),
		SeenAt: w.past(), ExpiresAt: w.now}
	w.session("others", w.other)
	for _, s := range []*identity.Session{first, pending, expired} {
		w.ok("SessionInsert", w.s.SessionInsert(w.ctx, s))
	}
	w.wantSession(first)
	w.wantSession(pending)
	list := func() (shown []string) {
		found, err := w.s.SessionList(w.ctx, w.owner.ID, w.now)
		w.ok("SessionList", err)
		for _, s := range found {
			shown = append(shown, showSession(s))
		}
		return shown
	}
	w.same("the sessions", strings.Join(list(), "; "), showSession(second)+"; "+showSession(first))
	w.ok("SessionEndOthers", w.s.SessionEndOthers(w.ctx, w.owner.ID, first.Hash))
	w.same("the sessions", strings.Join(list(), "; "), showSession(first))
	w.wantNoSession("a pending session", pending)
	w.ok("SessionEndOthers", w.s.SessionEndOthers(w.ctx, w.owner.ID, nil))
	w.same("the sessions", strings.Join(list(), "; "), "")
	if found, err := w.s.SessionList(w.ctx, w.other.ID, w.now); err != nil || len(found) != 1 {
		w.Errorf("another has %d sessions, %v", len(found), err)
	}
}

func identitySessionsBounded(w *world) {
	var oldest, newest *identity.Session
	for i := range identity.MaxSessions + 2 {
		newest = &identity.Session{Hash: fmt.Append(nil, i), Account: w.owner.Number, Person: w.owner.ID,
			CreatedAt: w.past().Add(time.Duration(i) * time.Second), SeenAt: w.now, ExpiresAt: w.ahead()}
		if oldest == nil {
			oldest = newest
		}
		w.ok("SessionInsert", w.s.SessionInsert(w.ctx, newest))
	}
	for i := range identity.MaxSessions + 2 {
		pending := &identity.Session{Hash: fmt.Append(nil, "pending", i), Account: w.owner.Number, Person: w.owner.ID, CreatedAt: w.now,
			SeenAt: w.now, ExpiresAt: w.ahead(), Pending: true}
		w.ok("SessionInsert", w.s.SessionInsert(w.ctx, pending))
	}
	w.wantNoSession("the oldest session", oldest)
	w.wantSession(newest)
	if found, err := w.s.SessionList(w.ctx, w.owner.ID, w.now); err != nil || len(found) != identity.MaxSessions {
		w.Errorf("%d sessions are kept, %v", len(found), err)
	}
}

func recoveryHash(code string) []byte {
	sum := sha256.Sum256([]byte(code))
	return sum[:]
}

func (w *world) totp(owner job.Owner) *identity.TOTP {
	w.Helper()
	p, err := w.s.PersonOf(w.ctx, owner.ID)
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	w.ok("PersonOf", err)
	return p.TOTP
}

func identityTOTP(w *world) {
	change := func(decide identity.DecideTOTP) error { return w.s.PersonTOTP(w.ctx, w.owner.ID, decide) }
	if w.totp(w.owner) != nil {
		w.Error("a new account has a second factor")
	}
	first := &identity.TOTP{Secret: []byte("secret"), CreatedAt: w.past()}
	w.ok("PersonTOTP", change(func(current *identity.TOTP) (*identity.TOTP, error) {
		if current != nil {
			w.Errorf("there is %+v", current)
		}
		return first, nil
	}))
	w.same("the second factor", showTOTP(w.totp(w.owner)), showTOTP(first))
	second := &identity.TOTP{Secret: []byte("another"), CreatedAt: w.now, ConfirmedAt: w.now, LastStep: 1 << 40,
		Recovery: [][]byte{recoveryHash("a"), recoveryHash("b")}}
	w.ok("PersonTOTP", change(func(current *identity.TOTP) (*identity.TOTP, error) {
		w.same("the current one", showTOTP(current), showTOTP(first))
		return second, nil
	}))
	w.same("the second factor", showTOTP(w.totp(w.owner)), showTOTP(second))
	w.wantCode("a refusal", change(func(*identity.TOTP) (*identity.TOTP, error) { return nil, fault.New(fault.Invalid, "no") }),
		fault.Invalid)
	w.same("after a refusal", showTOTP(w.totp(w.owner)), showTOTP(second))
	if w.totp(w.other) != nil {
		w.Error("another account has a second factor")
	}
	byEmail, err := w.s.PersonGet(w.ctx, "owner@example.com")
	w.ok("PersonGet", err)
	w.same("by email", showTOTP(byEmail.TOTP), showTOTP(second))
	w.ok("removing it", change(func(*identity.TOTP) (*identity.TOTP, error) { return nil, nil }))
	if w.totp(w.owner) != nil {
		w.Error("the second factor is still there")
	}
	w.ok("PersonTOTP", change(func(*identity.TOTP) (*identity.TOTP, error) { return second, nil }))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	if w.totp(w.owner) != nil {
		w.Error("a deleted account has a second factor")
	}
	w.wantCode("a deleted account", change(func(*identity.TOTP) (*identity.TOTP, error) { return second, nil }), fault.NotFound)
}

func showTOTP(v *identity.TOTP) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%s from %s, confirmed %s, step %d, recovery %x", v.Secret, moment(v.CreatedAt), moment(v.ConfirmedAt), v.LastStep,
		v.Recovery)
}

// identityTOTPRace: of simultaneous uses of a time step or a recovery code, one
// succeeds.
func identityTOTPRace(w *world) {
	w.ok("PersonTOTP", w.s.PersonTOTP(w.ctx, w.owner.ID, func(*identity.TOTP) (*identity.TOTP, error) {
		return &identity.TOTP{Secret: []byte("s"), CreatedAt: w.now, ConfirmedAt: w.now,
			Recovery: [][]byte{recoveryHash("a"), recoveryHash("b")}}, nil
	}))
	used := fault.New(fault.Unauthorized, "used")
	if n := together(12, func(int) error {
		return w.s.PersonTOTP(w.ctx, w.owner.ID, func(v *identity.TOTP) (*identity.TOTP, error) {
			next := *v
			if next.LastStep >= 7 {
				return nil, used
			}
			next.LastStep = 7
			return &next, nil
		})
	}); n != 1 {
		w.Errorf("a step was used %d times", n)
	}
	if n := together(12, func(int) error {
		return w.s.PersonTOTP(w.ctx, w.owner.ID, func(v *identity.TOTP) (*identity.TOTP, error) {
			next := *v
			next.Recovery = slices.DeleteFunc(slices.Clone(v.Recovery), func(h []byte) bool { return bytes.Equal(h, recoveryHash("a")) })
			if len(next.Recovery) == len(v.Recovery) {
				return nil, used
			}
			return &next, nil
		})
	}); n != 1 {
		w.Errorf("a recovery code was used %d times", n)
	}
	if got := w.totp(w.owner); got.LastStep != 7 || len(got.Recovery) != 1 || !bytes.Equal(got.Recovery[0], recoveryHash("b")) {
		w.Errorf("then it is %s", showTOTP(got))
	}
}

// entry returns an entry of the audit log; events are written a millisecond apart.
func (w *world) entry(account int64, event, slot string, n int) *identity.AuditEntry {
	at := w.now.Add(time.Duration(n) * time.Millisecond)
	return &identity.AuditEntry{
		ID: job.NewID(at), Account: account, InsertedAt: at, LastAt: at, Event: event, ActorKind: "key", ActorName: "sk_abc",
		Address: "192.0.2.1", Detail: `"quoted" é`, Count: 1, Slot: slot,
	}
}

func (w *world) audit(account int64) (shown string) {
	w.Helper()
	entries, err := w.s.AuditList(w.ctx, account, "", uuid.Nil, 100)
	w.ok("AuditList", err)
	for _, a := range entries {
		shown += fmt.Sprintf("%s ×%d; ", a.Event, a.Count)
	}
	return shown
}

func identityAudit(w *world) {
	want := w.entry(w.owner.Number, "e0", "", 0)
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, want))
	entries, err := w.s.AuditList(w.ctx, w.owner.Number, "", uuid.Nil, 10)
	if err != nil || len(entries) != 1 {
		w.Fatalf("%d entries, %v", len(entries), err)
	}
	want.Seq = 1
	w.same("an entry", fmt.Sprintf("%+v", *entries[0]), fmt.Sprintf("%+v", *want))
	for i := 1; i < 7; i++ {
		w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, fmt.Sprintf("e%d", i%2), "", i)))
	}
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(0, "service", "", 0)))
	var walked []string
	for after := uuid.Nil; ; {
		page, err := w.s.AuditList(w.ctx, w.owner.Number, "", after, 3)
		w.ok("AuditList", err)
		if len(page) == 0 {
			break
		}
		for _, a := range page {
			walked = append(walked, a.Event)
		}
		after = page[len(page)-1].ID
	}
	w.same("the entries", strings.Join(walked, " "), "e0 e1 e0 e1 e0 e1 e0")
	some, err := w.s.AuditList(w.ctx, w.owner.Number, "e1", uuid.Nil, 10)
	if err != nil || len(some) != 3 {
		w.Errorf("%d entries of one event, %v", len(some), err)
	}
	w.same("another account", w.audit(w.other.Number), "")
	w.same("the service", w.audit(0), "service ×1; ")
}

func identityAuditSlots(w *world) {
	for i, slot := range []string{"a", "b", "a", "", "a", ""} {
		w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, "e"+slot, slot, i)))
	}
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.other.Number, "e", "a", 9)))
	w.same("the entries", w.audit(w.owner.Number), "e ×1; e ×1; eb ×1; ea ×3; ")
	w.same("another's", w.audit(w.other.Number), "e ×1; ")
	again := w.entry(w.owner.Number, "ea", "a", 7)
	again.Address, again.Detail, again.Count = "192.0.2.7", "latest", 2
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, again))
	entries, err := w.s.AuditList(w.ctx, w.owner.Number, "ea", uuid.Nil, 10)
	if err != nil || len(entries) != 1 {
		w.Fatalf("%d entries, %v", len(entries), err)
	}
	a := entries[0]
	w.same("what repeats", fmt.Sprint(a.Count, a.Address, a.Detail, moment(a.InsertedAt), moment(a.LastAt)),
		fmt.Sprint(5, "192.0.2.7", "latest", moment(w.now), moment(again.LastAt)))
}

func identityAuditRace(w *world) {
	slots := []string{"", "same"}
	worked := together(40, func(i int) error {
		return w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, "e", slots[i%2], i))
	})
	if worked != 40 {
		w.Errorf("%d of 40 were stored", worked)
	}
	entries, err := w.s.AuditList(w.ctx, w.owner.Number, "", uuid.Nil, 100)
	w.ok("AuditList", err)
	single, repeated := 0, int64(0)
	for _, a := range entries {
		if a.Slot == "" {
			single++
		} else {
			repeated += a.Count
		}
	}
	if len(entries) != 21 || single != 20 || repeated != 20 {
		w.Errorf("%d entries, %d single and %d repeated; want 21, 20 and 20", len(entries), single, repeated)
	}
}

func identityAuditBounded(w *world) {
	for i := range identity.MaxAuditSlots + 2 {
		w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(0, fmt.Sprint("e", i), fmt.Sprint("slot ", i), i)))
		// Repetitions displace nothing.
		w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(0, fmt.Sprint("e", i), fmt.Sprint("slot ", i), i)))
	}
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(0, "single", "", -1)))
	kept, err := w.s.AuditList(w.ctx, 0, "", uuid.Nil, 2*identity.MaxAuditSlots)
	w.ok("AuditList", err)
	if n := len(kept); n != identity.MaxAuditSlots+1 || kept[n-1].Event != "single" || kept[n-2].Event != "e2" || kept[n-2].Count != 2 {
		w.Errorf("%d entries are kept, the oldest are %+v and %+v", n, kept[n-1], kept[n-2])
	}
}

// identityAuditEdits verifies that edits have a limit of their own.
func identityAuditEdits(w *world) {
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(0, "signin", "", -1)))
	for i := range identity.MaxAuditEdits + 2 {
		e := w.entry(0, fmt.Sprint("e", i), "", i)
		e.Edit = true
		w.ok("AuditInsert", w.s.AuditInsert(w.ctx, e))
	}
	kept, err := w.s.AuditList(w.ctx, 0, "", uuid.Nil, 2*identity.MaxAuditEdits)
	w.ok("AuditList", err)
	n := len(kept)
	if n != identity.MaxAuditEdits+1 || kept[n-1].Event != "signin" || kept[n-1].Edit || kept[n-2].Event != "e2" || !kept[n-2].Edit {
		w.Errorf("%d entries are kept, the oldest are %+v and %+v", n, kept[n-1], kept[n-2])
	}
}

func identityAuditPrune(w *world) {
	for i := range 6 {
		w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, fmt.Sprint("e", i), "", i)))
	}
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, "lasting", "s", 0)))
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, "lasting", "s", 9)))
	total := 0
	for range 5 {
		n, err := w.s.AuditPrune(w.ctx, w.now.Add(4*time.Millisecond), 2)
		w.ok("AuditPrune", err)
		if n > 2 {
			w.Fatalf("%d removed at once", n)
		}
		total += n
	}
	if total != 4 {
		w.Errorf("%d removed, want 4", total)
	}
	w.same("what is left", w.audit(w.owner.Number), "e5 ×1; e4 ×1; lasting ×2; ")
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, "next", "", 10)))
	w.same("with another", w.audit(w.owner.Number), "next ×1; e5 ×1; e4 ×1; lasting ×2; ")
}

func identityAuditDeleted(w *world) {
	for i := range 4 {
		w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, "e", "", i)))
	}
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.other.Number, "e", "", 0)))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.ok("AuditInsert", w.s.AuditInsert(w.ctx, w.entry(w.owner.Number, "late", "", 5)))
	if n := w.purge(w.past(), 3); n != 4 {
		w.Errorf("%d records removed, want 4 entries", n)
	}
	w.same("the deleted account", w.audit(w.owner.Number), "")
	w.same("another", w.audit(w.other.Number), "e ×1; ")
	w.ok("AuditInsert of nobody", w.s.AuditInsert(w.ctx, w.entry(1<<40, "e", "", 0)))
	w.same("nobody", w.audit(1<<40), "")
}
