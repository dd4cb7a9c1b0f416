package storetest

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var suspectTests = group{
	"RunsAreMoved":            suspectsMoved,
	"ClaimedAndGoneStay":      suspectsMovedNot,
	"CrashesAreCounted":       suspectsCounted,
	"CrashesTogetherCountOne": suspectsTogether,
	"ClearedAreForgotten":     suspectsCleared,
	"DeletedAccountIsBlocked": suspectsBlocked,
}

const aCentury = 100 * 365 * 24 * time.Hour

func suspectsMoved(w *world) {
	j, other := w.insertOne(w.oneOff(w.owner, w.past())), w.insertOne(w.oneOff(w.other, w.past()))
	w.change(other, func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Deliveries: []job.Delivery{w.callback(m.Job, 1, w.past())}}
	})
	message := w.peekKind(store.KindDelivery)[0]
	ref := *w.queued(j)
	w.ok("QueueMove", w.s.QueueMove(w.ctx, []store.QueueKey{ref, message}, aCentury))
	if due, err := w.s.QueuePeek(w.ctx, store.QueueKey{}, w.now, 10); err != nil || len(due) != 2 || due[0].Number != other.Number {
		w.Errorf("due are %s (%v), want the other job and the first that is not due", show(due, showRef), err)
	}
	for _, moved := range []store.QueueKey{ref, message} {
		if w.load(moved) != nil {
			w.Errorf("%s is still at its old place", showRef(moved))
		}
		moved.Due = moved.Due.Add(aCentury)
		if run := w.load(moved); run == nil {
			w.Errorf("%s is not at its new place", showRef(moved))
		}
		w.ok("QueueMove", w.s.QueueMove(w.ctx, []store.QueueKey{moved}, -aCentury))
	}
	if run := w.load(ref); run == nil || run.Lane != ref.Lane || run.Attempt != 0 || run.Job.State != job.Available {
		w.Errorf("the item moved back is %+v", run)
	}
	w.finish(w.end(j, w.begin(w.get(j)), w.completes))
	if run := w.load(message); run == nil || !run.Delivery.DueAt.Equal(w.past()) {
		w.Errorf("the message moved back is %+v", run)
	}
}

func suspectsMovedNot(w *world) {
	stored := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	refs := []store.QueueKey{*w.queued(stored[0]), *w.queued(stored[1]), *w.queued(stored[2])}
	c := w.begin(stored[0])
	w.change(stored[1], func(m *store.Snapshot) *store.Changes {
		j := *m.Job
		j.Cancel(m.Now)
		return &store.Changes{Job: &j}
	})
	w.ok("QueueMove", w.s.QueueMove(w.ctx, refs, aCentury))
	w.ok("QueueMove", w.s.QueueMove(w.ctx, nil, aCentury))
	if got := w.get(stored[2]); !got.DueAt.Equal(w.past().Add(aCentury)) {
		w.Errorf("the pending job is due at %v", got.DueAt)
	}
	w.finish(w.end(stored[0], c, w.completes))
	if got := w.get(stored[1]); got.State != job.Cancelled || !got.DueAt.Equal(w.past()) {
		w.Errorf("the cancelled job is %s", showJob(got))
	}
}

// suspects reads the suspects as this node.
func (w *world) suspects(limit int) []store.Suspect {
	w.Helper()
	suspects, _, err := w.s.SuspectList(w.ctx, w.node, limit)
	w.ok("SuspectList", err)
	return suspects
}

func suspectsCounted(w *world) {
	stored := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.other, w.past()))
	refs := []store.QueueKey{*w.queued(stored[0]), *w.queued(stored[1])}
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs, false))
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs, false))
	if got := w.suspects(10); len(got) != 0 {
		w.Errorf("while the node lives the suspects are %+v", got)
	}
	w.node = w.replace()
	if got := w.suspects(10); len(got) != 2 || got[0].Crashes != 1 || got[1].Crashes != 1 || showRef(got[0].QueueKey) != showRef(refs[0]) {
		w.Fatalf("after a crash the suspects are %+v", got)
	}
	if got := w.suspects(10); len(got) != 2 || got[0].Crashes != 1 {
		w.Errorf("a crash was counted twice: %+v", got)
	}
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs[1:], true))
	w.node = w.replace()
	if got := w.suspects(1); len(got) != 1 || got[0].Crashes != 2 || got[0].Number != refs[1].Number {
		w.Errorf("after two crashes the first suspect is %+v", got)
	}
	// Noted again before SuspectList was called.
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs[1:], true))
	w.node = w.replace()
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs[1:], true))
	w.node = w.replace()
	if got := w.suspects(1); len(got) != 1 || got[0].Crashes != 4 {
		w.Errorf("after four crashes the first suspect is %+v", got)
	}
}

// Others may be to blame for crashes beside them, however many there are.
func suspectsTogether(w *world) {
	stored := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.other, w.past()))
	refs := []store.QueueKey{*w.queued(stored[0]), *w.queued(stored[1])}
	for range 4 {
		w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs, false))
		w.node = w.replace()
	}
	if got := w.suspects(10); len(got) != 2 || got[0].Crashes != 1 || got[1].Crashes != 1 {
		w.Fatalf("after four crashes beside others the suspects are %+v", got)
	}
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs[:1], true))
	w.node = w.replace()
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs, false))
	w.node = w.replace()
	if got := w.suspects(10); len(got) != 2 || got[0].Crashes != 2 || got[0].Number != refs[0].Number || got[1].Crashes != 1 {
		w.Errorf("after one crash alone the suspects are %+v", got)
	}
}

func suspectsCleared(w *world) {
	stored := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	refs := []store.QueueKey{*w.queued(stored[0]), *w.queued(stored[1])}
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, refs, false))
	w.ok("SuspectClear", w.s.SuspectClear(w.ctx, refs[:1]))
	w.node = w.replace()
	if got := w.suspects(10); len(got) != 1 || got[0].Number != refs[1].Number {
		w.Errorf("the suspects are %+v, want the one that was not cleared", got)
	}
	w.ok("SuspectClear", w.s.SuspectClear(w.ctx, refs))
	w.ok("SuspectClear", w.s.SuspectClear(w.ctx, nil))
	w.ok("SuspectNote", w.s.SuspectNote(w.ctx, w.node, nil, false))
	if got := w.suspects(10); len(got) != 0 {
		w.Errorf("the suspects are %+v, want none", got)
	}
}

func suspectsBlocked(w *world) {
	if got, err := w.s.AccountsBlocked(w.ctx); err != nil || len(got) != 0 {
		w.Errorf("blocked are %v (%v), want none", got, err)
	}
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.other.Number, w.now))
	if got, err := w.s.AccountsBlocked(w.ctx); err != nil || len(got) != 1 || got[0] != w.other.Number {
		w.Errorf("blocked are %v (%v), want the deleted account", got, err)
	}
}
