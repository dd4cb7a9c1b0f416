package schedule

import (
	"errors"
	"fmt"
	"strings"
)

// maxCron is the length of the longest expression that is read, in bytes.
// Listing every minute, hour, day, month and weekday takes a third of it.
const maxCron = 1000

const giveFive = "give five: minute hour day-of-month month day-of-week"

// shorthands are the names that stand for a whole expression.
var shorthands = map[string]string{
	"@hourly":  "0 * * * *",
	"@daily":   "0 0 * * *",
	"@weekly":  "0 0 * * 0",
	"@monthly": "0 0 1 * *",
	"@yearly":  "0 0 1 1 *",
}

// parsePattern reads an expression; see [ParseCron].
func parsePattern(expr string) (pattern, error) {
	if len(expr) > maxCron {
		return pattern{}, fmt.Errorf("has %d bytes; give at most %d", len(expr), maxCron)
	}
	words := strings.FieldsFunc(expr, isSpace)
	if len(words) == 0 {
		return pattern{}, errors.New("is empty; " + giveFive)
	}
	if first := strings.ToUpper(words[0]); strings.HasPrefix(first, "TZ=") || strings.HasPrefix(first, "CRON_TZ=") {
		return pattern{}, errors.New("can't name a zone; name it in the field timezone")
	}
	if strings.HasPrefix(words[0], "@") {
		meaning, err := expand(words)
		if err != nil {
			return pattern{}, err
		}
		words = strings.Fields(meaning)
	}
	switch n := len(words); n {
	case 5:
		return parseFields([5]string(words))
	case 1:
		return pattern{}, errors.New("has 1 field; " + giveFive)
	case 6, 7:
		return pattern{}, fmt.Errorf("has %d fields; %s", n, dropped(words))
	default:
		return pattern{}, fmt.Errorf("has %d fields; %s", n, giveFive)
	}
}

// expand gives the five fields that a shorthand stands for.
func expand(words []string) (string, error) {
	name := strings.ToLower(words[0])
	meaning, known := shorthands[name]
	switch {
	case known && len(words) == 1:
		return meaning, nil
	case known:
		return "", fmt.Errorf("has more after %s; give it alone", name)
	case name == "@reboot":
		return "", errors.New("can't be @reboot: a service has no moment of booting; " + giveFive)
	case name == "@every":
		return "", errors.New("can't be @every; use repeat_every for intervals")
	default:
		return "", fmt.Errorf("begins with %s; the known names are @hourly, @daily, @weekly, @monthly and @yearly", quote(words[0]))
	}
}

// parseFields puts the five fields together.
func parseFields(words [5]string) (pattern, error) {
	var sets [5]uint64
	for i, word := range words {
		set, err := fields[i].parse(word)
		if err != nil {
			return pattern{}, err
		}
		sets[i] = set
	}
	star := func(i int) bool { return strings.HasPrefix(words[i], "*") }
	return pattern{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		both:    star(2) || star(4),
		watched: star(0) || star(1),
	}, nil
}

// isSpace reports white space as cron knows it: others are not between fields
// but in them, and refused there.
func isSpace(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f", r) }

// quote shows a piece of an expression, shortened if need be.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return fmt.Sprintf("%q", s)
}
