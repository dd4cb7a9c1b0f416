package storetest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

var accountTests = group{
	"TokenKeysAreReplaced": accountsTokenKeys,
	"ReadBackAsStored":     accountsReadBack,
	"EmailsAreUnique":      accountsEmailsUnique,
	"NoneFound":            accountsNone,
	"SecretsRotate":        accountsSecretsRotate,
	"SecretsExpire":        accountsSecretsExpire,
	"KeysReadBack":         accountsKeysReadBack,
	"KeysByHash":           accountsKeysByHash,
	"KeysRevoke":           accountsKeysRevoke,
	"KeysUsed":             accountsKeysUsed,
	"EmailsInTheFaults":    accountsEmailFault,
}

func showAccount(a *identity.Account) string {
	text := fmt.Sprintf("account %s (%d) %q of %s", a.ID, a.Number, a.Email, moment(a.CreatedAt))
	for _, s := range a.Secrets {
		text += fmt.Sprintf(", %s from %s to %s", s.Value, moment(s.CreatedAt), moment(s.ExpiresAt))
	}
	return text
}

func showKey(k *identity.Key) string {
	return fmt.Sprintf("key %s of %d, %q, %q, %x, created %s, used %s, revoked %s",
		k.ID, k.Account, k.Name, k.Prefix, k.Hash, moment(k.CreatedAt), moment(k.LastUsedAt), moment(k.RevokedAt))
}

func accountsReadBack(w *world) {
	a := &identity.Account{
		Owner: job.Owner{ID: uuid.New()}, Email: "Ä.b+c@example.com", CreatedAt: w.past(),
		Secrets: []identity.Secret{{Value: "whsec_2", CreatedAt: w.now, ExpiresAt: w.ahead()}, {Value: "whsec_1", CreatedAt: w.past()}},
	}
	w.ok("AccountInsert", w.s.AccountInsert(w.ctx, a))
	if a.Number == 0 || a.Number == w.owner.Number || a.Number == w.other.Number {
		w.Fatalf("the account got number %d", a.Number)
	}
	byEmail, err := w.s.AccountGet(w.ctx, a.Email)
	w.ok("AccountGet", err)
	w.same("the account by email", showAccount(byEmail), showAccount(a))
	byNumber, err := w.s.AccountOf(w.ctx, a.Number)
	w.ok("AccountOf", err)
	w.same("the account by number", showAccount(byNumber), showAccount(a))
	all, err := w.s.AccountList(w.ctx)
	w.ok("AccountList", err)
	if len(all) != 3 || !slices.ContainsFunc(all, func(b *identity.Account) bool { return showAccount(b) == showAccount(a) }) {
		w.Errorf("%d accounts are listed, want 3 with the new one", len(all))
	}
}

func accountsEmailsUnique(w *world) {
	before, err := w.s.AccountGet(w.ctx, "owner@example.com")
	w.ok("AccountGet", err)
	again := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: "owner@example.com", CreatedAt: w.now,
		Secrets: []identity.Secret{{Value: "whsec_x", CreatedAt: w.now}}}
	w.wantCode("a second account of one email", w.s.AccountInsert(w.ctx, again), fault.Invalid)
	after, err := w.s.AccountGet(w.ctx, "owner@example.com")
	w.ok("AccountGet", err)
	w.same("the first account", showAccount(after), showAccount(before))
	if all, err := w.s.AccountList(w.ctx); err != nil || len(all) != 2 {
		w.Errorf("%d accounts (%v), want 2", len(all), err)
	}
}

// accountsEmailFault: users see the fault's message.
func accountsEmailFault(w *world) {
	again := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: "owner@example.com", CreatedAt: w.now}
	err := w.s.AccountInsert(w.ctx, again)
	if err == nil || err.Error() != "there is an account owner@example.com already" {
		w.Errorf("the fault says %v", err)
	}
}

func accountsNone(w *world) {
	_, err := w.s.AccountGet(w.ctx, "nobody@example.com")
	w.wantCode("AccountGet", err, fault.NotFound)
	_, err = w.s.AccountOf(w.ctx, 1<<40)
	w.wantCode("AccountOf", err, fault.NotFound)
	_, err = w.s.KeyFind(w.ctx, []byte("no such hash"))
	w.wantCode("KeyFind", err, fault.NotFound)
	w.wantCode("KeyRevoke", w.s.KeyRevoke(w.ctx, uuid.New(), w.now), fault.NotFound)
	if keys, err := w.s.KeyList(w.ctx, w.owner.Number); err != nil || len(keys) != 0 {
		w.Errorf("KeyList returned %d, %v", len(keys), err)
	}
	w.ok("KeyUsed of an unknown key", w.s.KeyUsed(w.ctx, map[uuid.UUID]time.Time{uuid.New(): w.now}))
}

// secrets returns the values of an account's secrets, newest first.
func (w *world) secrets() string {
	w.Helper()
	a, err := w.s.AccountOf(w.ctx, w.owner.Number)
	w.ok("AccountOf", err)
	text := ""
	for _, s := range a.Secrets {
		text += fmt.Sprintf("%s until %s; ", s.Value, moment(s.ExpiresAt))
	}
	return text
}

func accountsSecretsRotate(w *world) {
	old := "whsec_owner@example.com"
	first, second := w.now.Add(time.Hour), w.now.Add(3*time.Hour)
	w.ok("SecretAdd", w.s.SecretAdd(w.ctx, w.owner.Number, identity.Secret{Value: "whsec_b", CreatedAt: w.now.Add(time.Second)}, first))
	w.same("the secrets after one rotation", w.secrets(), "whsec_b until -; "+old+" until "+moment(first)+"; ")
	w.ok("SecretAdd", w.s.SecretAdd(w.ctx, w.owner.Number, identity.Secret{Value: "whsec_c", CreatedAt: w.now.Add(2 * time.Second)},
		second))
	w.same("the secrets after two: none lives longer than it was to", w.secrets(),
		"whsec_c until -; whsec_b until "+moment(second)+"; "+old+" until "+moment(first)+"; ")
	a, err := w.s.AccountOf(w.ctx, w.other.Number)
	if err != nil || len(a.Secrets) != 1 || !a.Secrets[0].ExpiresAt.IsZero() {
		w.Errorf("another's secrets are %s (%v)", showAccount(a), err)
	}
}

func accountsSecretsExpire(w *world) {
	w.ok("SecretAdd", w.s.SecretAdd(w.ctx, w.owner.Number, identity.Secret{Value: "whsec_b", CreatedAt: w.now.Add(time.Second)}, w.past()))
	w.same("the secrets after one ended", w.secrets(), "whsec_b until -; ")
}

func (w *world) key(name string) *identity.Key {
	w.Helper()
	hash := sha256.Sum256([]byte(name))
	k := &identity.Key{ID: uuid.New(), Account: w.owner.Number, Name: name, Prefix: "sk_" + name, Hash: hash[:], CreatedAt: w.now}
	w.ok("KeyInsert", w.s.KeyInsert(w.ctx, k))
	return k
}

func accountsKeysReadBack(w *world) {
	a := w.key("a")
	b := w.key("ä \"b\"")
	keys, err := w.s.KeyList(w.ctx, w.owner.Number)
	if err != nil || len(keys) != 2 {
		w.Fatalf("KeyList returned %d, %v", len(keys), err)
	}
	slices.SortFunc(keys, func(x, y *identity.Key) int { return len(x.Name) - len(y.Name) })
	w.same("a key", showKey(keys[0]), showKey(a))
	w.same("a key", showKey(keys[1]), showKey(b))
	if keys, err := w.s.KeyList(w.ctx, w.other.Number); err != nil || len(keys) != 0 {
		w.Errorf("another's keys are %d, %v", len(keys), err)
	}
}

func accountsKeysByHash(w *world) {
	a := w.key("a")
	w.key("b")
	got, err := w.s.KeyFind(w.ctx, a.Hash)
	w.ok("KeyFind", err)
	w.same("the key", showKey(got), showKey(a))
	_, err = w.s.KeyFind(w.ctx, a.Hash[:31])
	w.wantCode("part of a hash", err, fault.NotFound)
	_, err = w.s.KeyFind(w.ctx, nil)
	w.wantCode("no hash", err, fault.NotFound)
	twin := *a
	twin.ID = uuid.New()
	if err := w.s.KeyInsert(w.ctx, &twin); err == nil {
		w.Error("two keys of one hash were stored")
	}
}

func accountsKeysRevoke(w *world) {
	a, b := w.key("a"), w.key("b")
	w.ok("KeyRevoke", w.s.KeyRevoke(w.ctx, a.ID, w.past()))
	_, err := w.s.KeyFind(w.ctx, a.Hash)
	w.wantCode("a revoked key", err, fault.NotFound)
	_, err = w.s.KeyFind(w.ctx, b.Hash)
	w.ok("KeyFind of another", err)
	w.ok("KeyRevoke again", w.s.KeyRevoke(w.ctx, a.ID, w.now))
	keys, err := w.s.KeyList(w.ctx, w.owner.Number)
	w.ok("KeyList", err)
	for _, k := range keys {
		if k.ID == a.ID && !k.RevokedAt.Equal(w.past()) || k.ID == b.ID && !k.RevokedAt.IsZero() {
			w.Errorf("revoked: %s", showKey(k))
		}
	}
}

func accountsKeysUsed(w *world) {
	a, b, c := w.key("a"), w.key("b"), w.key("c")
	w.ok("KeyUsed", w.s.KeyUsed(w.ctx, map[uuid.UUID]time.Time{a.ID: w.past(), b.ID: w.past()}))
	w.ok("KeyUsed", w.s.KeyUsed(w.ctx, map[uuid.UUID]time.Time{b.ID: w.now}))
	for k, want := range map[*identity.Key]time.Time{a: w.past(), b: w.now, c: {}} {
		got, err := w.s.KeyFind(w.ctx, k.Hash)
		w.ok("KeyFind", err)
		if !got.LastUsedAt.Equal(want) {
			w.Errorf("%s, want it used at %s", showKey(got), moment(want))
		}
	}
}
