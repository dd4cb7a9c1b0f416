package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/limit"
)

// TooManyLimits returns the error for an account with as many limits as it may
// have.
func TooManyLimits() error {
	return &fault.Error{Code: fault.TooMany, Message: "the account has its maximum of 1,000 limits; delete one that no job names",
		RetryAfter: time.Minute}
}

// KeysOf returns the key of a limit and all that its items need, without
// duplicates.
func KeysOf(key string, needs []limit.Item) []string {
	keys := []string{key}
	for i := range needs {
		keys = append(keys, needs[i].Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// LimitPlan is what a LimitPass stores.
type LimitPlan struct {
	LimitPassed
	Decisions []limit.Decision // of the first items
	WakeAt    time.Time        // zero for none
}

// PlanLimit decides a LimitPass. needs are the first items that wait for it.
func PlanLimit(p *LimitPass, needs []limit.Item, states map[string]*limit.State, now time.Time) LimitPlan {
	own := states[p.Key]
	for _, s := range p.Starts {
		own.Started(s.Until, s.At)
	}
	var plan LimitPlan
	next, blocked := time.Time{}, false
	plan.Decisions, next, blocked = limit.Plan(p.Key, needs, states, limit.Window{Now: now, Ahead: p.Ahead, Grace: p.Grace})
	plan.Decided = len(plan.Decisions)
	for _, d := range plan.Decisions {
		if d.Grant {
			plan.Granted++
		} else if key := (LimitKey{p.Account, d.MoveTo}); !slices.Contains(plan.Moved, key) {
			plan.Moved = append(plan.Moved, key)
		}
	}
	switch {
	case blocked && !own.Paused:
		plan.WakeAt, plan.Blocked, plan.Serial = now.Add(LimitRecheck), true, own.Ordered && own.Unstarted && own.Parallel != 1
		if !next.IsZero() && next.Before(plan.WakeAt) {
			plan.WakeAt, plan.Next = next, next
		}
	case !next.IsZero():
		plan.WakeAt, plan.Next = next, next
	case !blocked && len(needs) == p.Limit:
		plan.WakeAt, plan.Next = now, now
	}
	for _, s := range states {
		s.Starts.Compact(now, s.Per)
	}
	return plan
}

// InOrder returns the first items of a limit: those of kept, which keep their places,
// and others, both in order of their due times and numbers, up to a number. An ordered
// limit considers the kept ones first; under another one they are like all others.
func InOrder[T any](kept, others []T, ordered bool, place func(*T) limit.Place, most int) []T {
	if len(kept) == 0 {
		return others[:min(len(others), most)]
	}
	all := slices.Concat(kept, others)
	if !ordered {
		slices.SortStableFunc(all, func(a, b T) int {
			x, y := place(&a), place(&b)
			return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.Number, y.Number))
		})
	}
	return all[:min(len(all), most)]
}

// Holding returns which of a waiting item's keys hold it back: those it named,
// in order, then the others. waits has the keys that it waits for.
func Holding(named, keys []string, states map[string]*limit.State, waits map[string]bool, now time.Time) []string {
	order := slices.Clone(named)
	for _, key := range keys {
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
	}
	var holding, lines []string
	for _, key := range order {
		s := states[key]
		if waits[key] {
			lines = append(lines, key)
		}
		if s == nil {
			continue
		}
		if at, ok := s.Earliest(now); !ok || at.After(now) {
			holding = append(holding, key)
		}
	}
	if len(holding) == 0 {
		return lines // others in the order come first
	}
	return holding
}
