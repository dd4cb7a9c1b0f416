package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// claim starts claims for runs that wait, as far as slots are free.
func (d *Dispatcher) claim() {
	for kind, p := range d.pools {
		p.pace.roll(d.Queue.Now())
		for p.claiming < claimers {
			batch := d.choose(p)
			if len(batch) == 0 {
				break
			}
			p.claiming++
			d.tasks.Go(func() { d.claimBatch(store.Kind(kind), batch) })
		}
	}
}

// choose takes the next runs to be claimed in fair turns.
func (d *Dispatcher) choose(p *pool) []*entry {
	var batch []*entry
	for len(batch) < claimLimit {
		e := p.lanes.take(p.inUse, p.total, p.ahead())
		if e == nil {
			break
		}
		p.inUse++
		batch = append(batch, e)
	}
	p.publish()
	d.mu.Lock()
	for _, e := range batch {
		e.phase = phaseClaiming
	}
	d.mu.Unlock()
	return batch
}

// claimPause is how long a claimer rests after the store failed it.
const claimPause = 100 * time.Millisecond

// claimBatch reads runs, prepares their attempts and claims them. What could
// not be claimed is dropped: it is gone, or another read of the queue brings it
// again.
func (d *Dispatcher) claimBatch(kind store.Kind, batch []*entry) {
	node := d.node()
	claimed, lost, err := d.tryClaim(node, batch)
	if err != nil {
		d.complain("claiming runs failed; trying again", err)
		time.Sleep(claimPause)
	}
	d.mu.Lock()
	var stale []store.Claim
	for _, e := range claimed {
		e.phase, e.node = phaseHeld, node
		d.announce(e)
		if e.gone || e.revoked {
			d.doubt(e)
		}
		if node != d.life.node { // a new life has begun meanwhile
			e.gone = true
			stale = append(stale, e.claim)
		}
	}
	if len(stale) > 0 {
		d.tasks.Go(func() { d.giveBack(node, stale) })
	}
	for _, e := range lost {
		d.forget(e)
	}
	d.claimed = append(d.claimed, claimed...)
	d.dropped = append(d.dropped, lost...)
	if err != nil {
		for _, e := range lost {
			d.hints = append(d.hints, e.ref)
		}
	}
	d.claimsDone[kind]++
	d.mu.Unlock()
	d.poke()
}

func (d *Dispatcher) tryClaim(node int64, batch []*entry) (claimed, lost []*entry, err error) {
	refs := make([]store.Ref, len(batch))
	for i, e := range batch {
		refs[i] = e.ref
	}
	ctx := context.Background()
	runs, err := d.Queue.RunLoad(ctx, refs)
	if err != nil {
		return nil, batch, err
	}
	now := d.Queue.Now()
	claims := make([]store.Claim, 0, len(batch))
	asked := make([]*entry, 0, len(batch))
	for i, run := range runs {
		e := batch[i]
		if run == nil || run.Claim != nil {
			lost = append(lost, e)
			continue
		}
		e.attempt = d.Begin(run, now)
		e.claim = e.attempt.Claim()
		e.begin = e.claim.BeginAt
		claims, asked = append(claims, e.claim), append(asked, e)
	}
	if len(claims) == 0 {
		return nil, lost, nil
	}
	got, err := d.Queue.RunClaim(ctx, node, claims)
	if err != nil {
		// It may have come through all the same, and then nobody would fire them.
		d.giveBack(node, claims)
		return nil, append(lost, asked...), err
	}
	if d.ObserveClaims != nil {
		d.ObserveClaims(len(claims))
	}
	for i, e := range asked {
		if got[i] {
			claimed = append(claimed, e)
		} else {
			lost = append(lost, e)
		}
	}
	return claimed, lost, nil
}
