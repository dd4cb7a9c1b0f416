package app

import (
	"context"
	"fmt"

	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// recoverLimit is how many claims of expired nodes one read of the queue returns.
const recoverLimit = 64

// recover ends the attempts that were under way when a node stopped, so that
// they are retried. A claim that can't be ended stays and does not block others.
func (n *Node) recover(ctx context.Context) error {
	stuck := 0
	for {
		found, err := n.store.QueueAbandoned(ctx, recoverLimit+stuck)
		if err != nil || len(found) <= stuck {
			return err
		}
		n.config.Log.Info("reclaiming interrupted attempts", "attempts", len(found))
		more := len(found) == recoverLimit+stuck
		if stuck, err = n.interrupt(ctx, found); err != nil {
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
func (n *Node) interrupt(ctx context.Context, claims []store.Abandoned) (stuck int, err error) {
	var parts [][]store.Abandoned
	var together []store.Abandoned
	for _, c := range claims {
		if n.dispatcher.Suspected(c.ItemID) {
			parts = append(parts, []store.Abandoned{c})
		} else {
			together = append(together, c)
		}
	}
	if len(together) > 0 {
		parts = append(parts, together)
	}
	culprit := func(c store.Abandoned, cause error) error {
		ended, err := n.giveUp(ctx, c, cause)
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
		if err := n.store.SuspectNote(ctx, n.dispatcher.Self(), refs); err != nil {
			return stuck, err
		}
		if err := attempt.Interrupt(ctx, n.store, part, culprit); err != nil {
			return stuck, err
		}
		if err := n.store.SuspectClear(ctx, refs); err != nil {
			return stuck, err
		}
	}
	return stuck, nil
}

// giveUp sets a job aside whose interrupted attempt can't be ended; when its
// record can't even be read, its run leaves the queue. It reports whether the
// claim is gone. An error is returned when the store is away.
func (n *Node) giveUp(ctx context.Context, c store.Abandoned, cause error) (bool, error) {
	n.config.Log.Error("an interrupted attempt could not be ended; it is set aside", "number", c.Number, "error", cause)
	n.metrics.SetAside()
	err := n.runner.SetAside(ctx, c.QueueKey, "the end of an interrupted attempt could not be stored; the job was set aside", false)
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		n.config.Log.Error("setting an interrupted attempt aside failed; it leaves the queue, and its record stays as it is", "number", c.Number, "error", err)
		err = attempt.Drop(ctx, n.store, c)
	}
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		n.config.Log.Error("taking an interrupted attempt out of the queue failed; it stays as it is", "number", c.Number, "error", err)
		return false, nil
	}
	return err == nil, err
}
