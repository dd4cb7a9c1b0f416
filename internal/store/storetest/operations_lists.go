package storetest

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// ended stores an operation that has ended, and returns it.
func (w *world) endedOperation() *job.Operation {
	w.Helper()
	o := w.operation(w.owner)
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, o, nil))
	return o
}

// operationIDs returns the ids of a page of operations.
func (w *world) operationIDs(owner job.Owner, q job.ListQuery) (ids []uuid.UUID) {
	w.Helper()
	page, err := w.s.OperationList(w.ctx, owner, q)
	w.ok("OperationList", err)
	for _, o := range page {
		ids = append(ids, o.ID)
	}
	return ids
}

func operationsListed(w *world) {
	var ids []uuid.UUID
	for range 5 {
		ids = append(ids, w.endedOperation().ID)
	}
	slices.Reverse(ids)
	w.same("all", fmt.Sprint(w.operationIDs(w.owner, top)), fmt.Sprint(ids))
	w.same("a page", fmt.Sprint(w.operationIDs(w.owner, job.ListQuery{Limit: 2, AfterID: ids[1]})), fmt.Sprint(ids[2:4]))
	w.same("the byte budget", fmt.Sprint(w.operationIDs(w.owner, job.ListQuery{Limit: 5, Bytes: 30})), fmt.Sprint(ids[:2]))
	if none := w.operationIDs(w.other, top); len(none) != 0 {
		w.Errorf("another sees %d operations", len(none))
	}
}

func operationsHistory(w *world) {
	foreign := w.operation(w.other)
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, foreign, nil))
	var ids []uuid.UUID
	for range store.MaxOperations + 3 {
		ids = append(ids, w.endedOperation().ID)
	}
	slices.Reverse(ids)
	w.same("the history", fmt.Sprint(w.operationIDs(w.owner, job.ListQuery{Limit: 1000})), fmt.Sprint(ids[:store.MaxOperations]))
	w.wantStored(foreign)
}

func operationsPruned(w *world) {
	ended := w.endedOperation()
	running, _ := w.startOperation(w.pending(1, w.ahead()))
	if n, err := w.s.OperationPrune(w.ctx, w.past(), 10); err != nil || n != 0 {
		w.Errorf("%d rows deleted, %v", n, err)
	}
	if n, err := w.s.OperationPrune(w.ctx, w.ahead(), 10); err != nil || n != 1 {
		w.Errorf("%d rows deleted, %v", n, err)
	}
	_, err := w.s.OperationGet(w.ctx, w.owner, ended.ID)
	w.wantCode("the old operation", err, fault.NotFound)
	w.wantStored(running)
}

func operationsPurged(w *world) {
	o, _ := w.startOperation(w.pending(3, w.ahead()))
	foreign := w.operation(w.other)
	foreign.ScanAfter = 1
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, foreign, nil))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.purge(w.past(), 5)
	_, err := w.s.OperationGet(w.ctx, w.owner, o.ID)
	w.wantCode("the operation", err, fault.NotFound)
	if left := w.next(o, 10); len(left) != 0 {
		w.Errorf("%d jobs of it are left", len(left))
	}
	w.wantStored(foreign)
}
