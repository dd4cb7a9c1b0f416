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

// zones keeps what LoadZone has loaded: schedules ask for theirs on every run.
// It holds existing names only, so it stays small.
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

// zoneName reports whether name looks like one in the IANA database. It keeps
// out what time.LoadLocation would read as something else: the machine's own
// zone, paths, and the copies that systems keep beside the database, of which
// right/ counts leap seconds.
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

// A reading is what a clock on the wall shows, as the seconds that would have
// passed since 1970 had the clock never jumped.
//
// An instant is in seconds since 1970 too; the reading is the instant plus the
// zone's offset.

// lookaround is longer than any clock was ever set back or forward by, and
// longer than any offset, in seconds.
const lookaround = 2 * secondsPerDay

// periodAt gives the offset of zone at an instant and the end of a period,
// beginning at that instant, over which the offset holds. The offset after the
// end may be the same.
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
		// Where a rule goes on for ever, ZoneBounds gives no year more than 365
		// days; the rule's next turn is not before the year's end.
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return int64(seconds), end
}

// firstShowing gives the first instant at which the clock shows reading or a
// later one.
func firstShowing(zone *time.Location, reading int64) int64 {
	for instant := reading - lookaround; ; {
		offset, end := periodAt(zone, instant)
		if instant+offset >= reading {
			return instant // the period begins behind a gap
		}
		if reading-offset < end {
			return reading - offset
		}
		instant = end
	}
}

// firstUnshown gives the earliest reading that the clock, up to and including an
// instant, has neither shown nor passed.
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
