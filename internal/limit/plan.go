package limit

import "time"

// Item is an item that waits for a key.
type Item struct {
	Due    time.Time
	Number int64
	Keys   []string // all keys that it needs, the one it waits for included
	// Kept is set if its job waits for a retry: it keeps its places under ordered
	// limits.
	Kept bool
}

func (i *Item) place() Place { return Place{i.Due, i.Number} }

// Decision is what becomes of an item.
type Decision struct {
	Item int // its index
	// Grant: the item may start from At to Until. Its keys are taken.
	Grant     bool
	At, Until time.Time
	// MoveTo is the key that the item waits for from now on; empty if it
	// stays where it is.
	MoveTo string
}

// Window is the time for which Plan grants starts.
type Window struct {
	Now   time.Time
	Ahead time.Duration // grant what starts up to this time from now
	Grace time.Duration // how long after its earliest start a granted item may start
}

// Plan decides about the first items that wait for a key, in order, those of an ordered
// limit that keep their places first. It returns a decision for each item that it has
// decided about; the others keep waiting. States has the limits by key; keys without
// one permit everything. Plan takes what it grants from states. Next is when to plan
// again: zero if nothing waits, or if only a change of the limit or the end of an
// attempt can help. The latter is blocked; next is then the time of a retry, if any.
func Plan(key string, items []Item, states map[string]*State, w Window) (decisions []Decision, next time.Time, blocked bool) {
	line := states[key]
	if line == nil {
		line = &State{}
	}
	var retry time.Time // the first retry ahead of an item that keeps its place
	later := func(at time.Time, blocked bool) ([]Decision, time.Time, bool) {
		if !retry.IsZero() && (at.IsZero() || retry.Before(at)) {
			return decisions, retry, blocked
		}
		return decisions, at, blocked
	}
	for i := range items {
		item := &items[i]
		if item.Due.Sub(w.Now) > w.Ahead {
			if line.Ordered && item.Kept {
				if retry.IsZero() || item.Due.Before(retry) {
					retry = item.Due
				}
				continue
			}
			return later(item.Due, false)
		}
		if line.Ordered && !item.Kept && line.Elsewhere.Before(item.place()) {
			return later(time.Time{}, true)
		}
		from := item.Due
		if from.Before(w.Now) {
			from = w.Now
		}
		at, by, ok := earliest(item, key, states, from)
		own, ownOK := earliestOf(line, item, from)
		switch {
		case !ownOK:
			return later(time.Time{}, true)
		case own.Sub(w.Now) > w.Ahead:
			return later(own, false)
		case ok && (at.Sub(w.Now) <= w.Ahead || by == key):
			until := at.Add(w.Grace)
			for _, k := range item.Keys {
				if s := states[k]; s != nil {
					s.take(item, until)
				}
			}
			decisions = append(decisions, Decision{Item: i, Grant: true, At: at, Until: until})
		default:
			decisions = append(decisions, Decision{Item: i, MoveTo: by})
			if line.Ordered && !item.Kept {
				return later(time.Time{}, true)
			}
		}
	}
	return later(time.Time{}, false)
}

// take grants an attempt of an item that starts at until at the latest.
func (s *State) take(item *Item, until time.Time) {
	if s.Ordered && item.Kept {
		s.Kept--
	}
	s.Take(until)
}

// earliestOf is State.Earliest for an item. For one that keeps its place, only attempts
// under way count: if Parallel was lowered, others may keep more places than there are.
func earliestOf(s *State, item *Item, from time.Time) (time.Time, bool) {
	if s == nil {
		return from, true
	}
	if s.Ordered && item.Kept {
		others := *s
		others.Kept = 0
		return others.Earliest(from)
	}
	return s.Earliest(from)
}

// earliest returns when all keys permit a start, and the key that permits it
// last. ok is false if by permits none at a known time, or if other items come
// before this one in the order of by.
func earliest(item *Item, line string, states map[string]*State, from time.Time) (at time.Time, by string, ok bool) {
	at = from
	for _, k := range item.Keys {
		s := states[k]
		t, known := earliestOf(s, item, from)
		if !known || k != line && s != nil && s.Ordered && !item.Kept && s.First.Before(item.place()) {
			return time.Time{}, k, false
		}
		if t.After(at) {
			at, by = t, k
		}
	}
	return at, by, true
}
