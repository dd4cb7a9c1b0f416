package limit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// crowded returns the largest number of times in any window of a length.
func crowded(times []time.Time, per time.Duration) int {
	times = slices.SortedFunc(slices.Values(times), time.Time.Compare)
	most := 0
	for i := range times {
		n := 0
		for _, t := range times[i:] {
			if t.Sub(times[i]) < per {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

type granted struct{ at, until time.Time }

// TestState_NeverExceedsRate grants at random, starts attempts anywhere in their
// intervals, reports some of them, also after the state was stored, and returns grants
// that were not used, some of them after their windows.
func TestState_NeverExceedsRate(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		s := &State{Limit: Limit{Calls: 1 + random.IntN(12), Per: time.Duration(1+random.IntN(3000)) * time.Millisecond}}
		now := start
		var starts []time.Time
		var open, unused []granted
		for range 300 {
			now = now.Add(time.Duration(random.Int64N(int64(s.Per) / 4)).Truncate(time.Microsecond))
			if random.IntN(4) == 0 {
				s.Starts = ParseStarts(s.Starts.String())
				s.Compact(now)
			}
			if at, ok := s.Earliest(now); ok && at.Sub(now) <= 100*time.Millisecond {
				g := granted{at, at.Add(time.Duration(random.IntN(500)) * time.Millisecond)}
				s.Take(g.until)
				open = append(open, g)
			}
			open = slices.DeleteFunc(open, func(g granted) bool {
				if g.at.After(now) {
					return false
				}
				if now.After(g.until) { // a crash: never started
					unused = append(unused, g)
					return true
				}
				if random.IntN(2) == 0 {
					return false
				}
				starts = append(starts, now)
				if random.IntN(3) > 0 {
					s.Started(g.until, now)
				}
				return true
			})
			unused = slices.DeleteFunc(unused, func(g granted) bool {
				if random.IntN(30) > 0 {
					return false
				}
				s.Starts.Return(g.until, now, s.Per)
				return true
			})
		}
		if got := crowded(starts, s.Per); got > s.Calls {
			t.Fatalf("%d starts in a window of %s, the limit is %d", got, s.Per, s.Calls)
		}
	}
}

func (s *State) Compact(now time.Time) { s.Starts.Compact(now, s.Per) }

// TestState_UsesRate grants whenever it may, with starts that are known at once.
func TestState_UsesRate(t *testing.T) {
	s := &State{Limit: Limit{Calls: 1000, Per: time.Second}}
	n := 0
	for now := start; now.Before(start.Add(10 * time.Second)); now = now.Add(time.Millisecond) {
		for {
			at, ok := s.Earliest(now)
			if !ok || at.After(now) {
				break
			}
			s.Take(at.Add(2 * time.Second))
			s.Started(at.Add(2*time.Second), at)
			n++
		}
		s.Compact(now)
	}
	if n < 9500 || n > 10_000 {
		t.Errorf("%d starts in 10 s with 1,000 a second, want 9,500 to 10,000", n)
	}
	if len(s.Starts.entries) > maxEntries {
		t.Errorf("%d entries, want at most %d", len(s.Starts.entries), maxEntries)
	}
}

func TestState_Earliest(t *testing.T) {
	second := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }
	for name, c := range map[string]struct {
		limit    Limit
		inFlight int
		starts   []time.Time
		now      time.Time
		at       time.Time
		ok       bool
	}{
		"no limit": {Limit{}, 9, []time.Time{start, start}, second(0), second(0), true},
		"paused":   {Limit{Paused: true}, 0, nil, second(0), time.Time{}, false},
		"room":     {Limit{Parallel: 2}, 1, nil, second(0), second(0), true},
		"full":     {Limit{Parallel: 2}, 2, nil, second(0), time.Time{}, false},
		"first":    {Limit{Calls: 2, Per: time.Second}, 0, []time.Time{start}, second(0.1), second(0.1), true},
		"rate reached": {Limit{Calls: 2, Per: time.Second}, 0, []time.Time{start, second(0.5)}, second(0.6),
			second(1).Add(time.Microsecond), true},
		"window over": {Limit{Calls: 2, Per: time.Second}, 0, []time.Time{start, second(0.5)}, second(1.2), second(1.2), true},
		"a start to come": {Limit{Calls: 1, Per: time.Second}, 0, []time.Time{second(2)}, second(0), second(3).Add(time.Microsecond),
			true},
		"rate and full": {Limit{Calls: 5, Per: time.Second, Parallel: 1}, 1, nil, second(0), time.Time{}, false},
		"fewer calls than kept": {Limit{Calls: 1, Per: time.Second}, 0, []time.Time{start, second(0.2), second(0.9)}, second(1),
			second(1.9).Add(time.Microsecond), true},
	} {
		s := &State{Limit: c.limit, InFlight: c.inFlight}
		for _, at := range c.starts {
			s.Starts.Add(at)
		}
		if at, ok := s.Earliest(c.now); !at.Equal(c.at) || ok != c.ok {
			t.Errorf("%s: Earliest = %v, %v, want %v, %v", name, at, ok, c.at, c.ok)
		}
	}
}

func TestStarts_SurviveStoring(t *testing.T) {
	var s Starts
	s.Add(start)
	s.Add(start)
	s.Add(start.Add(time.Second))
	read := ParseStarts(s.String())
	if read.String() != s.String() || read.Len() != 3 {
		t.Errorf("read %q with %d starts, want %q with 3", read.String(), read.Len(), s.String())
	}
	for _, garbage := range []string{"", " ", "x", "1:-5", "1:1 :: zz:9 99999999999999999999:1"} {
		garbled := ParseStarts(garbage)
		_ = garbled.String()
	}
}

func TestStarts_CompactRoundsUp(t *testing.T) {
	var s Starts
	for i := range 5000 {
		s.Add(start.Add(time.Duration(i) * 200 * time.Microsecond))
	}
	before := slices.Clone(s.entries)
	s.Compact(start.Add(time.Second), time.Second)
	if s.Len() != 5000 || len(s.entries) > maxEntries {
		t.Errorf("%d starts in %d entries, want 5000 in at most %d", s.Len(), len(s.entries), maxEntries)
	}
	if last := s.entries[len(s.entries)-1].at; last < before[len(before)-1].at {
		t.Errorf("the last start was rounded down, to %d", last)
	}
}

// A grant that was rounded up is found at most two steps later; what is further away is
// another's.
func TestStarts_RemoveOnlyWhatRoundingMayHaveMoved(t *testing.T) {
	const per = 2 * time.Second
	g := rounding(per)
	at := start.Truncate(g).Add(time.Microsecond)
	for steps, want := range map[time.Duration]bool{1: true, 2: true, 3: false, 4: false} {
		var s Starts
		s.Add(start.Truncate(g).Add(steps * g))
		read := ParseStarts(s.String())
		if got := read.Return(at, start, per); got != want || read.Len() == 0 != want || read.Changed() != want {
			t.Errorf("%d steps later: returned %v, %d left, changed %v", steps, got, read.Len(), read.Changed())
		}
	}
}

// Clocks of nodes differ: a start is kept for a second longer than the window.
func TestStarts_CompactKeepsTheLastSecondBeforeTheWindow(t *testing.T) {
	for ago, want := range map[time.Duration]int{0: 1, time.Second: 1, time.Second + time.Microsecond: 0} {
		var s Starts
		s.Add(start.Add(-time.Minute - ago))
		if s.Compact(start, time.Minute); s.Len() != want {
			t.Errorf("a start %s before the window: %d kept, want %d", ago, s.Len(), want)
		}
	}
}

// The exact start replaces a rounded one, also at the latest possible time.
func TestState_StartedAtTheLatestTimeIsExact(t *testing.T) {
	s := &State{Limit: Limit{Calls: 1, Per: 2 * time.Second}}
	g := rounding(s.Per)
	until := start.Truncate(g).Add(time.Microsecond)
	s.Starts.Add(start.Truncate(g).Add(g))
	s.Started(until, until)
	if at, ok := s.Earliest(start); !ok || !at.Equal(until.Add(s.Per+time.Microsecond)) {
		t.Errorf("the next start is at %s, want a window after %s", at, until)
	}
}

func TestValidName(t *testing.T) {
	for key, want := range map[string]bool{
		"stripe": true, "tenant-42": true, "A.b_c:d": true, "0": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, ":a": false, "a b": false, "a/b": false, "ä": false, "a\x00": false, strings.Repeat("a", 65): false,
	} {
		if got := ValidName(key); got != want {
			t.Errorf("ValidName(%q) = %v, want %v", key, got, want)
		}
	}
}
