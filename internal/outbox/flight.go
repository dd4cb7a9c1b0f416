package outbox

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/pause"
)

// notedFor is how long a batch is noted as sent while it waits for the one before it. A
// relay that is killed meanwhile leaves the note, although the batch was not sent.
const notedFor = time.Second

// flight is a batch that is being sent.
type flight struct {
	batch []row
	note  string               // "" if the batch is not noted
	known map[string]time.Time // rows that a relay before this one sent, and when
	// after is the batch before it, which must be answered before this one is sent.
	after *flight
	// delayed is closed when the service could not be used, and landed when the flight is
	// over. Then done is what is to be settled, and complete reports whether that is all.
	delayed, landed chan struct{}
	done            *turn
	complete        bool
}

// fly sends a batch once the one before it is answered.
func (r *Relay) fly(ctx context.Context, batch []row, note string, before []*flight) *flight {
	f := &flight{batch: batch, note: note, done: &turn{}, delayed: make(chan struct{}), landed: make(chan struct{})}
	if len(before) > 0 {
		f.after = before[len(before)-1]
	}
	f.known = r.sentBefore(batch)
	r.flying.Go(func() {
		defer close(f.landed)
		r.guarded(ctx, func(ctx context.Context) {
			f.batch = r.readable(f.batch, f.done) // while the batch before is sent
			if r.follow(ctx, f) {
				r.deliver(ctx, f)
			}
		})
		f.batch, f.after = nil, nil
	})
	return f
}

// over reports whether the flight is over.
func (f *flight) over() bool {
	select {
	case <-f.landed:
		return true
	default:
		return false
	}
}

// held reports whether the service could not be used for the flight.
func (f *flight) held() bool {
	select {
	case <-f.delayed:
		return true
	default:
		return false
	}
}

// follow waits until the batch before this one is answered. If that takes long, this one
// is no longer noted as sent. It reports false if the batch is not to be sent.
func (r *Relay) follow(ctx context.Context, f *flight) bool {
	if f.after == nil {
		if r.leads() {
			return true
		}
		f.end() // the process stood still while the batch was taken
		return false
	}
	long := time.NewTimer(r.notedFor)
	defer long.Stop()
	select {
	case <-f.after.landed:
	case <-f.after.delayed:
	case <-long.C:
	}
	ok := f.after.over() || r.renote(ctx, f, nil)
	<-f.after.landed // it ends with the lease or with ctx
	if ok && f.after.complete && ctx.Err() == nil && r.leads() && (f.note != "" || r.renote(ctx, f, f.batch)) {
		return true
	}
	f.end() // it was not sent
	return false
}

// deliver sends a batch until each row has an answer, or the relay is no longer to send.
func (r *Relay) deliver(ctx context.Context, f *flight) {
	attempts := &doubt{since: time.Now()}
	batch := f.batch
	for backoff := minBackoff; ; {
		batch = f.giveUp(batch, attempts)
		var held *hold
		if batch, held = r.send(ctx, batch, f.done); len(batch) == 0 {
			break
		}
		if ctx.Err() != nil || !r.leads() {
			return
		}
		if !f.held() {
			close(f.delayed)
		}
		r.health.serviceIs(held)
		r.held(held)
		r.Log.Warn("rows of the outbox wait", "rows", len(batch), "reason", held.reason)
		if attempts.add(held); held.none {
			r.notStored(f, batch)
			attempts = &doubt{since: time.Now()}
		}
		if !r.settleHeld(ctx, f) {
			return
		}
		// If the service has none of them, nothing is in doubt while they wait.
		if !held.sent && attempts.certain() && !r.renote(ctx, f, nil) {
			return
		}
		passed := pause.For(ctx, max(held.after, backoff/2+rand.N(backoff/2+1)))
		backoff = min(2*backoff, maxBackoff)
		if !passed || !r.leads() {
			return
		}
		if f.note == "" {
			if !r.renote(ctx, f, batch) {
				return
			}
			attempts.since = time.Now()
		}
	}
	r.health.serviceIs(nil)
	f.end()
	f.complete = true
}

// notStored forgets that rows may have been sent before: the service has responded that it
// has none of them.
func (r *Relay) notStored(f *flight, batch []row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		delete(r.inherited, batch[i].id)
		delete(f.known, batch[i].id)
	}
}

// settleHeld settles the rows of a flight that have an answer: for the others, the service
// can be away for days. It ends the standing note as well.
func (r *Relay) settleHeld(ctx context.Context, f *flight) bool {
	if len(f.done.answered)+len(f.done.failed) == 0 && r.stands() == "" {
		return true
	}
	if _, ok := r.turn(ctx, &turn{answered: f.done.answered, failed: f.done.failed}); !ok {
		return false
	}
	f.done.answered, f.done.failed = nil, nil
	return true
}

// end has the note deleted when the flight is settled.
func (f *flight) end() {
	if f.note != "" {
		f.done.ended = append(f.done.ended, f.note)
	}
}

// renote notes that rows are to be sent, or that none were.
func (r *Relay) renote(ctx context.Context, f *flight, rows []row) bool {
	if rows == nil {
		if _, ok := r.turn(ctx, &turn{ended: []string{f.note}}); !ok {
			return false
		}
		f.note = ""
		return true
	}
	f.note = uuid.NewString()
	_, ok := r.turn(ctx, &turn{note: f.note, keep: rows})
	return ok
}

// doubt is what is known of a batch that has no answer.
type doubt struct {
	since time.Time // when it was first sent
	sent  bool      // it may be stored
}

func (d *doubt) add(h *hold) { d.sent = d.sent || h.sent }

func (d *doubt) certain() bool { return !d.sent }

// giveUp takes out the rows that may be stored, and have had no answer for too long.
func (f *flight) giveUp(batch []row, d *doubt) []row {
	var rest []row
	for i := range batch {
		at, known := f.known[batch[i].id]
		if d.sent && (!known || d.since.Before(at)) {
			at, known = d.since, true
		}
		if known && time.Since(at) >= doubtful {
			f.done.failed = append(f.done.failed, failure{batch[i].withoutJob(), unknownProblem})
			continue
		}
		rest = append(rest, batch[i])
	}
	return rest
}
