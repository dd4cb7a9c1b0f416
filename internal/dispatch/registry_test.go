package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// heldItem adds an item that node 1 holds, with these start messages.
func heldItem(r *registry, number int64, messages ...int64) *entry {
	e := &entry{ref: ref(number, 1, 1, noon), start: noon, claim: store.Claim{Attempt: 1}}
	for _, m := range messages {
		e.claim.Deliveries = append(e.claim.Deliveries, job.Delivery{Number: m})
	}
	r.add(e)
	r.claiming([]*entry{e})
	r.claimed(1, r.clocks.look(), []*entry{e})
	return e
}

func takeSlot() context.CancelCauseFunc { return func(error) {} }

func TestRegistryBegin_ByState(t *testing.T) {
	for _, x := range []struct {
		name     string
		prepare  func(r *registry, e *entry)
		unable   bool
		takeSlot func() context.CancelCauseFunc
		want     readiness
		after    confirmation
	}{
		{name: "nothing prevents it", want: nowFired},
		{name: "this node can't fire it", unable: true, want: mustWait},
		{name: "no slot", takeSlot: func() context.CancelCauseFunc { return nil }, want: mustWait},
		{name: "revoked", prepare: func(r *registry, e *entry) { r.revoke(1, noon.Add(1), noon) }, want: mustWait},
		{name: "revoked after its start", prepare: func(r *registry, e *entry) { r.revoke(1, noon, noon) }, want: mustWait},
		{name: "restored", prepare: func(r *registry, e *entry) { r.revoke(1, noon.Add(1), noon); r.restore(1) }, want: mustConfirm,
			after: claimDoubted},
		{name: "aborted", prepare: func(r *registry, e *entry) { r.revoke(1, noon.Add(1), noon); r.abort(1) }, want: neverFire,
			after: claimDoubted},
		{name: "aborted without being revoked", prepare: func(r *registry, e *entry) { r.abort(1) }, want: nowFired},
		{name: "cancelled by another node", prepare: func(r *registry, e *entry) { r.cancelled(1, 1) }, want: neverFire,
			after: claimDoubted},
		{name: "an earlier claim cancelled by another node",
			prepare: func(r *registry, e *entry) { e.claim.Revision = 2; r.cancelled(1, 1) }, want: nowFired},
		{name: "an earlier claim cancelled while this one is being prepared", prepare: func(r *registry, e *entry) {
			claim := e.claim
			e.phase, e.claim = phaseClaiming, store.Claim{}
			r.cancelled(1, 1)
			claim.Revision = 2
			r.prepared(e, claim)
			r.claimed(1, r.clocks.look(), []*entry{e})
		}, want: nowFired},
		{name: "blocked", prepare: func(r *registry, e *entry) { r.block(map[int64]bool{1: true}) }, want: neverFire},
		{name: "another account blocked", prepare: func(r *registry, e *entry) { r.block(map[int64]bool{2: true}) }, want: nowFired},
		{name: "lease lost", prepare: func(r *registry, e *entry) { r.reregister(2) }, want: neverFire},
		{name: "no notices", prepare: func(r *registry, e *entry) { r.noHeartbeat() }, want: mustConfirm},
		{name: "no notices, confirmed", prepare: func(r *registry, e *entry) {
			r.noHeartbeat()
			r.confirmed(1, r.clocks.look(), []*entry{e}, []store.ClaimStatus{store.Held})
		}, want: nowFired, after: claimConfirmed},
		{name: "not confirmed", prepare: func(r *registry, e *entry) {
			r.confirmed(1, r.clocks.look(), []*entry{e}, []store.ClaimStatus{store.NotHeld})
		}, want: neverFire},
		{name: "confirmed for another node", prepare: func(r *registry, e *entry) {
			r.confirmed(2, r.clocks.look(), []*entry{e}, []store.ClaimStatus{store.Held})
		}, want: neverFire},
		{name: "confirmed, then delayed", prepare: func(r *registry, e *entry) {
			r.confirmed(1, r.clocks.look(), []*entry{e}, []store.ClaimStatus{store.Held})
		}, unable: true, want: mustWait, after: claimDoubted},
	} {
		r := newRegistry(1)
		e := heldItem(r, 1)
		if x.prepare != nil {
			x.prepare(r, e)
		}
		if x.takeSlot == nil {
			x.takeSlot = takeSlot
		}
		if got := r.begin(e, !x.unable, x.takeSlot); got != x.want || (e.phase == phaseFired) != (got == nowFired) ||
			e.confirmation != x.after {
			t.Errorf("%s: %d, phase %d, confirmation %d, want %d and %d", x.name, got, e.phase, e.confirmation, x.want, x.after)
		}
	}
}

func TestRegistry_EndsAttemptsUnderWay(t *testing.T) {
	for name, x := range map[string]struct {
		end  func(r *registry)
		want error
	}{
		"abort":     {func(r *registry) { r.abort(1) }, execute.ErrCancelled},
		"cancelled": {func(r *registry) { r.cancelled(1, 1) }, execute.ErrCancelled},
		"block":     {func(r *registry) { r.block(map[int64]bool{1: true}) }, execute.ErrInterrupted},
		"drain":     {func(r *registry) { r.drain() }, nil},
	} {
		r := newRegistry(1)
		e := heldItem(r, 1)
		var cause error
		r.begin(e, true, func() context.CancelCauseFunc { return func(err error) { cause = err } })
		if got := r.revoke(1, noon, noon); got != Started {
			t.Errorf("%s: Revoke = %d, want Started", name, got)
		}
		if x.end(r); !errors.Is(cause, x.want) || e.gone || !r.knows(e.ref.ItemID) {
			t.Errorf("%s: ended with %v, gone %v", name, cause, e.gone)
		}
	}
}

func TestRegistryAbort_TakesRevokedStartMessagesWithIt(t *testing.T) {
	r := newRegistry(1)
	message := func(number int64) *entry {
		m := &entry{ref: store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: number}, Due: noon}}
		r.add(m)
		return m
	}
	early := message(10)
	heldItem(r, 1, 10, 11)
	r.revoke(1, noon.Add(1), noon)
	r.abort(1)
	late := message(11)
	if !early.gone || early.revocation != revoked || late.gone || late.revocation != revoked {
		t.Errorf("early: gone %v, revocation %d; late: gone %v, revocation %d", early.gone, early.revocation, late.gone, late.revocation)
	}
}

// A cancel that finds its attempt started keeps the start messages. They stay gone if the
// node's lease expired before: the next node sends them.
func TestRegistryAbort_LeavesStartMessagesOfALostLeaseGone(t *testing.T) {
	r := newRegistry(1)
	heldItem(r, 1, 7)
	m := &entry{ref: ref(7, 1, 1, noon), start: noon, claim: store.Claim{Attempt: 1}}
	m.ref.Kind = store.KindDelivery
	r.add(m)
	r.claiming([]*entry{m})
	r.claimed(1, r.clocks.look(), []*entry{m})
	r.reregister(2)
	r.revoke(1, noon, noon)
	r.abort(1)
	if got := r.begin(m, false, takeSlot); got != neverFire {
		t.Errorf("a start message that another node may claim is in state %d, want %d", got, neverFire)
	}
}

func TestRegistryFind_RemembersANewDueTime(t *testing.T) {
	r := newRegistry(1)
	e := heldItem(r, 1)
	later := ref(1, 1, 1, noon.Add(time.Minute))
	if got := r.find(later); got != present {
		t.Errorf("find = %d, want present", got)
	}
	if again := r.forget(e); len(again) != 1 || again[0] != later {
		t.Errorf("to be admitted again: %v", again)
	}
	if got := r.find(later); got != unknown {
		t.Errorf("find = %d, want unknown", got)
	}
	r.block(map[int64]bool{1: true})
	if got := r.find(later); got != barred {
		t.Errorf("find = %d, want barred", got)
	}
}

func TestRegistryClaimed_ReturnsClaimsThatAreStale(t *testing.T) {
	r := newRegistry(1)
	e := &entry{ref: ref(1, 1, 1, noon), claim: store.Claim{Attempt: 3}}
	r.add(e)
	r.claiming([]*entry{e})
	r.reregister(2)
	if stale, _ := r.claimed(1, r.clocks.look(), []*entry{e}); len(stale) != 1 || stale[0].Attempt != 3 || !e.gone {
		t.Errorf("stale %v, gone %v", stale, e.gone)
	}
	if node, claims := r.drain(); node != 2 || len(claims) != 0 || r.knows(e.ref.ItemID) {
		t.Errorf("drain releases %v of node %d", claims, node)
	}
}
