package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// carefulFor is how long after a start that follows a crash it is noted which
	// runs are being prepared, carefulLonger when some were at the crash.
	carefulFor    = 10 * time.Second
	carefulLonger = 10 * time.Minute
	// suspectsEvery is how often the notes of nodes that went away are read.
	suspectsEvery = 10 * time.Second
	// suspectsLimit is how many suspects are known at once.
	suspectsLimit = 1000
	// crashesLimit is at how many crashes a run must have been prepared to be set
	// aside. From the second one on it was prepared alone.
	crashesLimit = 3
	// clearTries is how often clearing notes is tried.
	clearTries = 5
)

// Suspect reads which runs were being prepared when a node went away. These are
// prepared alone from then on, and those that were at three crashes are set
// aside. It is called before Run.
func (d *Dispatcher) Suspect(ctx context.Context) error {
	_, err := d.readSuspects(ctx)
	return err
}

func (d *Dispatcher) readSuspects(ctx context.Context) ([]store.Suspect, error) {
	suspects, unclean, err := d.Queue.SuspectList(ctx, d.node(), suspectsLimit)
	if err != nil {
		return nil, err
	}
	now := d.Queue.Now()
	d.mu.Lock()
	before := d.suspects
	d.mu.Unlock()
	known := map[store.ItemID]int{}
	var ended []store.QueueKey
	for _, s := range suspects {
		if s.Crashes >= crashesLimit {
			if err := d.setAside(ctx, s.QueueKey, "the service ended three times while it prepared the request, so the job was set aside and its schedule, if it has one, disabled; make the request smaller or simpler and create it again", true); err != nil {
				return nil, fmt.Errorf("setting aside what was being prepared at %d crashes: %w", s.Crashes, err)
			}
			ended = append(ended, s.QueueKey)
			continue
		}
		if before[s.ItemID] != s.Crashes {
			d.Log.Warn("a node went away while it prepared this run; it is prepared alone from now on", kindOf(s.QueueKey), s.Number, "crashes", s.Crashes)
		}
		known[s.ItemID] = s.Crashes
	}
	d.mu.Lock()
	d.suspects = known
	if unclean {
		d.careful = later(d.careful, now.Add(carefulFor))
	}
	if len(known) > 0 {
		d.careful = later(d.careful, now.Add(carefulLonger))
	}
	d.mu.Unlock()
	if len(ended) == 0 {
		return suspects, nil
	}
	return suspects, d.Queue.SuspectClear(ctx, ended)
}

// Suspected reports whether a run was being prepared when a node went away.
func (d *Dispatcher) Suspected(id store.ItemID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.suspects[id] > 0
}

// tidySuspects forgets suspects that are gone: neither known here nor in the
// queue.
func (d *Dispatcher) tidySuspects(ctx context.Context, suspects []store.Suspect) error {
	var gone []store.QueueKey
	for _, s := range suspects {
		d.mu.Lock()
		_, known := d.known[s.ItemID]
		d.mu.Unlock()
		if known {
			continue
		}
		refs, err := d.Queue.QueuePeek(ctx, before(s.QueueKey), s.Due, 1)
		if err != nil {
			return err
		}
		if len(refs) == 0 || refs[0].ItemID != s.ItemID {
			gone = append(gone, s.QueueKey)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return d.Queue.SuspectClear(ctx, gone)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func kindOf(ref store.QueueKey) string {
	if ref.Kind == store.KindDelivery {
		return "delivery"
	}
	return "job"
}

// reviewSuspects reads them again, since other nodes may have gone away, and
// forgets those that are gone.
func (d *Dispatcher) reviewSuspects(ctx context.Context) {
	suspects, err := d.readSuspects(ctx)
	if err == nil {
		err = d.tidySuspects(ctx, suspects)
	}
	if err != nil && ctx.Err() == nil {
		d.logLimited("reading which runs were being prepared at a crash failed; trying again", err)
	}
}

func (d *Dispatcher) isCareful(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Before(d.careful)
}

// note notes that a batch is about to be prepared, when that is called for.
func (d *Dispatcher) note(node int64, batch []*entry) (noted []store.QueueKey, err error) {
	if !d.isCareful(d.Queue.Now()) && !d.Suspected(batch[0].ref.ItemID) {
		return nil, nil
	}
	for _, e := range batch {
		noted = append(noted, e.ref)
	}
	return noted, d.Queue.SuspectNote(context.Background(), node, noted)
}

// clear forgets notes, beside what goes on: only a crash would have them read.
func (d *Dispatcher) clear(noted []store.QueueKey) {
	if len(noted) == 0 {
		return
	}
	d.mu.Lock()
	for _, ref := range noted {
		delete(d.suspects, ref.ItemID)
	}
	d.mu.Unlock()
	d.tasks.Go(func() {
		for range clearTries {
			err := d.Queue.SuspectClear(context.Background(), noted)
			if err == nil {
				return
			}
			d.logLimited("clearing what was prepared failed; trying again", err)
			time.Sleep(claimPause)
		}
	})
}

// failing is a run whose claim fails for a reason of its own.
type failing struct {
	times int
	again time.Time // not to be tried before
}

const (
	// failsLimit is how often the claim of a run may fail for a reason of its own,
	// failsPause lies between two tries.
	failsLimit = 3
	failsPause = time.Second
	// maxFailing bounds how many such runs are remembered.
	maxFailing = 10_000
)

// failed takes in that a run could not be prepared or claimed though it stood
// alone. It is tried again a little later, and set aside at last.
func (d *Dispatcher) failed(e *entry, err error) {
	now := d.Queue.Now()
	d.mu.Lock()
	if len(d.failing) >= maxFailing {
		clear(d.failing)
	}
	f := d.failing[e.ref.ItemID]
	f.times++
	f.again = now.Add(failsPause)
	d.failing[e.ref.ItemID] = f
	d.mu.Unlock()
	d.Log.Error("a run could not be claimed; the others of its batch go on", kindOf(e.ref), e.ref.Number, "times", f.times, "error", err)
	if f.times < failsLimit {
		return
	}
	ctx := context.Background()
	// A store that takes nothing at all is no fault of the run.
	if d.Queue.SuspectNote(ctx, d.node(), []store.QueueKey{e.ref}) != nil || d.Queue.SuspectClear(ctx, []store.QueueKey{e.ref}) != nil {
		return
	}
	err = d.setAside(ctx, e.ref, "the request could not be prepared or stored, so the job was set aside; make it smaller or simpler and create it again", false)
	if err != nil {
		d.logLimited("setting a run aside failed; trying again", err)
	}
}

// setAside ends a run that can't be fired. When not even that succeeds, it is
// moved out of the queue's way. An error is returned when the store is away.
func (d *Dispatcher) setAside(ctx context.Context, ref store.QueueKey, reason string, stop bool) error {
	err := errors.New("nobody sets runs aside here")
	if d.SetAside != nil {
		err = d.SetAside(ctx, ref, reason, stop)
	}
	switch {
	case err == nil:
		d.Log.Error("set aside", kindOf(ref), ref.Number, "reason", reason)
	case fault.CodeOf(err) == fault.Unavailable:
		return err
	default:
		d.Log.Error("setting a run aside failed; it is moved out of the queue's way, and its record stays as it is", kindOf(ref), ref.Number, "error", err)
		if err := d.Queue.QueueMove(ctx, []store.QueueKey{ref}, asideFor); err != nil {
			return fmt.Errorf("moving a run out of the queue's way: %w", err)
		}
	}
	if d.ObserveAside != nil {
		d.ObserveAside()
	}
	return nil
}

// heldBack reports whether a run is not to be tried yet, for it failed just
// now. Called with mu held.
func (d *Dispatcher) heldBack(ref store.QueueKey, now time.Time) bool {
	f, fails := d.failing[ref.ItemID]
	return fails && now.Before(f.again)
}

// claimAlone starts the claim of a suspect, when no other is under way, and
// reports whether others have to wait for one.
func (d *Dispatcher) claimAlone() bool {
	if len(d.quarantine) == 0 {
		return d.alone
	}
	if d.alone {
		return true
	}
	if d.othersTurn {
		d.othersTurn = false
		return false
	}
	for _, p := range d.pools {
		if p.claiming > 0 {
			return true
		}
	}
	e := d.quarantine[0]
	d.quarantine = d.quarantine[1:]
	p := d.pools[e.ref.Kind]
	p.lanes.seize(e)
	p.inUse++
	d.alone, d.othersTurn = true, true
	d.startClaim(e.ref.Kind, []*entry{e})
	return true
}
