package limit

import "time"

// Item is an item that waits in the line of a key.
type Item struct {
	Due  time.Time
	Keys []string // all keys that it needs, the line's included
}

// Decision is what becomes of an item.
type Decision struct {
	// Grant: the item may start from At to Until. Its keys are taken.
	Grant     bool
	At, Until time.Time
	// MoveTo is the key in whose line the item waits from now on; empty if it
	// stays where it is.
	MoveTo string
}

// Window is the time for which Plan grants starts.
type Window struct {
	Now   time.Time
	Ahead time.Duration // grant what starts up to this time from now
	Grace time.Duration // how long after its earliest start a granted item may start
}

// Plan decides about the first items of a key's line, in order, and returns a
// decision for each that it has decided about; the rest keeps waiting. States
// has the limits by key; keys without one permit everything. Plan takes what it
// grants from states. Next is when to plan again: zero if nothing waits, or if
// only a change of the limit or the end of an attempt can help (blocked).
func Plan(key string, items []Item, states map[string]*State, w Window) (decisions []Decision, next time.Time, blocked bool) {
	for i := range items {
		item := &items[i]
		if item.Due.Sub(w.Now) > w.Ahead {
			return decisions, item.Due, false
		}
		from := item.Due
		if from.Before(w.Now) {
			from = w.Now
		}
		at, by, ok := earliest(item.Keys, states, from)
		own, ownOK := earliestOf(states[key], from)
		switch {
		case !ownOK:
			return decisions, time.Time{}, true
		case own.Sub(w.Now) > w.Ahead:
			return decisions, own, false
		case ok && (at.Sub(w.Now) <= w.Ahead || by == key):
			until := at.Add(w.Grace)
			for _, k := range item.Keys {
				if s := states[k]; s != nil {
					s.Take(until)
				}
			}
			decisions = append(decisions, Decision{Grant: true, At: at, Until: until})
		default:
			decisions = append(decisions, Decision{MoveTo: by})
		}
	}
	return decisions, time.Time{}, false
}

func earliestOf(s *State, from time.Time) (time.Time, bool) {
	if s == nil {
		return from, true
	}
	return s.Earliest(from)
}

// earliest returns when all keys permit a start, and the key that permits it
// last. ok is false if by permits none at a known time.
func earliest(keys []string, states map[string]*State, from time.Time) (at time.Time, by string, ok bool) {
	at = from
	for _, k := range keys {
		t, known := earliestOf(states[k], from)
		if !known {
			return time.Time{}, k, false
		}
		if t.After(at) {
			at, by = t, k
		}
	}
	return at, by, true
}
