package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

var signingKeyTests = group{
	"AddListReplace":    signingKeysAdded,
	"IssuerRotates":     issuerRotates,
	"FirstOfManyIsKept": signingKeyRaces,
	"GoWithTheirSecret": signingKeysGo,
	"GoWithTheAccount":  signingKeysOfADeletedAccount,
}

// signingKey returns the key beside the first secret of an account.
func (w *world) signingKey(account int64, private string) *identity.SigningKey {
	w.Helper()
	a, err := w.s.AccountOf(w.ctx, account)
	w.ok("AccountOf", err)
	return &identity.SigningKey{Account: account, Number: a.Secrets[0].CreatedAt.UnixMicro(), Private: private, CreatedAt: w.now,
		SignsAt: w.ahead()}
}

func (w *world) addKey(k *identity.SigningKey, othersEnd time.Time, want bool) {
	w.Helper()
	added, err := w.s.SigningKeyAdd(w.ctx, k, othersEnd)
	w.ok("SigningKeyAdd", err)
	if added != want {
		w.Errorf("the key %d was added: %v, want %v", k.Number, added, want)
	}
}

// wantKeys verifies an account's keys, each as "private: end", newest first.
func (w *world) wantKeys(account int64, want ...string) {
	w.Helper()
	keys, err := w.s.SigningKeys(w.ctx, account)
	w.ok("SigningKeys", err)
	var got []string
	for _, k := range keys {
		text := k.Private
		if !k.EndsAt.IsZero() {
			text += ": " + k.EndsAt.Sub(w.now).String()
		}
		if got = append(got, text); k.Account != account || !k.CreatedAt.Equal(w.now) {
			w.Errorf("the key %d is of account %d, made at %v", k.Number, k.Account, k.CreatedAt)
		}
	}
	w.same("the keys", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func signingKeysAdded(w *world) {
	k, other := w.signingKey(w.owner.Number, "mine"), w.signingKey(w.other.Number, "another's")
	w.wantKeys(w.owner.Number)
	w.addKey(k, time.Time{}, true)
	w.addKey(other, time.Time{}, true)
	again := *k
	again.Private = "too late"
	w.addKey(&again, w.past(), false)
	w.wantKeys(w.owner.Number, "mine")
	stale := *k
	stale.Private = "not that"
	w.ok("SigningKeyReplace", w.s.SigningKeyReplace(w.ctx, &stale, "new"))
	w.wantKeys(w.owner.Number, "mine")
	w.ok("SigningKeyReplace", w.s.SigningKeyReplace(w.ctx, k, "new"))
	w.wantKeys(w.owner.Number, "new")
	w.wantKeys(w.other.Number, "another's")
	w.addKey(&identity.SigningKey{Number: 1, Private: "issuer", CreatedAt: w.now, SignsAt: w.now}, time.Time{}, true)
	all, account, number := "", int64(-1), int64(0)
	for {
		page, err := w.s.SigningKeyPage(w.ctx, account, number, 1)
		w.ok("SigningKeyPage", err)
		if len(page) == 0 {
			break
		}
		account, number = page[0].Account, page[0].Number
		all += page[0].Private + " "
		if account == w.owner.Number && (number != k.Number || !page[0].SignsAt.Equal(w.ahead())) {
			w.Errorf("the key is %+v", page[0])
		}
	}
	w.same("all keys", all, "issuer new another's ")
}

// issuerRotates: others end at the time given, or earlier if that was said before.
func issuerRotates(w *world) {
	for i := range 3 {
		k := &identity.SigningKey{Account: identity.IssuerAccount, Number: int64(i + 1), Private: fmt.Sprint("key ", i+1), CreatedAt: w.now,
			SignsAt: w.now}
		w.addKey(k, w.now.Add(time.Duration(i)*time.Hour), true)
	}
	w.wantKeys(identity.IssuerAccount, "key 3", "key 2: 2h0m0s", "key 1: 1h0m0s")
	w.addKey(&identity.SigningKey{Number: 4, Private: "key 4", CreatedAt: w.now, SignsAt: w.now}, w.past(), true)
	w.wantKeys(identity.IssuerAccount, "key 4")
	if all, err := w.s.SigningKeyPage(w.ctx, -1, 0, 10); err != nil || len(all) != 1 {
		w.Errorf("ended keys were not deleted: %d, %v", len(all), err)
	}
}

func signingKeyRaces(w *world) {
	var added atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			ok, err := w.s.SigningKeyAdd(w.ctx, &identity.SigningKey{Number: 1, Private: fmt.Sprint(i), CreatedAt: w.now, SignsAt: w.now},
				w.ahead())
			if err != nil {
				w.Error(err)
			}
			if ok {
				added.Add(1)
			}
		})
	}
	all.Wait()
	if keys, err := w.s.SigningKeys(w.ctx, identity.IssuerAccount); err != nil || len(keys) != 1 || added.Load() != 1 {
		w.Errorf("%d were added, %d are there, %v", added.Load(), len(keys), err)
	}
}

func signingKeysGo(w *world) {
	k := w.signingKey(w.owner.Number, "old")
	w.addKey(k, time.Time{}, true)
	w.ok("SecretAdd", w.s.SecretAdd(w.ctx, w.owner.Number, identity.Secret{Value: "whsec_new", CreatedAt: w.ahead()}, w.past()))
	w.addKey(w.signingKey(w.owner.Number, "new"), time.Time{}, true)
	w.wantKeys(w.owner.Number, "new")
}

func signingKeysOfADeletedAccount(w *world) {
	k := w.signingKey(w.owner.Number, "mine")
	w.addKey(k, time.Time{}, true)
	w.addKey(w.signingKey(w.other.Number, "another's"), time.Time{}, true)
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.wantKeys(w.owner.Number)
	w.addKey(k, time.Time{}, true) // by a node that has read the account before
	w.wantKeys(w.owner.Number)
	w.wantKeys(w.other.Number, "another's")
}
