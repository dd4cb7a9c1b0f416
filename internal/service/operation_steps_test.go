package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// operationStore keeps one operation, and refuses the changes of one job.
type operationStore struct {
	store.Store
	o       job.Operation
	left    []int64
	size    int // of each job
	refuses int64
	held    bool
	changed []int64
	engine  *countingEngine
}

func (s *operationStore) Now() time.Time { return time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC) }

func (s *operationStore) OperationNext(_ context.Context, _ *job.Operation, limit int) ([]int64, error) {
	return slices.Clone(s.left[:min(limit, len(s.left))]), nil
}

func (s *operationStore) JobVersionsOf(_ context.Context, _ job.Owner, ids []job.Ref) (versions []store.JobVersion, err error) {
	for _, id := range ids {
		versions = append(versions, store.JobVersion{Number: id.Number, Size: s.size})
	}
	return versions, nil
}

func (s *operationStore) JobGetMany(_ context.Context, _ job.Owner, ids []job.Ref) (jobs []*job.Job, err error) {
	for _, id := range ids {
		jobs = append(jobs, s.job(id.Number))
	}
	return jobs, nil
}

// job returns a job that is claimed and not started; every third one is final.
func (s *operationStore) job(number int64) *job.Job {
	j := &job.Job{Number: number, State: job.Available, Revision: 1, ScheduledAt: s.Now().Add(time.Hour), DueAt: s.Now().Add(time.Hour),
		Args: rawjson.Value(`{"url":"https://example.com/","method":"get","headers":{}}`)}
	if number%3 == 0 {
		j.State = job.Completed
	}
	return j
}

func (s *operationStore) OperationApply(_ context.Context, step store.OperationStep) (*job.Operation, error) {
	var o job.Operation
	var changed []int64
	for range 2 { // as if the first try were repeated
		step.Begin()
		o, changed = s.o, nil
		o.Skipped = map[job.Skip]int64{}
		for reason, n := range s.o.Skipped {
			o.Skipped[reason] = n
		}
		for i, number := range step.Numbers {
			m := &store.Snapshot{Now: s.Now(), Job: s.job(number)}
			if !m.Job.State.Final() {
				m.Claim = &store.ClaimInfo{Node: 1, Attempt: 1, StartAt: s.Now().Add(2 * lifecycle.Soon)}
			}
			changes, reason := step.Decide(i, m)
			switch {
			case reason != "":
				o.Skip(reason)
			case number == s.refuses:
				return nil, store.Unstorable(errors.New("refused"))
			case changes != nil:
				o.Done++
				changed = append(changed, number)
			}
			o.Position = number
		}
	}
	if s.held {
		return nil, store.ErrNotHeld
	}
	s.o, s.left, s.changed = o, slices.DeleteFunc(s.left, func(n int64) bool { return n <= o.Position }), append(s.changed, changed...)
	return &o, nil
}

// countingEngine counts the claims that are revoked.
type countingEngine struct {
	revoked map[int64]int
	aborted []int64
	freed   []string // account and keys
}

func (e *countingEngine) Revoke(number int64, _ time.Time) dispatch.ClaimState {
	e.revoked[number]++
	return dispatch.NotStarted
}
func (e *countingEngine) Restore(number int64) { e.revoked[number]-- }
func (e *countingEngine) Abort(number int64)   { e.aborted = append(e.aborted, number) }
func (e *countingEngine) LimitsFreed(account int64, keys []string) {
	e.freed = append(e.freed, fmt.Sprint(account, keys))
}

func newOperationStore(n int64) (*operationStore, *Service) {
	s := &operationStore{o: job.Operation{State: job.OperationRunning, Matched: n}, engine: &countingEngine{revoked: map[int64]int{}}}
	for number := int64(1); number <= n; number++ {
		s.left = append(s.left, number)
	}
	return s, New(Config{Store: s, Engine: s.engine, Metrics: metrics.New("test")})
}

// begin returns the work of an operation with an action and a set.
func (s *operationStore) begin(t *testing.T, m *Service, action job.Action, set string) *OperationWork {
	t.Helper()
	s.o.Action, s.o.Filter, s.o.InsertedAt = action, rawjson.Value(`{}`), s.Now()
	if set != "" {
		s.o.Set = rawjson.Value(set)
	}
	o := s.o
	w, err := m.ResumeOperation(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestStepOperation_SkipsOnlyTheJobThatTheStoreRefuses(t *testing.T) {
	for _, action := range []job.Action{job.CancelJobs, job.RescheduleJobs} {
		s, m := newOperationStore(20)
		defer m.Close()
		s.refuses = 11
		set := ""
		if action == job.RescheduleJobs {
			set = `{"schedule_in":[2,"hours"]}`
		}
		w := s.begin(t, m, action, set)
		refusals := 0
		for steps := 0; len(s.left) > 0; steps++ {
			_, refused, err := m.StepOperation(t.Context(), w, store.OperationLease{}, 8)
			if err != nil || steps > 30 {
				t.Fatalf("step %d: %v", steps, err)
			}
			if refused != nil {
				refusals++
			}
			w.Operation = &s.o
		}
		want := []int64{1, 2, 4, 5, 7, 8, 10, 13, 14, 16, 17, 19, 20}
		if !slices.Equal(s.changed, want) || refusals != 1 || s.o.Skipped[job.SkipFailed] != 1 || s.o.Skipped[job.SkipFinal] != 6 {
			t.Errorf("%s: changed %v, %d refusals, skipped %v", action, s.changed, refusals, s.o.Skipped)
		}
		for number, n := range s.engine.revoked {
			if changed := slices.Contains(want, number); changed && n != 1 || !changed && n != 0 {
				t.Errorf("%s: the claim of job %d is revoked %d times", action, number, n)
			}
		}
		if !slices.Equal(s.engine.aborted, want) {
			t.Errorf("%s: aborted %v, want %v", action, s.engine.aborted, want)
		}
	}
}

func TestStepOperation_RestoresClaimsIfTheOperationWasTakenOver(t *testing.T) {
	s, m := newOperationStore(4)
	defer m.Close()
	s.held = true
	_, _, err := m.StepOperation(t.Context(), s.begin(t, m, job.CancelJobs, ""), store.OperationLease{}, 8)
	if !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the step: %v", err)
	}
	if got := fmt.Sprint(s.engine.revoked, s.engine.aborted); got != "map[1:0 2:0 4:0] []" {
		t.Errorf("claims revoked and aborted: %s", got)
	}
}

func TestStepOperation_IsBoundedInBytes(t *testing.T) {
	for size, want := range map[int]int{100: 8, 300 << 10: 3, 2 << 20: 1} {
		s, m := newOperationStore(8)
		defer m.Close()
		s.size = size
		n, _, err := m.StepOperation(t.Context(), s.begin(t, m, job.CancelJobs, ""), store.OperationLease{}, 8)
		if err != nil || n != want {
			t.Errorf("jobs of %d bytes: a step of %d, %v; want %d", size, n, err, want)
		}
	}
}
