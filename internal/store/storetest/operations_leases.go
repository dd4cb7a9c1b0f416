package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func operationsFenced(w *world) {
	jobs := w.pending(3, w.ahead())
	o, old := w.startOperation(jobs)
	w.ok("OperationRelease", w.s.OperationRelease(w.ctx, old.Holder))
	lease := w.claimOperation(o)
	_, err := w.applyStep(o, old, w.next(o, 1), w.touch)
	if !errors.Is(err, store.ErrNotHeld) {
		w.Errorf("a step of the former holder: %v", err)
	}
	if _, err := w.s.OperationMatch(w.ctx, o, old, found(jobs), 0); !errors.Is(err, store.ErrNotHeld) {
		w.Errorf("jobs found by the former holder: %v", err)
	}
	w.wantStored(o)
	_, err = w.applyStep(o, lease, w.next(o, 2), w.touch)
	w.ok("a step of the holder", err)
	// A step that was carried out already changes no job again.
	after, err := w.applyStep(o, lease, w.next(o, 3), w.touch)
	w.ok("a step with an old position", err)
	w.same("changes of the jobs", fmt.Sprint(w.touched(jobs), after.Done), "[1 1 1] 3")
}

func operationsLeases(w *world) {
	o, lease := w.startOperation(w.pending(2, w.ahead()))
	others := w.lease()
	if claimed, err := w.s.OperationClaim(w.ctx, others, 10); err != nil || len(claimed) != 0 {
		w.Errorf("claimed %v during another's lease, %v", claimed, err)
	}
	if claimed, err := w.s.OperationClaim(w.ctx, lease, 10); err != nil || len(claimed) != 1 {
		w.Errorf("the holder claimed %v again, %v", claimed, err)
	}
	lease.Until = w.past()
	o, err := w.applyStep(o, lease, w.next(o, 1), w.touch)
	w.ok("a step with a lease that has ended", err)
	if claimed, err := w.s.OperationClaim(w.ctx, others, 10); err != nil || len(claimed) != 1 || claimed[0].Position != o.Position {
		w.Errorf("claimed %v after the lease, %v", claimed, err)
	}
}

func operationsTurns(w *world) {
	third := w.account("third@example.com")
	var ids []uuid.UUID
	for _, owner := range []job.Owner{w.owner, w.other, third} {
		o := w.operation(owner)
		o.ScanAfter = 1
		w.ok("OperationInsert", w.s.OperationInsert(w.ctx, o, nil))
		ids = append(ids, o.ID)
	}
	served := map[uuid.UUID]int{}
	for range 6 {
		lease := w.lease()
		claimed, err := w.s.OperationClaim(w.ctx, lease, 1)
		w.ok("OperationClaim", err)
		if len(claimed) != 1 {
			w.Fatalf("claimed %d", len(claimed))
		}
		served[claimed[0].ID]++
		w.ok("OperationRelease", w.s.OperationRelease(w.ctx, lease.Holder))
	}
	for _, id := range ids {
		if served[id] != 2 {
			w.Errorf("an operation had %d of 6 turns", served[id])
		}
	}
}

func operationsOfStoppedAccounts(w *world) {
	o := w.operation(w.owner)
	o.ScanAfter = 1
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, o, nil))
	w.ok("AccountSuspend", w.s.AccountSuspend(w.ctx, w.owner.Number, w.now, "spam"))
	if claimed, err := w.s.OperationClaim(w.ctx, w.lease(), 10); err != nil || len(claimed) != 0 {
		w.Errorf("claimed %v of a suspended account, %v", claimed, err)
	}
	w.ok("AccountSuspend", w.s.AccountSuspend(w.ctx, w.owner.Number, time.Time{}, ""))
	lease := w.claimOperation(o)
	w.ok("OperationRelease", w.s.OperationRelease(w.ctx, lease.Holder))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	if claimed, err := w.s.OperationClaim(w.ctx, w.lease(), 10); err != nil || len(claimed) != 0 {
		w.Errorf("claimed %v of a deleted account, %v", claimed, err)
	}
}

func operationsStopped(w *world) {
	jobs := w.pending(4, w.ahead())
	o, lease := w.startOperation(jobs)
	o, err := w.applyStep(o, lease, w.next(o, 2), w.touch)
	w.ok("OperationApply", err)
	rest := w.next(o, 5)
	got, stopped, err := w.s.OperationStop(w.ctx, w.owner, o.ID)
	if err != nil || !stopped || got.State != job.OperationStopped || got.FinishedAt.IsZero() || got.Done != 2 || got.Matched != 4 {
		w.Errorf("stopped %v: %s, %v", stopped, showOperation(got), err)
	}
	w.wantStored(got)
	if _, err := w.applyStep(o, lease, rest, w.touch); !errors.Is(err, store.ErrNotHeld) {
		w.Errorf("a step of a stopped operation: %v", err)
	}
	again, stopped, err := w.s.OperationStop(w.ctx, w.owner, o.ID)
	if err != nil || stopped {
		w.Errorf("stopped again: %v, %v", stopped, err)
	}
	w.same("stopped twice", showOperation(again), showOperation(got))
	_, _, err = w.s.OperationStop(w.ctx, w.other, o.ID)
	w.wantCode("stopped by another", err, fault.NotFound)
	w.same("changes of the jobs", fmt.Sprint(w.touched(jobs)), "[1 1 0 0]")
}

// operationsCleared: what a stopped operation has found is deleted, a bounded part
// at a time.
func operationsCleared(w *world) {
	o, lease := w.startOperation(w.pending(1, w.ahead()))
	for i := range store.StopChunks + 5 {
		_, err := w.s.OperationMatch(w.ctx, o, lease, []int64{int64(1_000_000 + i)}, 7)
		w.ok("OperationMatch", err)
	}
	got, _, err := w.s.OperationStop(w.ctx, w.owner, o.ID)
	w.ok("OperationStop", err)
	w.wantStored(got)
	if len(w.next(o, 10)) == 0 {
		w.Error("stopping has deleted everything at once")
	}
	for i := 0; ; i++ {
		n, err := w.s.OperationPrune(w.ctx, time.Time{}, 4)
		w.ok("OperationPrune", err)
		if n > 5 || i > 10 {
			w.Fatalf("%d rows deleted in round %d", n, i)
		}
		if n == 0 {
			break
		}
	}
	if left := w.next(o, 10); len(left) != 0 {
		w.Errorf("%d jobs are left", len(left))
	}
	w.wantStored(got)
}
