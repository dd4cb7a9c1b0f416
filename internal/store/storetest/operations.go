package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var operationTests = group{
	"OneRunsAtATime":           operationsOneRuns,
	"NothingFoundIsFinished":   operationsNothingFound,
	"EachJobOnceInOrder":       operationsOnce,
	"ResumedAfterEveryStep":    operationsResumed,
	"RefusedStepChangesNone":   operationsRefused,
	"OnlyTheHolderContinues":   operationsFenced,
	"LeasesEnd":                operationsLeases,
	"ReleasedComeLast":         operationsTurns,
	"AccountsThatMayNot":       operationsOfStoppedAccounts,
	"StoppedChangesNoMore":     operationsStopped,
	"StoppedIsCleared":         operationsCleared,
	"ListedInPages":            operationsListed,
	"HistoryIsBounded":         operationsHistory,
	"OldOnesAreDeleted":        operationsPruned,
	"GoneWithTheirAccount":     operationsPurged,
	"CancelClaimed":            operationsCancelClaimed,
	"RunsOfSchedules":          operationsOfRuns,
	"JobsOfOthersAreSkipped":   operationsOthersJobs,
	"NewJobsWithinTheLimit":    operationsOverLimit,
	"NumbersEqualLists":        operationsNumbers,
	"ErrorKindsOfLastAttempts": operationsErrorKinds,
}

// operation returns a new operation that is not stored yet.
func (w *world) operation(owner job.Owner) *job.Operation {
	now := w.s.Now()
	return &job.Operation{
		ID: job.NewID(now), Owner: owner, Action: job.CancelJobs, Filter: rawjson.Value(`{"tags":["a"]}`), Set: rawjson.Value(`{"x":1}`),
		InsertedAt: now, Hops: 1,
	}
}

// found returns the numbers of jobs in descending order.
func found(jobs []*job.Job) []int64 {
	var numbers []int64
	for _, j := range jobs {
		numbers = append(numbers, j.Number)
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers
}

// startOperation stores an operation on jobs, and claims it.
func (w *world) startOperation(jobs []*job.Job) (*job.Operation, store.OperationLease) {
	w.Helper()
	o := w.operation(w.owner)
	o.Matched = int64(len(jobs))
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, o, found(jobs)))
	return o, w.claimOperation(o)
}

// lease returns a lease of a new holder.
func (w *world) lease() store.OperationLease {
	return store.OperationLease{Holder: uuid.New(), Until: w.s.Now().Add(time.Hour)}
}

// claimOperation claims the only running operation for a new holder.
func (w *world) claimOperation(o *job.Operation) store.OperationLease {
	w.Helper()
	lease := w.lease()
	claimed, err := w.s.OperationClaim(w.ctx, lease, 10)
	w.ok("OperationClaim", err)
	if len(claimed) != 1 || claimed[0].ID != o.ID {
		w.Fatalf("claimed %v, want the operation %s", claimed, o.ID)
	}
	return lease
}

// touch is a decision of a step that notes in the job's log that it was changed.
func (w *world) touch(_ int, m *store.Snapshot) (*store.Changes, job.Skip) {
	return &store.Changes{Logs: []job.Log{w.log(m.Job, job.EventCallbackFailed, w.s.Now())}}, ""
}

// next returns up to limit jobs of the next step.
func (w *world) next(o *job.Operation, limit int) []int64 {
	w.Helper()
	numbers, err := w.s.OperationNext(w.ctx, o, limit)
	w.ok("OperationNext", err)
	return numbers
}

// applyStep carries out a step.
func (w *world) applyStep(o *job.Operation, lease store.OperationLease, numbers []int64, decide func(int, *store.Snapshot) (*store.Changes, job.Skip)) (*job.Operation, error) {
	return w.s.OperationApply(w.ctx, store.OperationStep{Operation: o, Lease: lease, Numbers: numbers, Begin: func() {}, Decide: decide})
}

// touched returns how often each job was changed by touch.
func (w *world) touched(jobs []*job.Job) []int {
	w.Helper()
	counts := make([]int, len(jobs))
	for i, j := range jobs {
		counts[i] = len(w.listLogs(w.owner, job.LogQuery{ListQuery: top, Job: &job.Ref{Number: j.Number}}))
	}
	return counts
}

func showOperation(o *job.Operation) string {
	ended := "running"
	if !o.FinishedAt.IsZero() {
		ended = "ended"
	}
	return fmt.Sprintf("%s %s %s %s %s, %d of %d, %s, scan %d, at %d, hops %d, %s", o.ID, o.Action, o.Filter, o.Set, o.State, o.Done, o.Matched,
		job.AppendSkipped(nil, o.Skipped), o.ScanAfter, o.Position, o.Hops, ended)
}

// wantStored verifies that an operation is stored as it was returned.
func (w *world) wantStored(o *job.Operation) {
	w.Helper()
	got, err := w.s.OperationGet(w.ctx, o.Owner, o.ID)
	w.ok("OperationGet", err)
	w.same("the operation", showOperation(got), showOperation(o))
	if !got.InsertedAt.Equal(o.InsertedAt) || !got.FinishedAt.Equal(o.FinishedAt) || got.Owner != o.Owner {
		w.Errorf("the operation of %v from %s to %s, want %v, %s, %s", got.Owner, got.InsertedAt, got.FinishedAt, o.Owner, o.InsertedAt, o.FinishedAt)
	}
}

func operationsOneRuns(w *world) {
	jobs := w.pending(1, w.ahead())
	first, _ := w.startOperation(jobs)
	w.wantStored(first)
	second := w.operation(w.owner)
	w.wantCode("a second operation", w.s.OperationInsert(w.ctx, second, found(jobs)), fault.Conflict)
	w.wantCode("the same without jobs", w.s.OperationInsert(w.ctx, w.operation(w.owner), nil), fault.Conflict)
	_, err := w.s.OperationGet(w.ctx, w.owner, second.ID)
	w.wantCode("the refused one", err, fault.NotFound)
	_, err = w.s.OperationGet(w.ctx, w.other, first.ID)
	w.wantCode("another's operation", err, fault.NotFound)
	w.ok("one of another account", w.s.OperationInsert(w.ctx, w.operation(w.other), found(jobs)))
	if n, err := w.s.OperationsRunning(w.ctx, 10); err != nil || n != 2 {
		w.Errorf("%d operations are running, %v", n, err)
	}
	_, stopped, err := w.s.OperationStop(w.ctx, w.owner, first.ID)
	if err != nil || !stopped {
		w.Errorf("stopping: %v, %v", stopped, err)
	}
	w.ok("after the first was stopped", w.s.OperationInsert(w.ctx, second, found(jobs)))
}

func operationsNothingFound(w *world) {
	o := w.operation(w.owner)
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, o, nil))
	if o.State != job.OperationFinished || o.FinishedAt.IsZero() {
		w.Errorf("%s, want it finished", showOperation(o))
	}
	w.wantStored(o)
	o = w.operation(w.owner)
	o.ScanAfter = 7
	w.ok("one that still searches", w.s.OperationInsert(w.ctx, o, nil))
	lease := w.claimOperation(o)
	o, err := w.s.OperationMatch(w.ctx, o, lease, nil, 0)
	w.ok("OperationMatch", err)
	if o.State != job.OperationFinished {
		w.Errorf("%s, want it finished", showOperation(o))
	}
	w.wantStored(o)
}

func operationsOnce(w *world) {
	jobs := w.pending(7, w.ahead())
	o := w.operation(w.owner)
	o.ScanAfter, o.Matched = jobs[4].Number, 3
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, o, found(jobs[4:])))
	lease := w.claimOperation(o)
	o, err := w.s.OperationMatch(w.ctx, o, lease, found(jobs[:4]), 0)
	w.ok("OperationMatch", err)
	if o.Matched != 7 || o.ScanAfter != 0 || o.State != job.OperationRunning {
		w.Errorf("%s, want 7 jobs found", showOperation(o))
	}
	var order []int64
	for steps := 0; o.State == job.OperationRunning; steps++ {
		numbers := w.next(o, 3)
		if len(numbers) == 0 || steps > 10 {
			w.Fatalf("no jobs are left: %s", showOperation(o))
		}
		order = append(order, numbers...)
		o, err = w.applyStep(o, lease, numbers, func(i int, m *store.Snapshot) (*store.Changes, job.Skip) {
			if m.Job.Number == jobs[2].Number {
				return nil, job.SkipFinal
			}
			return w.touch(i, m)
		})
		w.ok("OperationApply", err)
		w.wantStored(o)
	}
	ascending := found(jobs)
	slices.Reverse(ascending)
	w.same("the order", fmt.Sprint(order), fmt.Sprint(ascending))
	w.same("changes of the jobs", fmt.Sprint(w.touched(jobs)), "[1 1 0 1 1 1 1]")
	if o.Done != 6 || o.Skipped[job.SkipFinal] != 1 || o.State != job.OperationFinished {
		w.Errorf("%s", showOperation(o))
	}
	_, err = w.applyStep(o, lease, []int64{jobs[0].Number}, w.touch)
	if !errors.Is(err, store.ErrNotHeld) {
		w.Errorf("a step of a finished operation: %v", err)
	}
}

// operationsResumed ends the work at every place: after the search, before and after
// each step, and within one. Another holder continues each time.
func operationsResumed(w *world) {
	r := w.random()
	jobs := w.pending(40, w.ahead())
	numbers := found(jobs)
	o := w.operation(w.owner)
	o.ScanAfter = numbers[0] + 1
	w.ok("OperationInsert", w.s.OperationInsert(w.ctx, o, nil))
	for tries := 0; o.State == job.OperationRunning; tries++ {
		if tries > 1000 {
			w.Fatalf("the operation doesn't end: %s", showOperation(o))
		}
		lease := w.lease()
		claimed, err := w.s.OperationClaim(w.ctx, lease, 10)
		w.ok("OperationClaim", err)
		if len(claimed) != 1 {
			w.Fatalf("%d operations claimed", len(claimed))
		}
		if o = claimed[0]; o.ScanAfter != 0 {
			first, _ := slices.BinarySearchFunc(numbers, o.ScanAfter-1, func(a, b int64) int { return int(b - a) })
			page := numbers[first:min(first+9, len(numbers))]
			after := int64(0)
			if first+9 < len(numbers) {
				after = page[len(page)-1]
			}
			o, err = w.s.OperationMatch(w.ctx, o, lease, page, after)
			w.ok("OperationMatch", err)
		} else {
			size, fails := 1+r.IntN(6), r.IntN(3) == 0
			next := w.next(o, size)
			after, err := w.applyStep(o, lease, next, func(i int, m *store.Snapshot) (*store.Changes, job.Skip) {
				if fails && i == len(next)-1 {
					panic("the process ends")
				}
				return w.touch(i, m)
			})
			if fails != (err != nil) {
				w.Fatalf("a step that fails %v: %v", fails, err)
			}
			if err == nil {
				o = after
			}
		}
		w.ok("OperationRelease", w.s.OperationRelease(w.ctx, lease.Holder))
	}
	w.wantStored(o)
	for i, n := range w.touched(jobs) {
		if n != 1 {
			w.Errorf("job %d was changed %d times", jobs[i].Number, n)
		}
	}
	if o.Done != 40 || o.Matched != 40 || len(o.Skipped) != 0 {
		w.Errorf("%s", showOperation(o))
	}
}

func operationsRefused(w *world) {
	jobs := w.pending(3, w.ahead())
	o, lease := w.startOperation(jobs)
	before := w.everything()
	_, err := w.applyStep(o, lease, w.next(o, 3), func(i int, m *store.Snapshot) (*store.Changes, job.Skip) {
		if i == 2 {
			panic("a defect")
		}
		return w.touch(i, m)
	})
	if !store.IsUnstorable(err) {
		w.Errorf("a decision that panics: %v", err)
	}
	w.same("the records", w.everything(), before)
	w.wantStored(o)
	o, err = w.applyStep(o, lease, w.next(o, 3), w.touch)
	w.ok("the same again", err)
	w.same("changes of the jobs", fmt.Sprintf("%v %s", w.touched(jobs), o.State), "[1 1 1] finished")
}

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

func operationsCancelClaimed(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.ahead()))
	w.hold(jobs[0])
	w.begin(jobs[1])
	o, lease := w.startOperation(jobs)
	o, err := w.applyStep(o, lease, w.next(o, 3), func(i int, m *store.Snapshot) (*store.Changes, job.Skip) {
		if claimed := m.Claim != nil; claimed != (i < 2) || m.Job.Number != jobs[i].Number {
			w.Errorf("job %d has the claim %v", m.Job.Number, m.Claim)
		}
		return cancel(m), ""
	})
	w.ok("OperationApply", err)
	for _, j := range jobs {
		if got := w.get(j); got.State != job.Cancelled || got.CancelledAt.IsZero() {
			w.Errorf("job %d is %s", j.Number, got.State)
		}
	}
	if left := w.peek(); len(left) != 0 || o.Done != 3 {
		w.Errorf("%d queue items are left, %s", len(left), showOperation(o))
	}
}

func operationsOfRuns(w *world) {
	n := w.recurring(w.owner, w.ahead())
	first := w.insertOne(n)
	o, lease := w.startOperation([]*job.Job{first})
	_, err := w.applyStep(o, lease, w.next(o, 1), func(_ int, m *store.Snapshot) (*store.Changes, job.Skip) {
		w.same("the schedule in the moment", showSchedule(m.Schedule), showSchedule(n.Schedule))
		changes := cancel(m)
		changes.Next = w.nextOf(m.Schedule, w.ahead())
		return changes, ""
	})
	w.ok("OperationApply", err)
	runs := w.listJobs(w.owner, job.Query{ListQuery: top, Schedule: n.Schedule.ID})
	if len(runs) != 2 || runs[0].State != job.Available || runs[1].State != job.Cancelled {
		w.Errorf("the schedule has the runs %v", runs)
	}
}

func operationsOthersJobs(w *world) {
	foreign := w.insertOne(w.oneOff(w.other, w.ahead()))
	gone := &job.Job{Number: foreign.Number + 1000}
	o, lease := w.startOperation([]*job.Job{foreign, gone})
	o, err := w.applyStep(o, lease, w.next(o, 2), func(_ int, m *store.Snapshot) (*store.Changes, job.Skip) {
		w.Errorf("a decision was asked about job %d", m.Job.Number)
		return nil, ""
	})
	w.ok("OperationApply", err)
	if o.Skipped[job.SkipRemoved] != 2 || o.State != job.OperationFinished {
		w.Errorf("%s, want 2 removed", showOperation(o))
	}
	w.same("another's job", showJob(w.get(foreign)), showJob(foreign))
}

func operationsOverLimit(w *world) {
	jobs := w.pending(4, w.ahead())
	o, lease := w.startOperation(jobs)
	o, err := w.applyStep(o, lease, w.next(o, 4), func(int, *store.Snapshot) (*store.Changes, job.Skip) {
		n := w.capped(w.owner, 6)
		return &store.Changes{Next: &n}, ""
	})
	w.ok("OperationApply", err)
	if o.Done != 2 || o.Skipped[job.SkipOverLimit] != 2 {
		w.Errorf("%s, want 2 new jobs and 2 over the limit", showOperation(o))
	}
	if all := w.listJobs(w.owner, job.Query{ListQuery: top}); len(all) != 6 {
		w.Errorf("%d jobs are stored, want 6", len(all))
	}
}

func operationsNumbers(w *world) {
	w.insert(w.labelled("a"), w.labelled("a", "b"), w.labelled("b"), w.oneOff(w.owner, w.ahead()), w.oneOff(w.other, w.ahead()))
	for _, q := range []job.Query{
		{}, {Tags: []string{"a"}}, {Tags: []string{"a", "b"}}, {States: []job.State{job.Available}}, {States: []job.State{job.Discarded}},
		{Host: "example.com"}, {Until: w.past()},
	} {
		var want, got []int64
		q.Limit = 100
		for _, j := range w.listJobs(w.owner, q) {
			want = append(want, j.Number)
		}
		q.Limit = 2
		for {
			numbers, next, err := w.s.JobNumbers(w.ctx, w.owner, q, 100)
			w.ok("JobNumbers", err)
			got = append(got, numbers...)
			if q.After = next; next == 0 || len(got) > 10 {
				break
			}
		}
		w.same("the numbers", fmt.Sprint(got), fmt.Sprint(want))
	}
	_, _, err := w.s.JobNumbers(w.ctx, w.owner, job.Query{ListQuery: job.ListQuery{Limit: 1, Offset: 1}}, 100)
	if !errors.Is(err, job.ErrUnsupported) {
		w.Errorf("with an offset: %v", err)
	}
}

func operationsErrorKinds(w *world) {
	jobs := w.pending(5, w.past())
	event := func(j *job.Job, name, text string, minutes int) {
		l := w.log(j, name, w.past().Add(time.Duration(minutes)*time.Minute))
		l.Payload = rawjson.Value(text)
		w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{l}} })
	}
	failure := func(kind string) string { return `{"kind":"` + kind + `","message":"it failed","duration_ms":1}` }
	event(jobs[0], job.EventError, failure("dns"), 1)
	event(jobs[0], job.EventError, failure("timeout"), 2)
	event(jobs[0], job.EventRequest, payload, 3)
	event(jobs[1], job.EventError, failure("tls"), 1)
	event(jobs[1], job.EventResponse, `{"status":500}`, 2)
	event(jobs[1], job.EventWebhookFailed, failure("connect"), 3)
	event(jobs[2], job.EventError, failure("tls"), 1)
	w.settle(jobs[2], w.completes)
	event(jobs[4], job.EventRequest, payload, 1)
	kinds, err := w.s.JobErrorKinds(w.ctx, w.owner, found(jobs))
	w.ok("JobErrorKinds", err)
	w.same("the kinds", fmt.Sprint(kinds), fmt.Sprint(map[int64]string{jobs[0].Number: "timeout", jobs[1].Number: "status"}))
	if kinds, err := w.s.JobErrorKinds(w.ctx, w.other, found(jobs)); err != nil || len(kinds) != 0 {
		w.Errorf("another's jobs have the kinds %v, %v", kinds, err)
	}
}
