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

// shorthands maps names to the expressions they mean.
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
		return pattern{}, errors.New("can't contain a time zone; give it in the field timezone")
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

// expand returns the five fields that a shorthand means.
func expand(words []string) (string, error) {
	name := strings.ToLower(words[0])
	meaning, known := shorthands[name]
	switch {
	case known && len(words) == 1:
		return meaning, nil
	case known:
		return "", fmt.Errorf("has more after %s; give nothing else", name)
	case name == "@reboot":
		return "", errors.New("can't be @reboot, because a schedule runs at times; " + giveFive)
	case name == "@every":
		return "", errors.New("can't be @every; use repeat_every for intervals")
	default:
		return "", fmt.Errorf("begins with %s; the known names are @hourly, @daily, @weekly, @monthly and @yearly", quote(words[0]))
	}
}

// parseFields parses the five fields. Its error lists the problems of all fields.
func parseFields(words [5]string) (pattern, error) {
	var p pattern
	var problems []string
	sets := [5]*uint64{&p.minutes, &p.hours, &p.days, &p.months, &p.weekdays}
	for i, word := range words {
		set, err := fields[i].parse(word, &p)
		if err != nil {
			problems = append(problems, err.Error())
		}
		*sets[i] = set
	}
	if problems != nil {
		return pattern{}, errors.New(strings.Join(problems, "; it "))
	}
	star := func(i int) bool { return words[i][0] == '*' || words[i] == "?" }
	p.both = star(2) || star(4)
	p.watched = star(0) || star(1)
	return p, nil
}

// isSpace reports whether cron separates fields at r. Other white space is part of
// a field and refused there.
func isSpace(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f", r) }

// quote quotes part of an expression, shortened if it is long.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return fmt.Sprintf("%q", s)
}
