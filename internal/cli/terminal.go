package cli

import (
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/punctual-dev/punctual/client"
)

// terminal is how output is shown. The zero value is a file or a pipe.
type terminal struct {
	interactive bool
	width       int // of a line in cells; 0 for any
	colours     bool
	zone        *time.Location // of times; nil for RFC 3339 in UTC
}

// The width of a terminal that doesn't tell it, and the least that tables are
// fitted to.
const (
	usualWidth = 80
	leastWidth = 40
)

// terminalOf describes what out is connected to.
func terminalOf(out io.Writer) terminal {
	if !isTerminal(out) {
		return terminal{}
	}
	t := terminal{interactive: true, width: usualWidth, zone: time.Local}
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			t.width = columns
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		t.width = columns
	}
	t.width = max(t.width, leastWidth)
	t.colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
	return t
}

// with returns the terminal with colours as --color says.
func (t terminal) with(colour string) terminal {
	switch colour {
	case "always":
		t.colours = true
	case "never":
		t.colours = false
	}
	return t
}

// colour is a graphic rendition of ECMA-48; "" is none.
type colour string

// The colours of states.
const (
	plain  colour = ""
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
	faint  colour = "2"
)

// stateColours are the colours of the states of jobs, operations and schedules.
var stateColours = map[string]colour{
	"executing": cyan, "retryable": yellow, "completed": green, "discarded": red, "cancelled": faint,
	"running": cyan, "finished": green, "stopped": faint, "disabled": faint, "paused": yellow,
}

// paint returns text in a colour.
func (t terminal) paint(c colour, text string) string {
	if !t.colours || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// state returns a state in its colour.
func (t terminal) state(text string) string { return t.paint(stateColours[text], printable(text)) }

// moment returns a time of the API for the reader: in the local zone at a
// terminal, and otherwise RFC 3339 in UTC, without a fraction if it is zero.
func (t terminal) moment(at client.Time) string {
	if t.zone == nil && at.Nanosecond() == 0 {
		return at.UTC().Format(time.RFC3339)
	}
	return t.instant(at.Time)
}

// momentOrDash returns a time that may be missing as moment does.
func (t terminal) momentOrDash(at *client.Time) string {
	if at == nil {
		return "-"
	}
	return t.moment(*at)
}

// instant returns an exact time as moment does.
func (t terminal) instant(at time.Time) string {
	if t.zone == nil {
		return at.UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	}
	return at.In(t.zone).Format("2006-01-02 15:04:05 MST")
}

// counted returns "1 job" or "3 jobs".
func counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(int64(n), 10) + " " + many
}

// printable makes text from elsewhere safe for a terminal: control characters and
// those that change the direction of text are written as in Go, such as \x1b and
// \u202e.
func printable(text string) string {
	if !strings.ContainsFunc(text, unsafeRune) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafeRune(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printableLines is printable for text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'

func unsafeRune(r rune) bool {
	return r == utf8.RuneError || r != ' ' && r != zeroWidthJoiner && r != zeroWidthNonJoiner && !unicode.IsPrint(r)
}

// cells returns how many cells of a terminal text takes.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit shortens text to a number of cells, at least 1.
func fit(text string, most int) string {
	if cells(text) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n += cellsOf(r); n > most-1 {
			return text[:i] + "…"
		}
	}
	return text
}
