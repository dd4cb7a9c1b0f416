package schedule

import (
	"errors"
	"math"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // minimal images come without a zone database
)

var errUnknownZone = errors.New("must be the name of an IANA time zone, such as Europe/London")

// zones caches the zones that LoadZone has loaded, because each run of a schedule
// needs one. It contains existing names only, so it stays small.
var zones sync.Map // string -> *time.Location

// LoadZone reads an IANA zone name such as Europe/London or UTC. The empty name,
// Local, paths and unknown names are errors, whose text completes "timezone …".
func LoadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if !zoneName(name) {
		return nil, errUnknownZone
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errUnknownZone
	}
	zones.Store(name, zone)
	return zone, nil
}

// zoneName reports whether name has the form of a name in the IANA database. It
// excludes what time.LoadLocation would read as something else: the machine's own
// zone, paths, and the copies that systems store beside the database (right/
// counts leap seconds).
func zoneName(name string) bool {
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "", "Local", "localtime", "posixrules", "posix", "right":
		return false
	}
	if len(name) > 64 {
		return false
	}
	for _, b := range []byte(name) {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		digit := '0' <= b && b <= '9'
		if !letter && !digit && !strings.ContainsRune("/_+-", rune(b)) {
			return false
		}
	}
	return true
}

// An instant is a number of seconds since 1970. A reading is what a wall clock
// shows at an instant: the instant plus the zone's offset.

// lookaround is longer than any jump of a clock and any offset, in seconds.
const lookaround = 2 * secondsPerDay

// periodAt returns the offset of zone at an instant, and the end of a period that
// begins at that instant and has this offset throughout. The offset after the end
// may be the same.
func periodAt(zone *time.Location, instant int64) (offset, end int64) {
	t := time.Unix(instant, 0).In(zone)
	_, seconds := t.Zone()
	_, until := t.ZoneBounds()
	switch {
	case until.IsZero():
		end = math.MaxInt64
	case until.Unix() > instant:
		end = until.Unix()
	default:
		// For a rule without end, ZoneBounds takes every year as 365 days long;
		// the offset does not change before the year's end.
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return int64(seconds), end
}

// firstShowing returns the first instant at which the clock shows reading or a
// later one.
func firstShowing(zone *time.Location, reading int64) int64 {
	return firstShowingFrom(zone, reading-lookaround, reading)
}

// firstShowingFrom returns the first instant, from an instant on, at which the
// clock shows reading or a later one.
func firstShowingFrom(zone *time.Location, instant, reading int64) int64 {
	for {
		offset, end := periodAt(zone, instant)
		if instant+offset >= reading {
			return instant // the period begins after a gap
		}
		if reading-offset < end {
			return reading - offset
		}
		instant = end
	}
}

// firstUnshown returns the earliest reading that the clock has neither shown nor
// passed up to and including an instant.
func firstUnshown(zone *time.Location, instant int64) int64 {
	earliest := int64(math.MinInt64)
	for from := instant - lookaround; ; {
		offset, end := periodAt(zone, from)
		if instant < end {
			return max(earliest, instant+offset+1)
		}
		earliest = max(earliest, end+offset)
		from = end
	}
}
