package storetest

import (
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// limitsFloating verifies that every read of a limit returns which of its parts requests
// may define, and that nothing else changes them.
func limitsFloating(w *world) {
	for _, floating := range []int{limit.FloatRate | limit.FloatParallel, limit.FloatRate, limit.FloatParallel, 0} {
		want := store.Limit{Key: "a", Limit: limit.Limit{Calls: 5, Per: time.Minute, Parallel: 2, Floating: floating}}
		_, err := w.s.LimitPut(w.ctx, w.owner, want, store.PutAlways)
		w.ok("LimitPut", err)
		w.ok("LimitReset", w.s.LimitReset(w.ctx, w.owner, "a"))
		if named, err := w.s.LimitNamed(w.ctx, w.owner, "a"); err != nil || *named != want {
			w.Errorf("LimitNamed: %+v, %v, want %+v", named, err, want)
		}
		if use, err := w.s.LimitGet(w.ctx, w.owner, "a"); err != nil || use.Record != want {
			w.Errorf("LimitGet: %+v, %v, want %+v", use, err, want)
		}
		if list, err := w.s.LimitList(w.ctx, w.owner, "", 10); err != nil || len(list) != 1 || list[0] != want {
			w.Errorf("LimitList: %+v, %v, want %+v", list, err, want)
		}
	}
}

// limitsReset verifies that a reset lets as many start as if none had, of one account's
// limit only.
func limitsReset(w *world) {
	use := func(owner job.Owner, when string, waiting, inFlight int) {
		w.Helper()
		_, err := w.s.LimitPass(w.ctx, store.LimitPass{LimitKey: store.LimitKey{Account: owner.Number, Key: "a"},
			Ahead: 100 * time.Millisecond, Grace: time.Minute, Limit: 100})
		w.ok("LimitPass", err)
		u, err := w.s.LimitGet(w.ctx, owner, "a")
		w.ok("LimitGet", err)
		if u.Waiting != waiting || u.InFlight != inFlight {
			w.Errorf("%s, of account %d: %d waiting and %d granted, want %d and %d", when, owner.Number, u.Waiting, u.InFlight, waiting,
				inFlight)
		}
	}
	for _, owner := range []job.Owner{w.owner, w.other} {
		_, err := w.s.LimitPut(w.ctx, owner, store.Limit{Key: "a", Limit: limit.Limit{Calls: 1, Per: time.Hour}}, store.PutAlways)
		w.ok("LimitPut", err)
		for i := range 3 {
			n := w.limited(w.past().Add(time.Duration(i)*time.Millisecond), "a")
			n.Job.Owner = owner
			w.insertOne(n)
		}
		use(owner, "of 1 an hour", 2, 1)
	}
	w.ok("LimitReset", w.s.LimitReset(w.ctx, w.owner, "a"))
	use(w.owner, "after the reset", 1, 2)
	use(w.owner, "after the reset", 1, 2)
	use(w.other, "after the reset of another account's", 2, 1)
	w.wantCode("LimitReset of none", w.s.LimitReset(w.ctx, w.owner, "b"), fault.NotFound)
	_, err := w.s.LimitPut(w.ctx, w.owner, store.Limit{Key: "gone", Limit: limit.Limit{Parallel: 1}}, store.PutAlways)
	w.ok("LimitPut", err)
	_, err = w.s.LimitDelete(w.ctx, w.owner, "gone")
	w.ok("LimitDelete", err)
	w.wantCode("LimitReset of a deleted one", w.s.LimitReset(w.ctx, w.owner, "gone"), fault.NotFound)
}

// accountsTokenKeys verifies that of several who replace an account's token keys at once,
// one does, and no other account's change.
func accountsTokenKeys(w *world) {
	replace := func(account int64, before, keys string, want bool) {
		w.Helper()
		if got, err := w.s.AccountTokenKeys(w.ctx, account, before, keys); err != nil || got != want {
			w.Errorf("AccountTokenKeys from %q to %q: %v, %v, want %v", before, keys, got, err, want)
		}
	}
	stored := func(account int64, want string) {
		w.Helper()
		a, err := w.s.AccountOf(w.ctx, account)
		w.ok("AccountOf", err)
		if a.TokenKeys != want {
			w.Errorf("account %d has the token keys %q, want %q", account, a.TokenKeys, want)
		}
	}
	replace(w.owner.Number, "", "a b", true)
	replace(w.owner.Number, "", "c d", false)
	replace(w.owner.Number, "x y", "c d", false)
	stored(w.owner.Number, "a b")
	stored(w.other.Number, "")
	replace(w.other.Number, "", "a b", true)
	replace(w.owner.Number, "a b", "b c", true)
	stored(w.owner.Number, "b c")
	stored(w.other.Number, "a b")
	replace(w.owner.Number+w.other.Number+1000, "", "a b", false)
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.other.Number, w.now))
	replace(w.other.Number, "a b", "b c", false)
}
