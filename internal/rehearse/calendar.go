package rehearse

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// CalendarType is the media type of a calendar (RFC 5545).
const CalendarType = "text/calendar"

// maxEvents is how many runs a calendar has.
const maxEvents = 10_000

// Calendar collects the runs of a rehearsal as events: its method Add is for Plan.Each.
type Calendar struct {
	starts []Start
	left   int64 // that found no place
}

// Add adds a run.
func (c *Calendar) Add(s Start) {
	if len(c.starts) >= maxEvents {
		c.left++
		return
	}
	c.starts = append(c.starts, s)
}

// Append appends the calendar of a result.
func (c *Calendar) Append(b []byte, r *Result) []byte {
	line := func(name, value string) { b = appendFolded(b, name+":"+value) }
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//punctual//rehearse//EN")
	line("CALSCALE", "GREGORIAN")
	if c.left > 0 {
		line("X-WR-CALDESC", fmt.Sprintf("The first %d of %d runs", len(c.starts), r.Runs))
	}
	stamp := r.From.UTC().Format(calendarTime)
	for i, s := range c.starts {
		if r.Cut != nil && !s.At.Before(r.Cut.At) {
			break
		}
		o := &r.Schedules[s.Entry]
		name := o.ID
		if o.Key != nil {
			name = *o.Key
		}
		line("BEGIN", "VEVENT")
		line("UID", fmt.Sprintf("%d-%d-%d@rehearse.punctual", s.At.UnixMicro(), s.Entry, i))
		line("DTSTAMP", stamp)
		line("DTSTART", s.At.UTC().Format(calendarTime))
		line("DURATION", "PT0S")
		line("SUMMARY", calendarText(name))
		if !s.At.Equal(s.Due) {
			line("DESCRIPTION", calendarText("Due at "+s.Due.UTC().Format(time.RFC3339)))
		}
		line("TRANSP", "TRANSPARENT")
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	return b
}

const calendarTime = "20060102T150405Z"

// calendarText escapes a text.
func calendarText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(text)
}

// appendFolded appends a line, divided into parts of at most 75 bytes.
func appendFolded(b []byte, line string) []byte {
	for most := 75; len(line) > most; most = 74 {
		n := most
		for !utf8.RuneStart(line[n]) {
			n--
		}
		b = append(append(b, line[:n]...), "\r\n "...)
		line = line[n:]
	}
	return append(append(b, line...), "\r\n"...)
}
