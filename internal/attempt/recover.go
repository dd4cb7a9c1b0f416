package attempt

import (
	"context"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// Abandonments is what a Recovery needs of the store.
type Abandonments interface {
	Queue
	QueueAbandoned(ctx context.Context, limit int) ([]store.Abandoned, error)
	SuspectNote(ctx context.Context, node int64, refs []store.QueueKey, single bool) error
	SuspectClear(ctx context.Context, refs []store.QueueKey) error
}

// Suspects is what a Recovery needs of the dispatcher.
type Suspects interface {
	// Self returns the number of this process's node.
	Self() int64
	// Suspected reports whether an item was being prepared at a crash.
	Suspected(item store.ItemID) bool
}

// Recovery ends the attempts that were under way when a node stopped, so that they
// are retried.
type Recovery struct {
	Store    Abandonments
	Suspects Suspects
	Runner   *Runner
}

// recoverLimit is how many claims of expired nodes one read of the queue returns.
const recoverLimit = 64

// Run ends all attempts that are abandoned now. A claim that can't be ended stays
// and does not block others.
func (r *Recovery) Run(ctx context.Context) error {
	stuck := 0
	for {
		found, err := r.Store.QueueAbandoned(store.Routine(ctx), recoverLimit+stuck)
		if err != nil || len(found) <= stuck {
			return err
		}
		r.Runner.Log.Info("reclaiming interrupted attempts", "attempts", len(found))
		more := len(found) == recoverLimit+stuck
		if stuck, err = r.interrupt(ctx, found); err != nil {
			return fmt.Errorf("reclaiming interrupted attempts: %w", err)
		}
		if !more {
			return nil
		}
	}
}

// interrupt ends attempts of a node that went away, and reports how many could
// not be. What ends is prepared for that once more, so it is noted; what was
// being prepared at a crash before is ended alone.
func (r *Recovery) interrupt(ctx context.Context, claims []store.Abandoned) (stuck int, err error) {
	var parts [][]store.Abandoned
	var together []store.Abandoned
	for _, c := range claims {
		if r.Suspects.Suspected(c.ItemID) {
			parts = append(parts, []store.Abandoned{c})
		} else {
			together = append(together, c)
		}
	}
	if len(together) > 0 {
		parts = append(parts, together)
	}
	culprit := func(c store.Abandoned, cause error) error {
		ended, err := r.giveUp(ctx, c, cause)
		if !ended && err == nil {
			stuck++
		}
		return err
	}
	for _, part := range parts {
		refs := make([]store.QueueKey, len(part))
		for i := range part {
			refs[i] = part[i].QueueKey
		}
		single := len(part) == 1 && r.Suspects.Suspected(part[0].ItemID)
		if err := r.Store.SuspectNote(ctx, r.Suspects.Self(), refs, single); err != nil {
			return stuck, err
		}
		if err := Interrupt(ctx, r.Store, r.Runner.Random, part, culprit); err != nil {
			return stuck, err
		}
		if err := r.Store.SuspectClear(ctx, refs); err != nil {
			return stuck, err
		}
	}
	return stuck, nil
}

// giveUp sets a job aside whose interrupted attempt can't be ended; when its
// record can't even be read, its run leaves the queue. It reports whether the
// claim is gone. An error is returned when the store is away.
func (r *Recovery) giveUp(ctx context.Context, c store.Abandoned, cause error) (bool, error) {
	r.Runner.Log.Error("an interrupted attempt could not be ended; it is set aside", "number", c.Number, "error", cause)
	r.Runner.Metrics.SetAside()
	err := r.Runner.SetAside(ctx, c.QueueKey, "the end of an interrupted attempt could not be stored; the job was set aside", false)
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		r.Runner.Log.Error("setting an interrupted attempt aside failed; it leaves the queue, and its record stays as it is", "number",
			c.Number, "error", err)
		err = Drop(ctx, r.Store, c)
	}
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		r.Runner.Log.Error("taking an interrupted attempt out of the queue failed; it stays as it is", "number", c.Number, "error", err)
		return false, nil
	}
	return err == nil, err
}
