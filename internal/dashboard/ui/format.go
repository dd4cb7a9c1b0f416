package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Relative formats the distance from now to t: "in 5 min", "3 h ago", "now".
// app.js formats times in the same way while a page is open.
func Relative(now, t time.Time) string {
	d := t.Sub(now)
	words := span(d.Abs())
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d > 0:
		return "in " + words
	default:
		return words + " ago"
	}
}

// Span formats a duration as Relative does.
func Span(d time.Duration) string { return span(d.Abs()) }

// span formats a duration in its largest unit, and in the next smaller one if the
// largest is below a few.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < day:
		return two(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min", 3)
	case d < 60*day:
		return two(int(d/day), "d", int(d%day/time.Hour), "h", 3)
	case d < 730*day:
		return strconv.Itoa(int(d/(30*day))) + " months"
	default:
		return strconv.Itoa(int(d/(365*day))) + " years"
	}
}

// two joins two units if the larger one is below most.
func two(large int, largeUnit string, small int, smallUnit string, most int) string {
	text := strconv.Itoa(large) + " " + largeUnit
	if large < most && small > 0 {
		text += " " + strconv.Itoa(small) + " " + smallUnit
	}
	return text
}

// ExactIn formats an instant in a zone: "2026-03-01 10:30:00 CET", with milliseconds
// unless they are 0.
func ExactIn(t time.Time, zone *time.Location) string {
	if t.Nanosecond() < int(time.Millisecond) {
		return t.In(zone).Format("2006-01-02 15:04:05 MST")
	}
	return t.In(zone).Format("2006-01-02 15:04:05.000 MST")
}

// Millis formats a measured duration: "0.4 ms", "12 ms", "1.25 s".
func Millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch size := math.Abs(ms); {
	case size < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case size < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case size < 60_000:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
	default:
		return span(d.Abs())
	}
}

// Seconds formats a configured duration: "30 s", "0.5 s".
func Seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// Period formats a configured duration in whole days, hours or minutes: "30 days".
func Period(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}} {
		if n := d / unit.length; n > 0 && d%unit.length == 0 {
			return Plural(int(n), strings.TrimSuffix(unit.name, "s"), unit.name)
		}
	}
	return Seconds(d)
}

// Count formats a number with separators: "12,345".
func Count(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// Size formats a number of bytes: "312 B", "4.1 KiB".
func Size(n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " B"
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}

// Shorten removes the middle of a text that has more than most characters. The
// beginning and the end identify a URL or an id best.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	tail := most / 3
	return string(runes[:most-tail-1]) + "…" + string(runes[len(runes)-tail:])
}

// Plural returns "1 job" or "3 jobs".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(int64(n)) + " " + many
}

// Pretty formats a JSON value over several lines; short lists and objects stay on
// one line.
func Pretty(v rawjson.Value) string {
	if len(v) > maxLaidOut {
		var b bytes.Buffer
		if indentation(v) > maxGrowth*len(v) {
			return string(v)
		}
		if err := json.Indent(&b, v, "", "  "); err != nil {
			return string(v)
		}
		return b.String()
	}
	return string(appendPretty(nil, v, 0))
}

// indentation returns an upper bound for the bytes that json.Indent adds to a
// value. Every element adds twice its depth.
func indentation(v rawjson.Value) (added int) {
	depth, inText := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{', c == '[':
			depth++
			added += 1 + 2*depth
		case c == '}', c == ']':
			depth--
			added += 1 + 2*depth
		case c == ',', c == ':':
			added += 1 + 2*depth
		}
	}
	return added
}

const (
	maxGrowth  = 4        // how many times its size a large value may grow
	maxLaidOut = 64 << 10 // bytes of a value that appendPretty formats
	maxDepth   = 12       // levels that appendPretty indents
	maxInline  = 60       // characters of a list or object on one line
)

func appendPretty(b []byte, v rawjson.Value, depth int) []byte {
	kind := v.Kind()
	if kind != '{' && kind != '[' {
		return append(b, v...)
	}
	flat, err := jsontext.AppendFormat(nil, v, jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil || depth == maxDepth || len(flat) <= maxInline && (depth > 0 || len(v) <= 2) {
		return append(b, flat...)
	}
	line := func(depth int) {
		b = append(b, '\n')
		for range depth {
			b = append(b, "  "...)
		}
	}
	b = append(b, byte(kind))
	if kind == '{' {
		for i, m := range rawjson.Members(v) {
			if i > 0 {
				b = append(b, ',')
			}
			line(depth + 1)
			b = append(rawjson.AppendText(b, m.Name), ": "...)
			b = appendPretty(b, m.Value, depth+1)
		}
	} else {
		for i, e := range rawjson.Elements(v) {
			if i > 0 {
				b = append(b, ',')
			}
			line(depth + 1)
			b = appendPretty(b, e, depth+1)
		}
	}
	line(depth)
	return append(b, map[jsontext.Kind]byte{'{': '}', '[': ']'}[kind])
}

// Clip cuts a text so that it takes at most so many bytes in a page once it is
// escaped, and returns how many bytes of the text were left out.
func Clip(text string, most int) (kept string, left int) {
	size := 0
	for i, r := range text {
		if size += sizeInPage(r); size > most {
			return text[:i], len(text) - i
		}
	}
	return text, 0
}

// sizeInPage returns the number of bytes that an escaped character takes.
func sizeInPage(r rune) int {
	switch r {
	case '<', '>':
		return len("&lt;")
	case '&', '"', '\'':
		return len("&amp;")
	default:
		return max(1, utf8.RuneLen(r))
	}
}

// Capital returns a word with a capital first letter.
func Capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// Sentence returns the text of a fault as a sentence of its own: with a capital
// first letter and a full stop.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	text = Capital(text)
	if last := text[len(text)-1]; last != '.' && last != '?' && last != '!' {
		text += "."
	}
	return text
}

// classes joins the class names that are not empty.
func classes(names ...string) string {
	return strings.Join(strings.Fields(strings.Join(names, " ")), " ")
}
