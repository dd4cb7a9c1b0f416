package service

import (
	"errors"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
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
