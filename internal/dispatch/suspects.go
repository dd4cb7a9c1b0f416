package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// carefulFor is how long after a start that follows a crash the items being
	// prepared are noted in the store; carefulLonger applies if some were being
	// prepared at the crash.
	carefulFor    = 10 * time.Second
	carefulLonger = 10 * time.Minute
	// suspectsEvery is how often the notes of expired nodes are read.
	suspectsEvery = 10 * time.Second
	// suspectsLimit is how many suspects are kept at once.
	suspectsLimit = 1000
	// crashesLimit is the number of crashes during its preparation after which
	// an item is set aside. At all but the first it was prepared alone.
	crashesLimit = 3
	// clearTries is how often clearing notes is tried.
	clearTries = 5
)

// suspects is what is known of items that crash the process or fail when they
// are prepared or claimed.
type suspects struct {
	mu      sync.Mutex
	crashes map[store.ItemID]int // during whose preparation nodes crashed
	careful time.Time            // until then, notes record what is being prepared
	failing map[store.ItemID]failing
}

// suspicion is why an item is not claimed together with others.
type suspicion int

const (
	unsuspected suspicion = iota
	suspected             // it was being prepared when a node crashed
	failedNow             // it failed just now and must not be retried yet
)

func (s *suspects) suspicion(id store.ItemID, now time.Time) suspicion {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f, fails := s.failing[id]; {
	case fails && now.Before(f.again):
		return failedNow
	case s.crashes[id] > 0:
		return suspected
	default:
		return unsuspected
	}
}

// replace takes in the suspects that were read, and whether a node has ended
// without a clean stop.
func (s *suspects) replace(crashes map[store.ItemID]int, unclean bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crashes = crashes
	if unclean {
		s.careful = schedule.Later(s.careful, now.Add(carefulFor))
	}
	if len(crashes) > 0 {
		s.careful = schedule.Later(s.careful, now.Add(carefulLonger))
	}
}

// cleared takes in that items were prepared without a crash.
func (s *suspects) cleared(noted []store.QueueKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range noted {
		delete(s.crashes, ref.ItemID)
	}
}

// recovered takes in that items were claimed.
func (s *suspects) recovered(claimed []*entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range claimed {
		delete(s.failing, e.ref.ItemID)
	}
}

// crashesOf returns how many nodes crashed while they prepared an item.
func (s *suspects) crashesOf(id store.ItemID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashes[id]
}

// isCareful reports whether items being prepared must be noted.
func (s *suspects) isCareful(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.careful)
}

// failed counts a failure of an item and returns how many there were.
func (s *suspects) failed(id store.ItemID, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == nil || len(s.failing) >= maxFailing {
		s.failing = map[store.ItemID]failing{}
	}
	f := failing{s.failing[id].times + 1, now.Add(failsPause)}
	s.failing[id] = f
	return f.times
}

// Suspect reads which items were being prepared when a node crashed. They are
// prepared as the only item from then on; those with crashesLimit crashes are set aside.
// Call it before Run.
func (d *Dispatcher) Suspect(ctx context.Context) error {
	_, err := d.readSuspects(ctx)
	return err
}

func (d *Dispatcher) readSuspects(ctx context.Context) ([]store.Suspect, error) {
	suspects, unclean, err := d.Queue.SuspectList(ctx, d.Self(), suspectsLimit)
	if err != nil {
		return nil, err
	}
	now := d.Queue.Now()
	known := map[store.ItemID]int{}
	var ended []store.QueueKey
	for _, s := range suspects {
		if s.Crashes >= crashesLimit {
			if err := d.setAside(ctx, s.QueueKey, "the service ended three times while it prepared the request, so the job was set aside and its schedule, if it has one, disabled; make the request smaller or simpler and create it again", true); err != nil {
				return nil, fmt.Errorf("setting aside an item that was being prepared at %d crashes: %w", s.Crashes, err)
			}
			ended = append(ended, s.QueueKey)
			continue
		}
		if d.suspects.crashesOf(s.ItemID) != s.Crashes {
			d.Log.Warn("a node crashed while it prepared this queue item; preparing it as the only item", kindOf(s.QueueKey), s.Number, "crashes",
				s.Crashes)
		}
		known[s.ItemID] = s.Crashes
	}
	d.suspects.replace(known, unclean, now)
	if len(ended) == 0 {
		return suspects, nil
	}
	return suspects, d.Queue.SuspectClear(ctx, ended)
}

// Suspected reports whether an item was being prepared when a node crashed.
func (d *Dispatcher) Suspected(id store.ItemID) bool {
	return d.suspects.crashesOf(id) > 0
}

// tidySuspects clears the notes of suspects that are neither known here nor in
// the queue.
func (d *Dispatcher) tidySuspects(ctx context.Context, suspects []store.Suspect) error {
	var gone []store.QueueKey
	for _, s := range suspects {
		if d.items.knows(s.ItemID) {
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

func kindOf(ref store.QueueKey) string {
	if ref.Kind == store.KindDelivery {
		return "delivery"
	}
	return "job"
}

// reviewSuspects reads the suspects again, because other nodes may have
// crashed, and clears those that left the queue.
func (d *Dispatcher) reviewSuspects(ctx context.Context) {
	suspects, err := d.readSuspects(ctx)
	if err == nil {
		err = d.tidySuspects(ctx, suspects)
	}
	if err != nil && ctx.Err() == nil {
		d.logLimited("reading the suspects of crashes failed; retrying", err)
	}
}

// note records that a batch is about to be prepared, if a crash or a suspect
// requires it. It returns the keys it recorded.
func (d *Dispatcher) note(node int64, batch []*entry, single bool) (noted []store.QueueKey, err error) {
	if !d.suspects.isCareful(d.Queue.Now()) && !d.Suspected(batch[0].ref.ItemID) {
		return nil, nil
	}
	for _, e := range batch {
		noted = append(noted, e.ref)
	}
	return noted, d.Queue.SuspectNote(context.Background(), node, noted, single)
}

// clear deletes notes in the background: only a crash would make them matter.
func (d *Dispatcher) clear(noted []store.QueueKey) {
	if len(noted) == 0 {
		return
	}
	d.suspects.cleared(noted)
	d.tasks.Go(func() {
		for range clearTries {
			err := d.Queue.SuspectClear(context.Background(), noted)
			if err == nil {
				return
			}
			d.logLimited("clearing preparation notes failed; retrying", err)
			time.Sleep(claimPause)
		}
	})
}

// failing counts the failed claims of a faulty item.
type failing struct {
	times int
	again time.Time // earliest next try
}

const (
	// failsLimit is how often the claim of an item may fail because of its
	// content, failsPause is the time between two tries.
	failsLimit = 3
	failsPause = time.Second
	// maxFailing bounds how many such items are remembered.
	maxFailing = 10_000
)

// failed records that an item could not be prepared or claimed even alone. It
// is retried after failsPause, and set aside after failsLimit failures.
func (d *Dispatcher) failed(e *entry, err error) {
	times := d.suspects.failed(e.ref.ItemID, d.Queue.Now())
	d.Log.Error("claiming a queue item failed; the rest of its batch is not affected", kindOf(e.ref), e.ref.Number, "times", times, "error",
		err)
	if times < failsLimit {
		return
	}
	ctx := context.Background()
	// If the store accepts no writes at all, the item is not at fault.
	if d.Queue.SuspectNote(ctx, d.Self(), []store.QueueKey{e.ref}, false) != nil ||
		d.Queue.SuspectClear(ctx, []store.QueueKey{e.ref}) != nil {
		return
	}
	err = d.setAside(ctx, e.ref, "the request could not be prepared or stored, so the job was set aside; make it smaller or simpler and create it again", false)
	if err != nil {
		d.logLimited("setting an item aside failed; retrying", err)
	}
}

// setAside ends an item that can't be fired. If that fails too, it moves the
// item out of the way. It returns an error only if the store can't be reached.
func (d *Dispatcher) setAside(ctx context.Context, ref store.QueueKey, reason string, stop bool) error {
	err := errors.New("SetAside is not configured")
	if d.SetAside != nil {
		err = d.SetAside(ctx, ref, reason, stop)
	}
	switch {
	case err == nil:
		d.Log.Error("set aside", kindOf(ref), ref.Number, "reason", reason)
	case fault.CodeOf(err) == fault.Unavailable:
		return err
	default:
		d.Log.Error("setting an item aside failed; moving it far ahead in the queue, its record stays as it is", kindOf(ref), ref.Number,
			"error", err)
		if err := d.Queue.QueueMove(ctx, []store.QueueKey{ref}, asideFor); err != nil {
			return fmt.Errorf("moving an item far ahead in the queue: %w", err)
		}
	}
	if d.ObserveAside != nil {
		d.ObserveAside()
	}
	return nil
}

// claimAlone starts the claim of a suspect if no other claim is under way, and
// reports whether other claims have to wait.
func (d *Dispatcher) claimAlone() bool {
	if len(d.quarantine) == 0 {
		return d.exclusive
	}
	if d.exclusive {
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
	if d.contended.busy() {
		return true
	}
	e := d.quarantine[0]
	d.quarantine = d.quarantine[1:]
	p := d.pools[e.ref.Kind]
	p.lanes.seize(e)
	p.inUse++
	d.exclusive, d.othersTurn = true, true
	d.startClaim(e.ref.Kind, []*entry{e}, true)
	return true
}
