package service

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
)

// rereadBatch returns a batch of jobs that name what is not there, and counts its
// readings and how many items they read.
func rereadBatch(fault error) (b *Batch, readings, items *int) {
	readings, items = new(int), new(int)
	b = &Batch{jobs: make([]store.NewJob, MaxBatch), results: make([]BatchResult, MaxBatch)}
	for i := range b.jobs {
		b.places, b.jobs[i].Names = append(b.places, i), []store.Name{{Kind: store.NamesLimit, Name: "l"}}
	}
	b.again = func() func(int) error {
		*readings++
		return func(int) error {
			*items++
			return fault
		}
	}
	return b, readings, items
}

func TestBatch_IsReadAgainOnce(t *testing.T) {
	b, readings, items := rereadBatch(fault.Refuse([]fault.Problem{{Pointer: "#/limits", Detail: "is not known"}}))
	err := b.allGone()
	if problems := fault.ProblemsOf(err); len(problems) != fault.MaxProblems || problems[1].Pointer != "#/1/limits" {
		t.Errorf("%d problems of an atomic batch", len(problems))
	}
	if *readings != 1 || *items != fault.MaxProblems {
		t.Errorf("%d items of an atomic batch were read in %d readings", *items, *readings)
	}
	b.gone([]int{3, 7})
	if b.results[3].Err == nil || b.results[7].Err == nil || b.results[4].Err != nil || *readings != 2 {
		t.Errorf("after %d readings the faults are %v, %v and %v", *readings, b.results[3].Err, b.results[7].Err, b.results[4].Err)
	}
}

func TestBatch_ReportsThatItCanNotBeReadAgain(t *testing.T) {
	down := fault.Unreachable(errors.New("down"))
	b, _, items := rereadBatch(down)
	if err := b.allGone(); !errors.Is(err, down) || *items != 1 {
		t.Errorf("the fault after %d items is %v", *items, err)
	}
}

// goneStore has not what the jobs with certain numbers name, and changes an existing job for
// others.
type goneStore struct {
	Store
	gone, changes map[int64]bool
	oneKey        bool // all jobs that are there have one idempotency key
	calls         int
}

func (s *goneStore) JobInsertBatch(_ context.Context, jobs []store.NewJob, accept func([]store.Inserted) error) ([]store.Inserted, error) {
	s.calls++
	results := make([]store.Inserted, len(jobs))
	var holder *job.Job
	for i, n := range jobs {
		if results[i].Gone = s.gone[n.Job.Number]; !results[i].Gone {
			results[i] = store.Inserted{Job: n.Job, Conflict: s.changes[n.Job.Number], Changed: s.changes[n.Job.Number]}
			if s.oneKey && holder != nil {
				results[i] = store.Inserted{Job: holder, Conflict: true}
			}
			holder = results[i].Job
		}
	}
	return results, accept(results)
}

// TestBatch_KeepsItsOrderWhereANameIsGone: what an item names was deleted since it was
// read. No item after it is stored or changes a job, unless the caller does not care.
func TestBatch_KeepsItsOrderWhereANameIsGone(t *testing.T) {
	for ordered, want := range map[bool]string{false: "0 503 2 503 4", true: "0 503 503 503 503"} {
		stored := &goneStore{gone: map[int64]bool{1: true, 3: true}, changes: map[int64]bool{0: true, 4: true}}
		s := New(Config{Store: stored, Metrics: metrics.New("test")})
		b := &Batch{results: make([]BatchResult, 5)}
		for i := range b.results {
			n := store.NewJob{Job: &job.Job{Number: int64(i)}}
			b.requests, b.places, b.jobs = append(b.requests, request{NewJob: n}), append(b.places, i), append(b.jobs, n)
		}
		if ordered {
			b.KeepOrder()
		}
		results, err := s.CreateBatch(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range results {
			switch {
			case fault.CodeOf(r.Err) == fault.Unavailable && r.Err != nil:
				got += " 503"
			case r.Err == nil:
				got += fmt.Sprintf(" %d", r.Job.Number)
			default:
				t.Error(r.Err)
			}
		}
		if got != " "+want {
			t.Errorf("ordered %v: the results are%s, want %s", ordered, got, want)
		}
	}
}

// A batch whose items have one idempotency key is stored in two steps, not in one for each
// item.
func TestBatch_KeepsItsOrderAtOnceWhereItemsHaveOneKey(t *testing.T) {
	stored := &goneStore{gone: map[int64]bool{0: true}, oneKey: true}
	s := New(Config{Store: stored, Metrics: metrics.New("test")})
	b := &Batch{results: make([]BatchResult, 9)}
	for i := range b.results {
		n := store.NewJob{Job: &job.Job{Number: int64(i), ID: job.NewID(time.Now())}}
		b.requests, b.places, b.jobs = append(b.requests, request{NewJob: n}), append(b.places, i), append(b.jobs, n)
	}
	b.KeepOrder()
	results, err := s.CreateBatch(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if fault.CodeOf(r.Err) != fault.Unavailable {
			t.Errorf("item %d: %v, want a refusal for now", i, r.Err)
		}
	}
	if stored.calls > 2 {
		t.Errorf("the store was called %d times", stored.calls)
	}
}
