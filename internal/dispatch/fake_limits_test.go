package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// fakeLimits are the limits and orders of a fakeQueue, all of account 1.
type fakeLimits struct {
	states map[string]*limit.State
	orders map[string][]store.HeldItem
	wakes  map[string]time.Time
	passes int
}

// limit defines a limit and, as a store does, wakes its order.
func (q *fakeQueue) limit(key string, l limit.Limit) store.Notice {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limits.states == nil {
		q.limits = fakeLimits{states: map[string]*limit.State{}, orders: map[string][]store.HeldItem{}, wakes: map[string]time.Time{}}
	}
	state := q.limits.states[key]
	if state == nil {
		state = &limit.State{}
		q.limits.states[key] = state
	}
	state.Limit = l
	now := time.Now().Add(q.step)
	q.limits.wakes[key] = now
	return store.Notice{Limits: []store.LimitWake{{LimitKey: store.LimitKey{Account: 1, Key: key}, At: now}}}
}

// addLimited adds items that need limits.
func (q *fakeQueue) addLimited(keys []string, refs ...store.QueueKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ref := range refs {
		q.items[ref.ItemID] = &store.QueueItem{QueueKey: ref, Limits: keys, Named: len(keys)}
	}
	go q.notify(store.Notice{Items: refs})
}

func (q *fakeQueue) LimitHold(_ context.Context, items []store.HeldItem) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range items {
		item := q.items[h.ItemID]
		if item == nil || item.Claim != nil || !item.Due.Equal(h.Due) {
			continue
		}
		if !item.OwnDue.IsZero() {
			h.Due = item.OwnDue
			q.freed(item)
		}
		held := *item
		held.Due, held.Granted = store.HeldDue(h.Due), false
		q.items[h.ItemID] = &held
		q.join(h.Keys[0], h)
	}
	return nil
}

// LimitExpire makes held items due that may have expired.
func (q *fakeQueue) LimitExpire(context.Context, int) (next time.Time, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		return time.Time{}, errDown
	}
	now := time.Now().Add(q.step).Truncate(time.Microsecond)
	for key, line := range q.limits.orders {
		q.limits.orders[key] = slices.DeleteFunc(line, func(h store.HeldItem) bool {
			if h.Expires.IsZero() {
				return false
			}
			if !h.Expires.Before(now) {
				next = h.Expires
				return false
			}
			expired := *q.items[h.ItemID]
			expired.Due, expired.OwnDue = now, h.Due
			q.items[h.ItemID] = &expired
			go q.notify(store.Notice{Items: []store.QueueKey{expired.QueueKey}})
			return true
		})
	}
	return next, nil
}

func (q *fakeQueue) join(key string, h store.HeldItem) {
	line := append(q.limits.orders[key], h)
	slices.SortStableFunc(line, func(a, b store.HeldItem) int { return a.Due.Compare(b.Due) })
	q.limits.orders[key] = line
	now := time.Now().Add(q.step)
	q.limits.wakes[key] = now
	go q.notify(store.Notice{Limits: []store.LimitWake{{LimitKey: store.LimitKey{Account: 1, Key: key}, At: now}}})
}

// freed ends what an item has of its limits. Called with mu held.
func (q *fakeQueue) freed(item *store.QueueItem) {
	for _, key := range item.Limits {
		if state := q.limits.states[key]; state != nil && item.Granted {
			state.InFlight--
		}
	}
}

func (q *fakeQueue) LimitWakes(_ context.Context, until time.Time, _ int) (wakes []store.LimitWake, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		return nil, errDown
	}
	for key, at := range q.limits.wakes {
		if !at.IsZero() && !at.After(until) {
			wakes = append(wakes, store.LimitWake{LimitKey: store.LimitKey{Account: 1, Key: key}, At: at})
		}
	}
	return wakes, nil
}

func (q *fakeQueue) LimitPass(_ context.Context, p store.LimitPass) (store.LimitPassed, error) {
	time.Sleep(q.claiming)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		return store.LimitPassed{}, errDown
	}
	q.limits.passes++
	now := time.Now().Add(q.step).Truncate(time.Microsecond)
	line := q.limits.orders[p.Key]
	var needs []limit.Item
	for _, h := range line[:min(p.Limit, len(line))] {
		needs = append(needs, limit.Item{Due: h.Due, Keys: h.Keys})
	}
	plan := store.PlanLimit(&p, needs, q.limits.states, now)
	q.limits.orders[p.Key] = line[len(plan.Decisions):]
	q.limits.wakes[p.Key] = plan.WakeAt
	for i, d := range plan.Decisions {
		h := line[i]
		if !d.Grant {
			q.join(d.MoveTo, h)
			continue
		}
		granted := *q.items[h.ItemID]
		granted.Due, granted.Granted, granted.StartBy, granted.OwnDue = d.At, true, d.Until, h.Due
		q.items[h.ItemID] = &granted
		plan.Granted++
		go q.notify(store.Notice{Items: []store.QueueKey{granted.QueueKey}})
	}
	return plan.LimitPassed, nil
}
