package limit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a limit.
const (
	MaxCalls    = 1_000_000
	MaxParallel = 10_000
	MinPer      = time.Millisecond
	MaxPer      = 31 * 24 * time.Hour
	// MaxNamed is how many limits a job may name.
	MaxNamed = 3
	// MaxPerAccount is how many limits an account may have.
	MaxPerAccount = 1000
	// MaxCount is where counts of jobs under a limit stop.
	MaxCount = 100_000
	// HostPrefix begins the keys of limits that apply to all jobs for a host.
	HostPrefix = "host:"
	maxKey     = 64
)

// Limit is what an account permits for one key. The zero Limit permits
// everything.
type Limit struct {
	// Calls is how many attempts may start in any window of length Per; 0 for no
	// rate.
	Calls int
	Per   time.Duration
	// Parallel is how many attempts may be under way at once; 0 for any number.
	Parallel int
	// Paused holds everything back.
	Paused bool
	// Ordered makes attempts start in the order of their jobs' due times, then of
	// their numbers. A job that waits for a retry keeps its place of Parallel.
	Ordered bool
	// Floating has the parts that requests which name the limit may define: FloatRate,
	// FloatParallel or both. 0 is a limit that holds whatever they say.
	Floating int
}

// The parts of a limit that can be floating.
const (
	FloatRate     = 1
	FloatParallel = 2
)

// String describes the limit: "100 calls in 1m, 5 at once, paused".
func (l Limit) String() string {
	var words []string
	if l.Calls > 0 {
		calls := "calls"
		if l.Calls == 1 {
			calls = "call"
		}
		words = append(words, fmt.Sprintf("%d %s in %s", l.Calls, calls, short(l.Per)))
	}
	if l.Parallel > 0 {
		words = append(words, fmt.Sprintf("%d at once", l.Parallel))
	}
	if len(words) == 0 {
		words = append(words, "no limit")
	}
	if l.Ordered {
		words = append(words, "in order")
	}
	if l.Paused {
		words = append(words, "paused")
	}
	return strings.Join(words, ", ")
}

// short formats a duration without minutes and seconds that are 0: "1m", "36h".
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Record is an account's limit with its key.
type Record struct {
	Key string
	Limit
	// Dialect is what a compatible API keeps with the limit, as JSON; "" if it is none's.
	// Limits that are replaced without one keep theirs.
	Dialect string
}

// Position is where an unfinished job stands among those that name a limit. The zero
// Position is before all.
type Position struct {
	State  int64 // as stored
	Due    int64 // microseconds since 1970
	Number int64 // of the job
}

// Use is the current use of a limit. Its counts stop at MaxCount.
type Use struct {
	Record
	Waiting  int       // due jobs that wait for it
	InFlight int       // attempts granted or under way
	NextAt   time.Time // when the next attempt may start; zero if unknown
	Started  int       // attempts that have started in the latest window, or will
	// First is the number of the job that comes first of those that wait in an ordered
	// limit; 0 if none waits, or if the limit is not ordered.
	First int64
}

// ValidName reports whether a key without HostPrefix has an accepted form: 1 to 64
// ASCII letters, digits and ":._-" that begin with a letter or digit. See
// job.LimitKey for all keys.
func ValidName(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte(":._-", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// KeyRule describes what keys are accepted, to complete a sentence about a key.
const KeyRule = "must be 1 to 64 letters, digits and the characters : . _ - and begin with a letter or digit, or be host: and a host name without a port"

// maxEntries bounds the entries of Starts. Ends are rounded up to a part of the
// window when there are more.
const (
	maxEntries = 256
	parts      = 200
)

// Starts are the latest possible start times of granted attempts, with how many
// attempts have each.
type Starts struct {
	entries []entry // ascending
	changed bool
}

type entry struct {
	at int64 // microseconds since 1970
	n  int
}

// ParseStarts reads what String returns; what can't be read is left out.
func ParseStarts(text string) Starts {
	var s Starts
	for part := range strings.SplitSeq(text, " ") {
		at, n, _ := strings.Cut(part, ":")
		a, err1 := strconv.ParseInt(at, 36, 64)
		c, err2 := strconv.Atoi(n)
		if err1 == nil && err2 == nil && c > 0 {
			s.insert(a, c)
		}
	}
	s.changed = false
	return s
}

// Changed reports whether the starts differ from those that were read.
func (s *Starts) Changed() bool { return s.changed }

// String returns the starts in a form that ParseStarts reads.
func (s *Starts) String() string {
	var b []byte
	for i, e := range s.entries {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, e.at, 36)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(e.n), 10)
	}
	return string(b)
}

func (s *Starts) insert(at int64, n int) {
	s.changed = true
	i, found := slices.BinarySearchFunc(s.entries, at, func(e entry, at int64) int { return int(min(1, max(-1, e.at-at))) })
	if found {
		s.entries[i].n += n
		return
	}
	s.entries = slices.Insert(s.entries, i, entry{at, n})
}

// Add adds an attempt that starts at a time at the latest.
func (s *Starts) Add(until time.Time) { s.insert(until.UnixMicro(), 1) }

// Return removes an attempt that was added with a time and has not started. What no
// window from now on contains may have been removed before, by Compact.
func (s *Starts) Return(until, now time.Time, per time.Duration) bool {
	return !until.Before(now.Add(-per)) && s.remove(until, per)
}

// remove removes an attempt that was added with a time. If the times were rounded
// meanwhile, it is the next later one that is. It reports whether there was one.
func (s *Starts) remove(until time.Time, per time.Duration) bool {
	at, g := until.UnixMicro(), rounding(per).Microseconds()
	for i := range s.entries {
		e := &s.entries[i]
		switch {
		case e.at < at || e.at > at && e.at%g != 0:
			continue
		case e.at-at > 2*g:
			return false
		}
		s.changed = true
		if e.n--; e.n == 0 {
			s.entries = slices.Delete(s.entries, i, i+1)
		}
		return true
	}
	return false
}

// rounding is how far times are rounded up under a limit.
func rounding(per time.Duration) time.Duration { return max(per/parts, time.Microsecond) }

// keepExtra is how long starts are kept beyond the window: clocks of nodes
// differ.
const keepExtra = time.Second

// Compact removes the starts that no window from now on contains, and rounds
// times up if there are too many. It is conservative.
func (s *Starts) Compact(now time.Time, per time.Duration) {
	from := now.Add(-per - keepExtra).UnixMicro()
	first := 0
	for first < len(s.entries) && s.entries[first].at < from {
		first++
	}
	s.entries, s.changed = s.entries[first:], s.changed || first > 0
	for g := rounding(per).Microseconds(); len(s.entries) > maxEntries; g *= 2 {
		var rounded Starts
		for _, e := range s.entries {
			rounded.insert((e.at+g-1)/g*g, e.n)
		}
		s.entries, s.changed = rounded.entries, true
	}
}

// Within returns how many starts are in the window that ends now, or after it.
func (s *Starts) Within(now time.Time, per time.Duration) (n int) {
	from := now.Add(-per).UnixMicro()
	for _, e := range s.entries {
		if e.at > from {
			n += e.n
		}
	}
	return n
}

// Len returns how many starts are kept.
func (s *Starts) Len() int {
	n := 0
	for _, e := range s.entries {
		n += e.n
	}
	return n
}

// Place is the place of an item in the order of a limit.
type Place struct {
	Due    time.Time // zero for no place
	Number int64
}

// Before reports whether a place comes before another one. No place comes before none.
func (p Place) Before(other Place) bool {
	if p.Due.IsZero() {
		return false
	}
	return p.Due.Before(other.Due) || p.Due.Equal(other.Due) && p.Number < other.Number
}

// State is a limit with what has been granted under it.
type State struct {
	Limit
	Starts   Starts
	InFlight int // attempts granted or under way
	// The rest is that of an ordered limit. Kept is how many jobs keep a place of
	// Parallel while they wait for a retry. Unstarted is set while the start of a granted
	// attempt is not known. First is the place of the first item that waits, Elsewhere
	// that of the first one that waits for another key; items that keep their
	// places have started before, and are in neither.
	Kept             int
	Unstarted        bool
	First, Elsewhere Place
}

// Earliest returns the first time from now on at which another attempt may
// start. ok is false if no time is known: the limit is paused, or Parallel
// attempts are under way. Attempts of an ordered limit are granted one by one, each
// when the start of the one before is known: nodes that start two at the same time
// could send either first.
func (s *State) Earliest(now time.Time) (at time.Time, ok bool) {
	if s.Paused || s.Parallel > 0 && s.InFlight+s.Kept >= s.Parallel || s.Ordered && s.Unstarted {
		return time.Time{}, false
	}
	if s.Calls <= 0 {
		return now, true
	}
	later := 0
	for i := len(s.entries()) - 1; i >= 0; i-- {
		e := s.entries()[i]
		if later += e.n; later >= s.Calls {
			// The Calls latest starts are at e.at or later; one more must come
			// after the window that begins with them.
			next := time.UnixMicro(e.at + 1).Add(s.Per).UTC()
			if next.After(now) {
				return next, true
			}
			break
		}
	}
	return now, true
}

func (s *State) entries() []entry { return s.Starts.entries }

// Take grants an attempt that starts at until at the latest.
func (s *State) Take(until time.Time) {
	s.InFlight++
	s.Unstarted = true
	if s.Calls > 0 {
		s.Starts.Add(until)
	}
}

// Started replaces the latest possible start of an attempt by its actual one.
func (s *State) Started(until, at time.Time) {
	if s.Calls > 0 && !at.After(until) && s.Starts.remove(until, s.Per) {
		s.Starts.Add(at)
	}
}
