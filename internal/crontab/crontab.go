package crontab

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Options describe the crontab.
type Options struct {
	// Zone is the name of the time zone of the lines before the first CRON_TZ;
	// "" stands for UTC.
	Zone string
	// System means that each line names a user between the time and the command,
	// as in /etc/crontab.
	System bool
}

// Entry is one line that runs a command.
type Entry struct {
	Line int    // from 1
	Text string // the line, without spaces around it
	// Schedule has the fields of a schedule, the first of which is its key. Nil
	// if the line can't be converted.
	Schedule rawjson.Value
	// Err says why the line can't be converted.
	Err error
	// Zone is the time zone of the line's times; Method and URL are of its request. Empty
	// if the line can't be converted.
	Zone, Method, URL string
}

// Limits of a crontab.
const (
	MaxBytes   = 1 << 20
	MaxEntries = 1000
)

// Parse returns the entries of a crontab in their order. Its error is that the
// crontab exceeds MaxBytes or MaxEntries.
func Parse(text []byte, o Options) ([]Entry, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the crontab has more than %d bytes; split it", MaxBytes)
	}
	p := parser{zone: o.Zone, system: o.System, variables: map[string]string{}, keys: map[string]int{}}
	var entries []Entry
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if m := assignment.FindStringSubmatch(line); m != nil {
			p.assign(m[1], m[2])
			continue
		}
		if len(entries) == MaxEntries {
			return nil, fmt.Errorf("the crontab has more than %d commands; split it", MaxEntries)
		}
		e := Entry{Line: i + 1, Text: line}
		e.Err = p.schedule(line, &e)
		entries = append(entries, e)
	}
	return entries, nil
}

// assignment matches a line that sets a variable.
var assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)

type parser struct {
	zone      string
	system    bool
	variables map[string]string
	keys      map[string]int // how often each key was used
	literal   bool           // nothing is evaluated
}

// assign sets a variable. Its value may be in quotes.
func (p *parser) assign(name, value string) {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	if name == "CRON_TZ" || name == "TZ" {
		p.zone = value
		return
	}
	p.variables[name] = value
}

// schedule converts a line.
func (p *parser) schedule(line string, e *Entry) error {
	cron, command, err := p.split(line)
	if err != nil {
		return err
	}
	words, jitter, err := p.words(command)
	if err != nil {
		return err
	}
	r, err := read(words)
	if err != nil {
		return err
	}
	e.Zone, e.Method, e.URL = p.zone, r.verb(), r.url
	if e.Zone == "" {
		e.Zone = "UTC"
	}
	e.Schedule = scheduleOf(p.key(r), cron, p.zone, jitter, r)
	return nil
}

// scheduleOf returns the fields of a schedule.
func scheduleOf(key, cron, zone string, jitter int, r *request) rawjson.Value {
	members := []rawjson.Member{{Name: "key", Value: rawjson.Quote(key)}, {Name: "cron", Value: rawjson.Quote(cron)}}
	if zone != "" && zone != "UTC" {
		members = append(members, rawjson.Member{Name: "timezone", Value: rawjson.Quote(zone)})
	}
	if jitter > 0 {
		members = append(members, rawjson.Member{Name: "jitter", Value: rawjson.Value(strconv.Itoa(jitter))})
	}
	return rawjson.Object(append(members, r.members()...))
}

// Command is a command that a program runs at a time.
type Command struct {
	Cron, Zone string
	// Words are the program and its arguments or, if Shell is set, the text for a shell.
	Words []string
	Shell string
	// Variables are those that the text for a shell can use.
	Variables map[string]string
}

// Convert returns the schedule, with a key, that sends the request of a command.
func (c *Command) Convert(key string) (Entry, error) {
	p := parser{variables: c.Variables, keys: map[string]int{}}
	words, jitter := c.Words, 0
	if c.Shell != "" {
		var err error
		if words, jitter, err = p.shell(c.Shell); err != nil {
			return Entry{}, err
		}
	}
	if len(words) == 0 {
		return Entry{}, errors.New("has no command")
	}
	r, err := read(words)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Schedule: scheduleOf(key, c.Cron, c.Zone, jitter, r), Zone: c.Zone, Method: r.verb(), URL: r.url}, nil
}

// split returns the cron expression and the command of a line.
func (p *parser) split(line string) (cron, command string, err error) {
	fields := 5
	if line[0] == '@' {
		fields = 1
	}
	rest := line
	var times []string
	for range fields {
		word, after, _ := cutSpace(rest)
		times, rest = append(times, word), after
	}
	if p.system {
		_, rest, _ = cutSpace(rest)
	}
	cron = strings.Join(times, " ")
	if same := synonyms[strings.ToLower(cron)]; same != "" {
		cron = same
	}
	switch {
	case rest == "":
		return "", "", errors.New("is neither a variable nor a time with a command")
	case cron == "@reboot":
		return "", "", errors.New("runs at reboot; a schedule needs a time")
	}
	return cron, rest, nil
}

// synonyms are names of times that the service knows by another name.
var synonyms = map[string]string{"@midnight": "@daily", "@annually": "@yearly"}

// cutSpace returns the first word and what follows the white space after it.
func cutSpace(s string) (word, rest string, found bool) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimLeft(s[i:], " \t"), true
}
