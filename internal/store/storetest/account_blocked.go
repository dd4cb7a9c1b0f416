package storetest

import (
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

var blockedTests = group{
	"SuspendedUntilResumed": blockedSuspended,
	"DeletedUntilPurged":    blockedDeleted,
}

func (w *world) wantBlocked(when string, want ...int64) {
	w.Helper()
	got, err := w.s.AccountsBlocked(w.ctx)
	if err != nil || !slices.Equal(got, want) {
		w.Errorf("%s: %v are blocked, %v, want %v", when, got, err, want)
	}
}

func (w *world) wantSuspended(when string, at time.Time, reason string) {
	w.Helper()
	a, err := w.s.AccountOf(w.ctx, w.owner.Number)
	w.ok("AccountOf", err)
	if !a.SuspendedAt.Equal(at) || a.SuspendedFor != reason {
		w.Errorf("%s: suspended at %v for %q", when, a.SuspendedAt, a.SuspendedFor)
	}
	page, err := w.s.AccountPage(w.ctx, w.owner.Number-1, 1)
	if err != nil || len(page) != 1 || !page[0].SuspendedAt.Equal(at) {
		w.Errorf("%s: the page has %+v, %v", when, page, err)
	}
}

func blockedSuspended(w *world) {
	w.wantBlocked("at first")
	w.wantSuspended("at first", time.Time{}, "")
	w.ok("AccountSuspend", w.s.AccountSuspend(w.ctx, w.other.Number, w.now, ""))
	w.ok("AccountSuspend", w.s.AccountSuspend(w.ctx, w.owner.Number, w.past(), `spam, "again"`))
	w.wantBlocked("suspended", w.owner.Number, w.other.Number)
	w.wantSuspended("suspended", w.past(), `spam, "again"`)
	w.ok("AccountSuspend again", w.s.AccountSuspend(w.ctx, w.owner.Number, w.now, "more spam"))
	w.wantSuspended("suspended again", w.past(), "more spam")
	w.ok("resume", w.s.AccountSuspend(w.ctx, w.owner.Number, time.Time{}, ""))
	w.wantBlocked("resumed", w.other.Number)
	w.wantSuspended("resumed", time.Time{}, "")
	w.ok("resume again", w.s.AccountSuspend(w.ctx, w.owner.Number, time.Time{}, ""))
	w.wantCode("nobody", w.s.AccountSuspend(w.ctx, 1<<40, w.now, ""), fault.NotFound)
}

func blockedDeleted(w *world) {
	w.ok("AccountSuspend", w.s.AccountSuspend(w.ctx, w.owner.Number, w.now, ""))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.wantBlocked("deleted", w.owner.Number)
	w.wantCode("suspending it", w.s.AccountSuspend(w.ctx, w.owner.Number, w.now, ""), fault.NotFound)
	w.purge(w.past(), 5)
	w.wantBlocked("not settled", w.owner.Number)
	w.purge(w.ahead(), 5)
	w.wantBlocked("purged")
}
