package naturaltime

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/schedule"
)

// Timing is the meaning of a text as fields of the API. At most one of In and At,
// and at most one of Every and Cron, is set. If none is set, it means now.
type Timing struct {
	In    *Span
	At    time.Time // in its zone
	Every *Span
	Cron  string
	Zone  string // of Cron; "" for UTC
}

// Span is a length of time as in the API: a JSON number and a unit.
type Span struct {
	Amount string
	Unit   string // "seconds", "minutes", "hours", "days" or "weeks"
}

// maxText is the maximum length of a text, in bytes.
const maxText = 300

const examples = "try “in 30 minutes”, “tomorrow at 9:00”, “every 5 minutes” or “every weekday at 9:00 Europe/Berlin”"

// Parse reads a text of at most 300 bytes. Times are in zone unless the text names
// another. The text of an error completes a sentence that begins with "When".
func Parse(text string, now time.Time, zone *time.Location) (Timing, error) {
	if len(text) > maxText {
		return Timing{}, fmt.Errorf("is longer than %d bytes; %s", maxText, examples)
	}
	given := strings.Fields(text)
	words, zone := cutZone(given, zone)
	if timing, ok, err := cron(words, zone); ok || err != nil {
		return timing, err
	}
	if at, ok := instant(words, zone, len(words) < len(given)); ok {
		return Timing{At: at}, nil
	}
	p := &parser{words: split(words), now: now.In(zone), zone: zone}
	timing := p.timing()
	if p.err == nil && p.more() {
		p.fail(fmt.Errorf("is not understood from %q on; %s", p.words[p.next], examples))
	}
	if p.err != nil {
		return Timing{}, p.err
	}
	return timing, nil
}

// instant reads a date with a time of day as the API does, except that one without an
// offset is in zone, as all other times of this package are. One with an offset does not
// go with a zone that is named.
func instant(words []string, zone *time.Location, named bool) (at time.Time, ok bool) {
	text := strings.Join(words, " ")
	at, zoned, err := schedule.ParseInstantIn(text, zone)
	if !zoned {
		at = at.In(zone)
	}
	// A date alone says no time of day.
	return at, err == nil && strings.Contains(text, ":") && !(zoned && named)
}

// cutZone removes the name of a zone from the end, with an "in" before it.
func cutZone(words []string, zone *time.Location) ([]string, *time.Location) {
	last := len(words) - 1
	if last < 1 {
		return words, zone
	}
	name := strings.Trim(words[last], "().,")
	found, ok := loadZone(name)
	if !ok {
		return words, zone
	}
	words = words[:last]
	if before := strings.ToLower(words[len(words)-1]); (before == "in" || before == "time") && len(words) > 1 {
		words = words[:len(words)-1]
	}
	return words, found
}

// loadZone loads a zone by its name in any case.
func loadZone(name string) (*time.Location, bool) {
	if upper := strings.ToUpper(name); upper == "UTC" || upper == "GMT" {
		return time.UTC, true
	}
	if !strings.Contains(name, "/") {
		return nil, false
	}
	for _, candidate := range []string{name, capitalise(name)} {
		if zone, err := schedule.LoadZone(candidate); err == nil {
			return zone, true
		}
	}
	return nil, false
}

func capitalise(name string) string {
	b := []byte(strings.ToLower(name))
	for i := range b {
		if first := i == 0 || b[i-1] == '/' || b[i-1] == '_' || b[i-1] == '-'; first && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// zoneName returns the value of the field timezone: "" for UTC.
func zoneName(zone *time.Location) string {
	if name := zone.String(); name != "UTC" {
		return name
	}
	return ""
}

// cron reads a cron expression, with or without the word cron before it.
func cron(words []string, zone *time.Location) (Timing, bool, error) {
	asked := len(words) > 0 && strings.EqualFold(words[0], "cron")
	if asked {
		words = words[1:]
	}
	expr := strings.Join(words, " ")
	looks := len(words) == 5 && strings.Trim(words[0], "0123456789*/,-") == "" || strings.HasPrefix(expr, "@")
	if !asked && !looks {
		return Timing{}, false, nil
	}
	if _, err := schedule.ParseCron(expr, zone); err != nil {
		return Timing{}, false, fmt.Errorf("looks like a cron expression, but that %w", err)
	}
	return Timing{Cron: expr, Zone: zoneName(zone)}, true, nil
}

// split splits a text into words: in lower case, without commas, with "1h30m" and
// "9am" separated.
func split(given []string) []string {
	var words []string
	for _, word := range given {
		for part := range strings.FieldsFuncSeq(strings.ToLower(word), func(r rune) bool { return r == ',' || r == ';' }) {
			part = strings.TrimRight(part, ".!")
			if strings.ContainsAny(part, "-/") {
				words = append(words, part)
				continue
			}
			begin := 0
			for i := 1; i < len(part); i++ {
				if isDigit(part[i-1]) != isDigit(part[i]) && (isLetter(part[i-1]) || isLetter(part[i])) {
					words = append(words, part[begin:i])
					begin = i
				}
			}
			if begin < len(part) {
				words = append(words, part[begin:])
			}
		}
	}
	return words
}

func isDigit(b byte) bool  { return b >= '0' && b <= '9' }
func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }

// parser reads words from the left. It keeps the first error and reads nothing
// after it.
type parser struct {
	words []string
	next  int
	now   time.Time // in zone
	zone  *time.Location
	err   error
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) more() bool { return p.err == nil && p.next < len(p.words) }

// peek returns the word that is ahead words further; "" after the end.
func (p *parser) peek(ahead int) string {
	if p.err != nil || p.next+ahead >= len(p.words) {
		return ""
	}
	return p.words[p.next+ahead]
}

// accept reads the next word if it is one of those given.
func (p *parser) accept(words ...string) bool {
	for _, word := range words {
		if p.more() && p.peek(0) == word {
			p.next++
			return true
		}
	}
	return false
}

// timing reads the whole text.
func (p *parser) timing() Timing {
	switch {
	case !p.more(), len(p.words) == 1 && p.accept("now", "immediately"), len(p.words) == 2 && p.peek(1) == "once" && p.accept("at") &&
		p.accept("once"):
		return Timing{}
	case p.recurs():
		return p.recurrence()
	default:
		return p.start()
	}
}

// start reads a single point in time.
func (p *parser) start() Timing {
	if p.accept("in", "after") || p.isSpan() {
		if s, ok := p.span(); ok {
			p.accept("from")
			p.accept("now")
			return Timing{In: &s}
		}
		return Timing{}
	}
	at := p.moment()
	if p.err == nil && !at.After(p.now) {
		p.fail(fmt.Errorf("is in the past: that was %s", at.Format("2006-01-02 15:04 MST")))
	}
	return Timing{At: at}
}

var errNoTime = errors.New("does not say at what time; add it, as in “at 9:00”")
