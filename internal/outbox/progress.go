package outbox

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
)

// progress is what is under way between the database and the service.
type progress struct {
	arrivals
	flights []*flight // in their order, at most two
	next    *turn     // settles those that are over
	full    bool      // the last batch was, so others wait
	alone   bool      // the next batch can't be taken before the last one is settled
	drained bool      // no rows wait, and none are under way
}

// took notes that a batch of up to so many rows was taken.
func (p *progress) took(batch []row, want int) {
	p.next = &turn{}
	p.arrivals.took(time.Now(), len(batch))
	p.full = len(batch) == want || sizeOf(batch) > maxBytes-minFresh
	p.drained = len(batch) == 0 && len(p.flights) == 0
}

// ready waits until the next batch is to be taken: if many rows wait, when one batch at
// most is under way, else when none is. It reports false if one was given up.
func (r *Relay) ready(ctx context.Context, p *progress) bool {
	if len(p.flights) == 2 {
		<-p.flights[0].landed // it ends with the lease or with ctx
	}
	if !p.land() {
		return false
	}
	for len(p.flights) > 0 && (p.alone || !p.full || p.flights[0].held()) {
		if !r.landing(ctx, p) || !p.land() {
			return false
		}
	}
	if len(p.flights) == 0 {
		pause.For(ctx, p.pause(time.Now()))
	}
	return true
}

// landing waits until the first flight is over. If the service can't be used for it, which
// can take days, it settles those before it meanwhile. It reports false if it could not.
func (r *Relay) landing(ctx context.Context, p *progress) bool {
	f := p.flights[0]
	select {
	case <-f.landed:
		return true
	case <-f.delayed:
	}
	if len(p.next.answered)+len(p.next.failed)+len(p.next.ended) > 0 {
		r.endedNotes(p.next, false)
		if _, ok := r.turn(ctx, p.next); !ok {
			return false
		}
		p.next = &turn{}
	}
	<-f.landed // it ends with the lease or with ctx
	return true
}

// land takes out the flights that are over. It reports false if one of them isn't complete.
func (p *progress) land() bool {
	for len(p.flights) > 0 && p.flights[0].over() {
		f := p.flights[0]
		p.next.answered = append(p.next.answered, f.done.answered...)
		p.next.failed = append(p.next.failed, f.done.failed...)
		p.next.ended = append(p.next.ended, f.done.ended...)
		if p.flights = p.flights[1:]; !f.complete {
			for _, f := range p.flights {
				<-f.landed // it was not sent
				p.next.ended = append(p.next.ended, f.done.ended...)
			}
			p.flights = nil
			return false
		}
	}
	return true
}
