package dispatch

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// Starts are granted up to grantAhead before, as the queue is read; the order
	// of a limit is planned grantLead before its next start. A granted item may
	// start startGrace after its start time; if it can't, it waits for its limits
	// again. Until the actual start is known, windows count from the latest one.
	grantAhead = horizon
	grantLead  = lead
	startGrace = 2 * time.Second
	// grantLimit is how many items one pass considers at most. Since each is read
	// with all limits that it needs, an order begins with grantFirst and gets four
	// times as many while passes decide about all of them.
	grantFirst = 16
	grantLimit = 256
	// passLimit is how many passes are under way at once.
	passLimit = 4
	// reportAfter is how long actual starts wait for others, so that one pass
	// takes all of them; maxReports is how many are kept for a limit. Those that
	// are left out count as the latest possible ones.
	reportAfter = 30 * time.Millisecond
	maxReports  = 10_000
	// wakesEvery is how often the orders to be planned are read from the store, in
	// case another node can't plan them; takeOver is how long they are left to
	// the node that knows of them. wakesLimit is how many are read at once.
	wakesEvery = time.Second
	takeOver   = 250 * time.Millisecond
	wakesLimit = 256
	// wakeAhead is how long before its time an order is kept in memory.
	wakeAhead = wakesEvery + 500*time.Millisecond
	maxOrders = 10_000
	// blockedDefer is how long the orders of blocked accounts are left alone.
	blockedDefer = 5 * time.Second
)

// limitKeeper plans the orders of limits when it is time. Other goroutines tell
// it of items that were stored, of starts and of ends.
type limitKeeper struct {
	mu     sync.Mutex
	orders map[store.LimitKey]*limitOrder
	turns  map[int64]uint64 // by account: when it had its last turn
	turn   uint64
	wake   chan struct{}
	moved  atomic.Bool // the store's clock was moved: the orders are to be read
}

// limitOrder is an order to be planned.
type limitOrder struct {
	at      time.Time // when; zero for not
	running bool      // a pass is under way
	blocked bool      // the order waits for the end of an attempt
	serial  bool      // the order waits for the start of an attempt
	size    int       // how many items the next pass considers
	starts  []store.LimitStart
}

func newLimitKeeper() *limitKeeper {
	return &limitKeeper{orders: map[store.LimitKey]*limitOrder{}, turns: map[int64]uint64{}, wake: make(chan struct{}, 1)}
}

// plan requests a pass at a time, if none is requested earlier. Called with mu
// held. It returns the order; nil if there is no room for it.
func (k *limitKeeper) plan(key store.LimitKey, at time.Time) *limitOrder {
	l := k.orders[key]
	if l == nil {
		if len(k.orders) >= maxOrders {
			return nil // a later read of the store finds it
		}
		l = &limitOrder{size: grantFirst}
		k.orders[key] = l
	}
	if l.at.IsZero() || at.Before(l.at) {
		l.at = at
		k.poke()
	}
	return l
}

// planMany requests passes that are to happen soon.
func (k *limitKeeper) planMany(wakes []store.LimitWake, now time.Time, delay time.Duration) {
	if len(wakes) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range wakes {
		at := w.At.Add(-grantLead)
		if l := k.orders[w.LimitKey]; l == nil || l.at.IsZero() && !l.running {
			at = at.Add(delay)
		}
		if at.Sub(now) <= wakeAhead {
			k.plan(w.LimitKey, at)
		}
	}
}

// busy reports whether an order is planned, or will be in a moment.
func (k *limitKeeper) busy(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.orders {
		if l.running || !l.at.IsZero() && l.at.Sub(now) <= reportAfter {
			return true
		}
	}
	return false
}

// next takes up to n orders whose time has come, and returns when the next one's
// comes. Accounts take turns, so that one with many limits delays nobody else's;
// of an account's orders the earliest is first.
func (k *limitKeeper) next(now time.Time, n int) (due []store.LimitPass, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at = now.Add(wakesEvery)
	ready := map[int64][]store.LimitKey{}
	for key, l := range k.orders {
		switch {
		case l.running || l.at.IsZero():
		case l.at.After(now):
			at = earlier(at, l.at)
		default:
			ready[key.Account] = append(ready[key.Account], key)
		}
	}
	for ; n > 0 && len(ready) > 0; n-- {
		key := k.take(ready)
		l := k.orders[key]
		due = append(due, store.LimitPass{LimitKey: key, Starts: l.starts, Ahead: grantAhead, Grace: startGrace, Limit: l.size})
		l.running, l.at, l.starts = true, time.Time{}, nil
	}
	return due, at
}

// take removes from ready, which is not empty, the earliest order of the account
// whose last turn was longest ago.
func (k *limitKeeper) take(ready map[int64][]store.LimitKey) store.LimitKey {
	account, first := int64(0), uint64(math.MaxUint64)
	for a := range ready {
		if turn := k.turns[a]; turn < first || turn == first && a < account {
			account, first = a, turn
		}
	}
	if len(k.turns) > maxOrders {
		clear(k.turns)
	}
	k.turn++
	k.turns[account] = k.turn
	orders := ready[account]
	i := 0
	for j := range orders {
		if k.orders[orders[j]].at.Before(k.orders[orders[i]].at) {
			i = j
		}
	}
	key := orders[i]
	if ready[account] = slices.Delete(orders, i, i+1); len(orders) == 1 {
		delete(ready, account)
	}
	return key
}

// passed ends a pass. After a failure, the starts are not reported again: they may have
// been stored, and none stands for two. Without a report, an attempt counts as started
// at its latest possible start.
func (k *limitKeeper) passed(p *store.LimitPass, result store.LimitPassed, err error, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.orders[p.LimitKey]
	l.running, l.blocked, l.serial = false, result.Blocked, result.Serial
	if err == nil {
		l.size = nextSize(p.Limit, result.Decided)
	}
	switch {
	case err != nil:
		k.plan(p.LimitKey, now.Add(claimPause))
	case !result.Next.IsZero() && result.Next.Sub(now) <= wakeAhead:
		k.plan(p.LimitKey, result.Next.Add(-grantLead))
	}
	for _, key := range result.Moved {
		k.plan(key, now)
	}
	if l.at.IsZero() && len(l.starts) == 0 && !l.blocked {
		delete(k.orders, p.LimitKey)
	}
}

// nextSize returns how many items the next pass of an order considers, after one
// that has decided about some.
func nextSize(considered, decided int) int {
	if decided >= considered {
		return min(4*considered, grantLimit)
	}
	return max(2*decided, grantFirst)
}

// LimitStarted reports the actual start of an attempt of a job that was granted until a
// time, for the keys of its limits.
func (d *Dispatcher) LimitStarted(account, number int64, keys []string, until, at time.Time) {
	k := d.limits
	now := d.Queue.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		of, soon := store.LimitKey{Account: account, Key: key}, now.Add(reportAfter)
		if l := k.orders[of]; l != nil && l.serial {
			soon = now
		}
		l := k.plan(of, soon)
		if l != nil && len(l.starts) < maxReports {
			l.starts = append(l.starts, store.LimitStart{Job: number, Until: until, At: at})
		}
	}
}

// limitsFreed requests passes for the limits of an item that has ended.
func (d *Dispatcher) limitsFreed(e *entry) {
	if len(e.limits) == 0 {
		return
	}
	now := d.Queue.Now()
	d.limits.mu.Lock()
	defer d.limits.mu.Unlock()
	for _, name := range e.limits {
		key, at := store.LimitKey{Account: e.ref.Account, Key: name}, now
		if l := d.limits.orders[key]; l == nil || !l.blocked {
			at = now.Add(reportAfter)
		}
		d.limits.plan(key, at)
	}
}

// LimitsFreed reports that an attempt which awaited its completion has ended, for
// the keys of the limits that it may have taken. A limit that waits for the end of an
// attempt gets a pass at once. Another node may know of a limit that this one does not
// know; unless a job named it, it probably does not exist.
func (d *Dispatcher) LimitsFreed(account int64, keys []string) {
	now, others := d.Queue.Now(), len(d.items.nodes().nodes) > 1
	d.limits.mu.Lock()
	defer d.limits.mu.Unlock()
	for _, name := range keys {
		key := store.LimitKey{Account: account, Key: name}
		switch l := d.limits.orders[key]; {
		case l == nil && (!others || store.IsHostLimit(name)):
		case l != nil && l.blocked && !l.running:
			d.limits.plan(key, now)
		default:
			d.limits.plan(key, now.Add(reportAfter))
		}
	}
}

// keepLimits plans the orders of limits until ctx ends.
func (d *Dispatcher) keepLimits(ctx context.Context) {
	var passes sync.WaitGroup
	defer passes.Wait()
	slots := make(chan struct{}, passLimit)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var read time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-d.limits.wake:
		}
		now := d.Queue.Now()
		if now.Sub(read).Abs() >= wakesEvery || d.limits.moved.Swap(false) {
			read = now
			d.readWakes(ctx, now)
		}
		due, at := d.limits.next(now, passLimit-len(slots))
		for i := range due {
			slots <- struct{}{}
			passes.Go(func() {
				d.limitPass(ctx, &due[i])
				<-slots
				d.limits.poke()
			})
		}
		timer.Reset(max(0, min(at.Sub(d.Queue.Now()), wakesEvery)))
	}
}

func (k *limitKeeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// readWakes reads which orders are to be planned.
func (d *Dispatcher) readWakes(ctx context.Context, now time.Time) {
	wakes, err := d.Queue.LimitWakes(store.Routine(ctx), now.Add(wakeAhead), wakesLimit)
	if err != nil {
		if ctx.Err() == nil {
			d.logLimited("reading which limits to plan failed; retrying", err)
		}
		return
	}
	delay := time.Duration(0)
	if len(d.items.nodes().nodes) > 1 {
		delay = takeOver
	}
	d.limits.planMany(wakes, now, delay)
}

// limitPass plans one order.
func (d *Dispatcher) limitPass(ctx context.Context, p *store.LimitPass) {
	if d.items.blockedAccounts()[p.Account] {
		p.Defer = blockedDefer
	}
	result, err := d.Queue.LimitPass(context.WithoutCancel(ctx), *p)
	if err != nil {
		d.logLimited("planning the order of a limit failed; retrying", err)
	}
	d.limits.passed(p, result, err, d.Queue.Now())
}

// hold makes items wait for their limits.
func (c *claiming) hold(items []store.HeldItem) {
	if len(items) == 0 {
		return
	}
	if err := c.Queue.LimitHold(context.Background(), items); err != nil {
		c.logLimited("letting queue items wait for limits failed; retrying", err)
	}
}

// mustHold reports whether an item has to wait for its limits.
func mustHold(item *store.QueueItem, now time.Time) bool {
	return len(item.Limits) > 0 && (!item.Granted || now.After(item.StartBy))
}

// returnLate releases the claim of an item whose start is not granted any more,
// so that it waits for its limits again.
func (d *Dispatcher) returnLate(e *entry) {
	if e.startBy.IsZero() || !d.Queue.Now().After(e.startBy) {
		return
	}
	node, withdrawn := d.items.withdraw(e)
	if withdrawn {
		d.tasks.Go(func() {
			d.release(node, []store.Claim{e.claim})
			d.inbox.post(func(n *news) { n.hints = append(n.hints, e.ref) })
		})
	}
}
