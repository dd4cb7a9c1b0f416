package attempt

import (
	"context"
	"fmt"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/record"
	"github.com/punctual-dev/punctual/internal/store"
)

// Interrupt ends attempts that a node had begun and did not end, so that they
// are made again at once. An attempt whose end can't be made or stored is set
// aside, of which note hears; the others go on.
func Interrupt(ctx context.Context, queue store.Queue, runs []*store.Run, note func(*store.Finish, error)) error {
	r := &interrupter{queue, note}
	var ends []interruption
	for _, run := range runs {
		if run != nil && run.Claim != nil {
			ends = append(ends, r.interrupted(run))
		}
	}
	for len(ends) > 0 {
		n, size := 1, ends[0].end.Size
		for n < len(ends) && size+ends[n].end.Size <= finishBytes {
			size += ends[n].end.Size
			n++
		}
		if err := r.storeAll(ctx, ends[:n]); err != nil {
			return err
		}
		ends = ends[n:]
	}
	return nil
}

// interrupter ends interrupted attempts.
type interrupter struct {
	queue store.Queue
	note  func(*store.Finish, error)
}

// interruption is the end of an interrupted attempt, and what to store instead
// when the store refuses it.
type interruption struct {
	end   store.Finish
	aside []store.Finish
}

func (r *interrupter) interrupted(run *store.Run) (i interruption) {
	now := r.queue.Now()
	claim := run.Claim
	outcome := job.Outcome{Duration: max(0, now.Sub(claim.BeginAt)), Failure: &job.Failure{
		Kind: job.KindInterrupted, Message: "the service stopped before the answer was recorded; the attempt is made again",
	}}
	ended := later(now, claim.BeginAt)
	if run.Kind == store.KindDelivery {
		i.aside = record.UnstoredDelivery(run, claim.Attempt, claim.Node, ended)
	} else {
		i.aside = record.Unstored(run, claim.Attempt, claim.Node, claim.BeginAt, ended)
	}
	err := safely(func() {
		if run.Kind == store.KindDelivery {
			i.end = record.EndDelivery(run, claim.Attempt, claim.Node, outcome, now)
		} else {
			i.end = record.Resume(run).Finish(claim.Node, outcome, claim.BeginAt, ended)
		}
	})
	if err != nil {
		r.note(&i.aside[0], err)
		i.end, i.aside = i.aside[0], i.aside[1:]
	}
	return i
}

// storeAll stores ends; those that make the store refuse are found by halves.
func (r *interrupter) storeAll(ctx context.Context, ends []interruption) error {
	finishes := make([]store.Finish, len(ends))
	for i := range ends {
		finishes[i] = ends[i].end
	}
	var err error
	if broken := safely(func() { _, err = r.queue.RunFinish(ctx, finishes) }); broken != nil {
		err = broken
	}
	switch {
	case !refused(err):
		return err
	case len(ends) > 1:
		half := len(ends) / 2
		if err := r.storeAll(ctx, ends[:half]); err != nil {
			return err
		}
		return r.storeAll(ctx, ends[half:])
	case len(ends[0].aside) == 0:
		return fmt.Errorf("taking run %d out of the queue: %w", ends[0].end.Number, err)
	}
	next := ends[0].aside
	r.note(&next[0], err)
	return r.storeAll(ctx, []interruption{{next[0], next[1:]}})
}
