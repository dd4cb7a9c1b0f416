package naturaltime

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/schedule"
)

// units maps what people write to the API's units.
var units = map[string]string{
	"s": "seconds", "sec": "seconds", "secs": "seconds", "second": "seconds", "seconds": "seconds",
	"m": "minutes", "min": "minutes", "mins": "minutes", "minute": "minutes", "minutes": "minutes",
	"h": "hours", "hr": "hours", "hrs": "hours", "hour": "hours", "hours": "hours",
	"d": "days", "day": "days", "days": "days",
	"w": "weeks", "wk": "weeks", "week": "weeks", "weeks": "weeks",
}

var numbers = map[string]string{
	"a": "1", "an": "1", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
	"nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "fifteen": "15", "twenty": "20", "thirty": "30", "sixty": "60",
}

// number returns the JSON number that a word means; "" for other words.
func number(word string) string {
	if n, ok := numbers[word]; ok {
		return n
	}
	whole, fraction, dotted := strings.Cut(word, ".")
	if whole == "" || len(word) > 15 || strings.Trim(whole, "0123456789") != "" || dotted &&
		(fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		return ""
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if dotted {
		return whole + "." + fraction
	}
	return whole
}

// isSpan reports whether the next words are a length of time.
func (p *parser) isSpan() bool {
	return number(p.peek(0)) != "" && units[p.peek(1)] != "" || p.peek(0) == "half"
}

// span reads a length of time such as "30 minutes", "1 h 30 min", "half an hour".
func (p *parser) span() (Span, bool) {
	var parts []Span
	if p.accept("half") {
		if !p.accept("a", "an") || units[p.peek(0)] == "" {
			p.fail(fmt.Errorf("is not understood after “half”; write “half an hour”"))
			return Span{}, false
		}
		parts = append(parts, Span{"0.5", units[p.peek(0)]})
		p.next++
	}
	for p.isSpan() && p.peek(0) != "half" {
		parts = append(parts, Span{number(p.peek(0)), units[p.peek(1)]})
		p.next += 2
		if p.peek(0) == "and" && number(p.peek(1)) != "" && units[p.peek(2)] != "" {
			p.next++
		}
	}
	if len(parts) == 0 {
		p.fail(fmt.Errorf("does not say how long; write “in 30 minutes”, with seconds, minutes, hours, days or weeks"))
		return Span{}, false
	}
	return p.sum(parts)
}

// sum adds lengths, in the smallest of their units.
func (p *parser) sum(parts []Span) (Span, bool) {
	if len(parts) == 1 {
		return parts[0], true
	}
	var micros, least int64
	unit := ""
	for _, part := range parts {
		seconds, _ := schedule.UnitSeconds(part.Unit) // they are all known
		n, err := schedule.ParseAmount(part.Amount, seconds)
		if err != nil || n > 1e17 {
			p.fail(fmt.Errorf("is too far ahead"))
			return Span{}, false
		}
		micros += n
		if unit == "" || seconds < least {
			unit, least = part.Unit, seconds
		}
	}
	if step := least * 1e6; micros%step == 0 {
		return Span{strconv.FormatInt(micros/step, 10), unit}, true
	}
	return Span{strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6), "0"), "."), "seconds"}, true
}
