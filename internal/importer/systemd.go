package importer

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// unit is a unit file of systemd.
type unit struct {
	name   string // "" if it is not known
	line   int    // of [Timer] or [Service]
	values map[string][]string
	lines  map[string][]int // of the values
}

// Systemd reads timers with their services, one after the other, as
// systemctl cat NAME.timer NAME.service prints them.
func Systemd(text []byte, o Options) ([]crontab.Entry, error) {
	if len(text) > MaxBytes {
		return nil, errLarge
	}
	timers, services := units(string(text))
	var entries []crontab.Entry
	for _, t := range timers {
		for i, calendar := range t.values["OnCalendar"] {
			line, name := t.lines["OnCalendar"][i], strings.TrimSuffix(t.name, ".timer")
			e, err := t.entry(services, calendar, name, len(entries)+1, o)
			if err != nil {
				e = refused(line, calendar, err)
			}
			e.Line, e.Text = line, calendar
			entries = append(entries, e)
		}
		if len(t.values["OnCalendar"]) == 0 {
			entries = append(entries, refused(t.line, t.name,
				errors.New("is a timer without OnCalendar, which counts from the boot or the last run")))
		}
	}
	return entries, nil
}

// units returns the timers and services of a text.
func units(text string) (timers, services []*unit) {
	name := ""
	var current *unit
	physical := strings.Split(text, "\n")
	for i, last := 0, 0; i < len(physical); i = last + 1 {
		var line string
		line, last = joined(physical, i)
		switch {
		case strings.HasPrefix(line, "# /"):
			name = path.Base(line)
			if folder := path.Dir(line); strings.HasSuffix(folder, ".d") { // what is added to a unit
				name = strings.TrimSuffix(path.Base(folder), ".d")
			}
		case line == "" || isComment(line):
		case line[0] == '[':
			switch current = nil; line {
			case "[Timer]":
				current, timers = section(timers, name, i+1)
			case "[Service]":
				current, services = section(services, name, i+1)
			}
		case current != nil:
			key, value, _ := strings.Cut(line, "=")
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			if value == "" {
				current.forget(key)
				continue
			}
			current.values[key] = append(current.values[key], value)
			current.lines[key] = append(current.lines[key], i+1)
		}
	}
	return timers, services
}

// relativeTimes are the keys of times that count from the boot or the last run.
var relativeTimes = []string{"OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec"}

// forget drops what was set before an empty value of a key: all times of a timer for each
// of their keys, or the values of the key.
func (u *unit) forget(key string) {
	delete(u.values, key)
	delete(u.lines, key)
	if key == "OnCalendar" || slices.Contains(relativeTimes, key) {
		for _, also := range slices.Concat(relativeTimes, []string{"OnCalendar"}) {
			delete(u.values, also)
			delete(u.lines, also)
		}
	}
}

// section returns the unit that a section belongs to, which may be new, and all units.
func section(all []*unit, name string, line int) (*unit, []*unit) {
	if i := slices.IndexFunc(all, func(u *unit) bool { return name != "" && u.name == name }); i >= 0 {
		return all[i], all
	}
	u := &unit{name: name, line: line, values: map[string][]string{}, lines: map[string][]int{}}
	return u, append(all, u)
}

func isComment(line string) bool { return strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") }

// joined returns the line at i with those that continue it, as each but the last ends with
// a backslash, and the index of the last. Comments between them are left out.
func joined(physical []string, i int) (line string, last int) {
	line = strings.TrimSpace(physical[i])
	if isComment(line) {
		return line, i
	}
	var parts []string
	for strings.HasSuffix(line, `\`) {
		parts = append(parts, strings.TrimSuffix(line, `\`))
		line = ""
		for i++; i < len(physical); i++ {
			if next := strings.TrimSpace(physical[i]); !isComment(next) {
				line = next
				break
			}
		}
	}
	return strings.Join(append(parts, line), " "), i
}

// specifier stands for the % of a specifier until it is known whether the request has it.
const specifier = "\ue000"

var percent = regexp.MustCompile(`%[%A-Za-z]`)

// unspecified replaces %% by %, and the % of a specifier such as %h by specifier.
func unspecified(text string) string {
	return percent.ReplaceAllStringFunc(text, func(found string) string {
		if found == "%%" {
			return "%"
		}
		return specifier + found[1:]
	})
}

const assigned = `"[^"\\]*"|'[^'\\]*'|[^\s"'\\]+`

var (
	assignment  = regexp.MustCompile(assigned)
	assignments = regexp.MustCompile(`^(?:(?:` + assigned + `)(?:\s+|$))*$`)
)

// variables returns what Environment= sets, except for values that a shell would split or
// expand where systemd does not. None are known if a file may replace them, or if quotes
// within words or backslashes would have to be read.
func (s *unit) variables() map[string]string {
	if s.values["EnvironmentFile"] != nil {
		return nil
	}
	known := map[string]string{}
	for _, text := range s.values["Environment"] {
		if !assignments.MatchString(text) {
			return nil
		}
		for _, word := range assignment.FindAllString(text, -1) {
			name, value, ok := strings.Cut(strings.Trim(word, `"'`), "=")
			if ok && !strings.ContainsAny(value, " \t*?[") {
				known[name] = unspecified(value)
			} else {
				delete(known, name)
			}
		}
	}
	return known
}

func (t *unit) entry(services []*unit, calendar, name string, number int, o Options) (e crontab.Entry, err error) {
	for _, also := range relativeTimes {
		if t.values[also] != nil {
			return e, fmt.Errorf("belongs to a timer with %s, which counts from the boot or the last run", also)
		}
	}
	expr, zone, err := cronOfCalendar(calendar)
	if err != nil {
		return e, err
	}
	if zone == "" {
		zone = o.Zone
	}
	if zone == "" {
		return e, errors.New("has no time zone; --zone must name that of its machine")
	}
	want := name + ".service"
	if u := t.values["Unit"]; u != nil {
		want = u[len(u)-1]
	}
	i := slices.IndexFunc(services, func(s *unit) bool { return s.name == want || s.name == "" && len(services) == 1 })
	if i < 0 {
		return e, fmt.Errorf("starts %s, which is not in the file", want)
	}
	for _, also := range []string{"ExecCondition", "ExecStartPre", "ExecStartPost", "ExecStopPost"} {
		if services[i].values[also] != nil {
			return e, fmt.Errorf("has %s beside ExecStart; a schedule sends the request only", also)
		}
	}
	start := services[i].values["ExecStart"]
	if len(start) != 1 {
		return e, errors.New("runs no command or several; a schedule sends one request")
	}
	if name == "" {
		name = "timer-" + strconv.Itoa(number)
	}
	command := crontab.Command{Cron: expr, Zone: zone, Shell: unspecified(strings.TrimLeft(start[0], "-@:+!")),
		Variables: services[i].variables()}
	if e, err = command.Convert("systemd:" + name + "#" + strconv.Itoa(number)); err != nil {
		text := strings.ReplaceAll(err.Error(), specifier, "%")
		if services[i].values["EnvironmentFile"] != nil && strings.Contains(text, "uses the variable") {
			text += "; EnvironmentFile may set it and is not read: write the value into the command"
		}
		return e, errors.New(text)
	}
	if _, after, found := strings.Cut(string(e.Schedule), specifier); found {
		return e, fmt.Errorf("sends the value of %%%c, which only systemd knows; write it out", after[0])
	}
	err = t.spread(&e, expr, zone, o.Now)
	return e, err
}

// spread makes RandomizedDelaySec the jitter of a schedule.
func (t *unit) spread(e *crontab.Entry, expr, zone string, now time.Time) error {
	values := t.values["RandomizedDelaySec"]
	if len(values) == 0 {
		return nil
	}
	seconds, ok := timeSpan(values[len(values)-1])
	if !ok {
		return fmt.Errorf("has the RandomizedDelaySec %q, which can't be read", values[len(values)-1])
	}
	distance, err := distanceOf(expr, zone, now)
	if err != nil {
		return err
	}
	f := fields(rawjson.Members(e.Schedule))
	f.jitter(seconds, distance)
	e.Schedule = rawjson.Object(f)
	return nil
}

var (
	spanPart = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*`)
	spans    = map[string]float64{
		"": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "ms": .001, "msec": .001, "m": 60, "min": 60, "minute": 60, "minutes": 60,
		"h": 3600, "hr": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400, "w": 604800, "week": 604800,
		"weeks": 604800,
	}
)

// timeSpan returns the seconds of a time span of systemd, such as 90, 5min or 1h 30min.
func timeSpan(text string) (seconds float64, ok bool) {
	if strings.TrimSpace(spanPart.ReplaceAllString(text, "")) != "" {
		return 0, false
	}
	for _, part := range spanPart.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		unit, known := spans[part[2]]
		if err != nil || !known {
			return 0, false
		}
		seconds, ok = seconds+n*unit, true
	}
	return seconds, ok && seconds < 366*86400
}

// calendars are the names of times.
var calendars = map[string]string{
	"minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 1", "monthly": "0 0 1 * *",
	"yearly": "0 0 1 1 *", "annually": "0 0 1 1 *", "quarterly": "0 0 1 1,4,7,10 *", "semiannually": "0 0 1 1,7 *",
}

var zoneWord = regexp.MustCompile(`^(UTC|GMT|CET|EET|WET|[A-Z][A-Za-z_]+/[A-Za-z0-9_/+-]+)$`)

// cronOfCalendar returns the cron expression and the zone of a time as systemd.time(7)
// describes it: DAYS YEAR-MONTH-DAY HOUR:MINUTE:SECOND ZONE.
func cronOfCalendar(text string) (expr, zone string, err error) {
	words := strings.Fields(text)
	if n := len(words); n > 1 && zoneWord.MatchString(words[n-1]) {
		zone, words = words[n-1], words[:n-1]
	}
	if len(words) == 1 && calendars[strings.ToLower(words[0])] != "" {
		return calendars[strings.ToLower(words[0])], zone, nil
	}
	weekday, month, day, clock := "*", "*", "*", "00:00:00"
	for _, word := range words {
		switch {
		case strings.Contains(word, ":"):
			clock = word
		case strings.Contains(word, "-") && !isLetter(word[0]):
			parts := strings.Split(word, "-")
			if len(parts) == 3 && parts[0] != "*" {
				return "", "", fmt.Errorf("is restricted to the years %s", parts[0])
			}
			if len(parts) == 2 {
				parts = append([]string{"*"}, parts...)
			}
			if len(parts) != 3 {
				return "", "", fmt.Errorf("has the date %s, which can't be read", word)
			}
			month, day = parts[1], parts[2]
		case isLetter(word[0]):
			weekday = strings.ReplaceAll(strings.TrimSuffix(word, ","), "..", "-")
		default:
			return "", "", fmt.Errorf("has %q, which can't be read", word)
		}
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 3 && strings.Trim(parts[2], "0") != "" {
		return "", "", fmt.Errorf("runs at second %s; cron expressions have minutes", parts[2])
	}
	if len(parts) < 2 || len(parts) > 3 {
		return "", "", fmt.Errorf("has the time %s, which can't be read", clock)
	}
	if weekday != "*" && day != "*" {
		return "", "", errors.New("restricts the day of the month and the day of the week: both must match there, either is enough here")
	}
	for _, field := range []string{month, day, parts[0], parts[1]} {
		if strings.Contains(field, "~") || strings.Contains(field, ".") && !strings.Contains(field, "..") {
			return "", "", fmt.Errorf("has %q, which cron expressions can't say", field)
		}
	}
	return strings.Join([]string{cronField(parts[1]), cronField(parts[0]), cronField(day), cronField(month), cronWeekdays(weekday)}, " "),
		zone, nil
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// cronField writes a list of numbers as cron does: without leading zeros, ranges with -.
func cronField(list string) string {
	parts := strings.Split(strings.ReplaceAll(list, "..", "-"), ",")
	for i, part := range parts {
		begin, step, stepped := strings.Cut(part, "/")
		ends := strings.Split(begin, "-")
		for k, n := range ends {
			if trimmed := strings.TrimLeft(n, "0"); trimmed != "" || n == "" || n == "*" {
				ends[k] = trimmed
			} else {
				ends[k] = "0"
			}
		}
		parts[i] = strings.Join(ends, "-")
		if stepped {
			parts[i] += "/" + step
		}
	}
	return strings.Join(parts, ",")
}

// cronWeekdays writes days of the week with three letters each.
func cronWeekdays(list string) string {
	if list == "*" {
		return list
	}
	var b strings.Builder
	letters := 0
	for i := range len(list) {
		if !isLetter(list[i]) {
			letters = 0
			b.WriteByte(list[i])
		} else if letters++; letters <= 3 {
			b.WriteByte(list[i] &^ 0x20)
		}
	}
	return b.String()
}
