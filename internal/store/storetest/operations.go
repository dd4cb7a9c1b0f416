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
	"EditsDefinitions":         operationsEdits,
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
func (w *world) applyStep(o *job.Operation, lease store.OperationLease, numbers []int64,
	decide func(int, *store.Snapshot) (*store.Changes, job.Skip)) (*job.Operation, error) {
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
	return fmt.Sprintf("%s %s %s %s %s, %d of %d, %s, scan %d, at %d, hops %d, %s", o.ID, o.Action, o.Filter, o.Set, o.State, o.Done,
		o.Matched,
		job.AppendSkipped(nil, o.Skipped), o.ScanAfter, o.Position, o.Hops, ended)
}

// wantStored verifies that an operation is stored as it was returned.
func (w *world) wantStored(o *job.Operation) {
	w.Helper()
	got, err := w.s.OperationGet(w.ctx, o.Owner, o.ID)
	w.ok("OperationGet", err)
	w.same("the operation", showOperation(got), showOperation(o))
	if !got.InsertedAt.Equal(o.InsertedAt) || !got.FinishedAt.Equal(o.FinishedAt) || got.Owner != o.Owner {
		w.Errorf("the operation of %v from %s to %s, want %v, %s, %s", got.Owner, got.InsertedAt, got.FinishedAt, o.Owner, o.InsertedAt,
			o.FinishedAt)
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
