package limit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func item(due time.Duration, keys ...string) Item { return Item{Due: start.Add(due), Keys: keys} }

var window = Window{Now: start, Ahead: 100 * time.Millisecond, Grace: 2 * time.Second}

func TestPlan_GrantsInOrder(t *testing.T) {
	states := map[string]*State{"a": {Limit: Limit{Calls: 2, Per: time.Second}}}
	decisions, next, blocked := Plan("a", []Item{item(-2, "a"), item(50*time.Millisecond, "a"), item(60*time.Millisecond, "a")}, states,
		window)
	if len(decisions) != 2 || !decisions[0].At.Equal(start) || !decisions[1].At.Equal(start.Add(50*time.Millisecond)) || blocked {
		t.Fatalf("decisions %+v, blocked %v; want two grants, now and in 50 ms", decisions, blocked)
	}
	if !decisions[1].Until.Equal(decisions[1].At.Add(window.Grace)) {
		t.Errorf("granted until %v, want %v after %v", decisions[1].Until, window.Grace, decisions[1].At)
	}
	// Unless their starts are reported, the first ends at 2 s, and its window 1 s later.
	if want := start.Add(3*time.Second + time.Microsecond); !next.Equal(want) {
		t.Errorf("next %v, want %v", next, want)
	}
}

func TestPlan_WaitsForDueTime(t *testing.T) {
	decisions, next, _ := Plan("a", []Item{item(time.Minute, "a")}, map[string]*State{"a": {}}, window)
	if len(decisions) != 0 || !next.Equal(start.Add(time.Minute)) {
		t.Errorf("%d decisions, next %v; want none, and the due time", len(decisions), next)
	}
}

func TestPlan_Blocked(t *testing.T) {
	for name, s := range map[string]*State{"paused": {Limit: Limit{Paused: true}}, "full": {Limit: Limit{Parallel: 1}, InFlight: 1}} {
		if decisions, next, blocked := Plan("a", []Item{item(0, "a")}, map[string]*State{"a": s}, window); len(decisions) != 0 ||
			!next.IsZero() || !blocked {
			t.Errorf("%s: %d decisions, next %v, blocked %v; want none, none, true", name, len(decisions), next, blocked)
		}
	}
}

func TestPlan_Ordered(t *testing.T) {
	kept := func(due time.Duration, number int64) Item {
		return Item{Due: start.Add(due), Number: number, Keys: []string{"o"}, Kept: true}
	}
	first := func(due time.Duration, number int64, keys ...string) Item {
		return Item{Due: start.Add(due), Number: number, Keys: append([]string{"o"}, keys...)}
	}
	full := &State{Limit: Limit{Paused: true}}
	for name, c := range map[string]struct {
		line    State
		items   []Item
		grants  []int
		moved   []int
		next    time.Duration // from start; 0 for none
		blocked bool
	}{
		"one by one": {State{Limit: Limit{Parallel: 3}}, []Item{first(-2, 1), first(-1, 2)}, []int{0}, nil, 0, true},
		"until it has started": {State{Limit: Limit{Parallel: 3}, InFlight: 1, Unstarted: true}, []Item{first(-2, 1)}, nil, nil, 0,
			true},
		"a retry keeps its place": {State{Limit: Limit{Parallel: 1}, Kept: 1}, []Item{kept(time.Minute, 1), first(-1, 2)}, nil, nil,
			time.Minute, true},
		"beside a retry": {State{Limit: Limit{Parallel: 2}, Kept: 1}, []Item{kept(time.Minute, 1), first(-1, 2)}, []int{1}, nil,
			time.Minute, false},
		"a retry is granted first": {State{Limit: Limit{Parallel: 1}, Kept: 1}, []Item{kept(0, 2), first(-1, 3)}, []int{0}, nil, 0, true},
		"another limit holds it":   {State{Limit: Limit{Parallel: 1}}, []Item{first(-2, 1, "full"), first(-1, 2)}, nil, []int{0}, 0, true},
		"behind one elsewhere": {State{Limit: Limit{Parallel: 1}, Elsewhere: Place{start.Add(-2), 1}}, []Item{first(-2, 2)}, nil, nil,
			0, true},
		"before one elsewhere": {State{Limit: Limit{Parallel: 1}, Elsewhere: Place{start.Add(-2), 3}}, []Item{first(-2, 2)}, []int{0},
			nil, 0, false},
		"places beyond parallel": {State{Limit: Limit{Parallel: 1}, Kept: 2}, []Item{kept(-2, 1), kept(-1, 2)}, []int{0}, nil, 0, true},
	} {
		c.line.Ordered = true
		decisions, next, blocked := Plan("o", c.items, map[string]*State{"o": &c.line, "full": full}, window)
		var grants, moved []int
		for _, d := range decisions {
			if d.Grant {
				grants = append(grants, d.Item)
			} else {
				moved = append(moved, d.Item)
			}
		}
		want := time.Time{}
		if c.next != 0 {
			want = start.Add(c.next)
		}
		if !slices.Equal(grants, c.grants) || !slices.Equal(moved, c.moved) || !next.Equal(want) || blocked != c.blocked {
			t.Errorf("%s: granted %v, moved %v, next %v, blocked %v", name, grants, moved, next, blocked)
		}
	}
	// A line of another key grants only what is first in order.
	ordered := &State{Limit: Limit{Ordered: true}, First: Place{start.Add(-2), 1}}
	decisions, _, _ := Plan("a", []Item{first(-2, 2, "a"), first(-2, 1, "a")}, map[string]*State{"a": {}, "o": ordered}, window)
	if len(decisions) != 2 || decisions[0].MoveTo != "o" || !decisions[1].Grant {
		t.Errorf("decisions %+v, want a move to o and a grant", decisions)
	}
}

func TestPlan_TakesAllKeysOrNone(t *testing.T) {
	states := map[string]*State{"a": {Limit: Limit{Parallel: 5}}, "b": {Limit: Limit{Parallel: 1}, InFlight: 1},
		"c": {Limit: Limit{Parallel: 5}}}
	decisions, _, _ := Plan("a", []Item{item(-1, "a", "b", "c"), item(0, "a"), item(0, "a", "undefined")}, states, window)
	if len(decisions) != 3 || decisions[0].MoveTo != "b" || !decisions[1].Grant || !decisions[2].Grant {
		t.Fatalf("decisions %+v, want a move to b and two grants", decisions)
	}
	if states["a"].InFlight != 2 || states["b"].InFlight != 1 || states["c"].InFlight != 0 {
		t.Errorf("in flight %d, %d, %d; want 2, 1, 0", states["a"].InFlight, states["b"].InFlight, states["c"].InFlight)
	}
}

// world is lines that are planned as stores do it, with a clock of its own.
type world struct {
	states map[string]*State
	lines  map[string][]Item
	now    time.Time
	starts map[string][]time.Time
	ends   []running
	most   map[string]int
}

type running struct {
	end  time.Time
	keys []string
}

func (w *world) pass(t *testing.T, key string) {
	before := w.lines[key]
	decisions, _, _ := Plan(key, before, w.states, Window{Now: w.now, Ahead: 0, Grace: time.Second})
	w.lines[key] = before[len(decisions):]
	for i, d := range decisions {
		moved := before[i]
		if !d.Grant {
			w.join(d.MoveTo, moved)
			continue
		}
		for _, k := range moved.Keys {
			w.states[k].Started(d.Until, w.now)
			w.starts[k] = append(w.starts[k], w.now)
			w.most[k] = max(w.most[k], w.states[k].InFlight)
		}
		w.ends = append(w.ends, running{w.now.Add(time.Duration(moved.Due.UnixMilli()%400) * time.Millisecond), moved.Keys})
	}
}

func (w *world) join(key string, it Item) {
	line := w.lines[key]
	i := 0
	for i < len(line) && !line[i].Due.After(it.Due) {
		i++
	}
	w.lines[key] = append(line[:i:i], append([]Item{it}, line[i:]...)...)
}

// TestPlan_RandomWorlds plans random lines of items with several keys: no limit
// is ever exceeded, and everything starts in the end.
func TestPlan_RandomWorlds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for range 60 {
		w := &world{states: map[string]*State{}, lines: map[string][]Item{}, now: start, starts: map[string][]time.Time{},
			most: map[string]int{}}
		var keys []string
		for i := range 3 {
			key := fmt.Sprint("k", i)
			keys = append(keys, key)
			w.states[key] = &State{Limit: Limit{Calls: 1 + random.IntN(5), Per: time.Duration(100+random.IntN(900)) * time.Millisecond,
				Parallel: random.IntN(4)}}
		}
		items := 40
		for range items {
			random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			needs := append([]string{}, keys[:1+random.IntN(3)]...)
			w.join(needs[0], Item{Due: start.Add(time.Duration(random.IntN(3000)) * time.Millisecond), Keys: needs})
		}
		started := 0
		for range 6000 {
			w.now = w.now.Add(10 * time.Millisecond)
			var still []running
			for _, r := range w.ends {
				if r.end.After(w.now) {
					still = append(still, r)
					continue
				}
				started++
				for _, k := range r.keys {
					w.states[k].InFlight--
				}
			}
			w.ends = still
			for _, k := range keys {
				w.pass(t, k)
				w.states[k].Starts.Compact(w.now, w.states[k].Per)
			}
		}
		if started != items {
			t.Fatalf("%d of %d items have ended", started, items)
		}
		for _, k := range keys {
			s := w.states[k]
			if got := crowded(w.starts[k], s.Per); got > s.Calls {
				t.Fatalf("%d starts in a window of %s, the limit is %d", got, s.Per, s.Calls)
			}
			if s.Parallel > 0 && w.most[k] > s.Parallel {
				t.Fatalf("%d at once, the limit is %d", w.most[k], s.Parallel)
			}
		}
	}
}
