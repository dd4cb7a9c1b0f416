package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Options are what files of some systems don't say.
type Options struct {
	// Zone is that of times without one, where it depends on a machine; "" if it is
	// unknown.
	Zone string
	// BaseURL is where the paths of vercel.json are served.
	BaseURL string
	// Repository (OWNER/NAME) and Ref are where the workflows of GitHub run.
	Repository, Ref string
	// Targets are the URLs of the targets that AWS names by ARN.
	Targets map[string]string
	// Now is when the schedules are created.
	Now time.Time
}

// Importer reads the files of one system.
type Importer struct {
	Name string
	// Parse returns the entries of a file in their order. Its error is that the file
	// can't be read.
	Parse func(text []byte, o Options) ([]crontab.Entry, error)
}

// Importers are all importers, beside that of crontabs.
var Importers = []Importer{
	{"kubernetes", Kubernetes},
	{"vercel", Vercel},
	{"github", GitHub},
	{"google", Google},
	{"aws", AWS},
	{"systemd", Systemd},
}

// MaxBytes is the size of the largest file that is read.
const MaxBytes = 8 << 20

var errLarge = fmt.Errorf("the file has more than %d bytes; split it", MaxBytes)

// lines finds the lines of values in a text, in order.
type lines struct {
	text    []byte
	from    int
	line    int // lines that end before from
	further int // bytes that were searched beyond maxAhead, up to maxFurther
}

// Values may be written otherwise than they read, as with escapes, and are not found then.
// So that a long file is not scanned for each of them, lines looks for a value in the next
// maxAhead bytes, and beyond in at most maxFurther bytes for all values of a file together.
const (
	maxAhead   = 1 << 20
	maxFurther = 32 * MaxBytes
)

// of returns the line of the next place at which one of the texts stands, from 1; the line
// that the search began in if none is found.
func (l *lines) of(texts ...string) int {
	near := l.text[l.from:min(len(l.text), l.from+maxAhead)]
	for _, text := range texts {
		if i := bytes.Index(near, []byte(text)); i >= 0 && text != "" {
			return l.found(i, len(text))
		}
	}
	for _, text := range texts {
		begin := max(0, len(near)-len(text)) // a text may begin before the end of near
		rest := l.text[l.from+begin:]
		if text == "" || len(rest) <= len(text) || len(rest) > maxFurther-l.further {
			continue
		}
		i := bytes.Index(rest, []byte(text))
		if i >= 0 {
			l.further += i
			return l.found(begin+i, len(text))
		}
		l.further += len(rest)
	}
	return 1 + l.line
}

// found goes on behind a text of a length that stands i bytes ahead, and returns its line.
func (l *lines) found(i, length int) int {
	line := 1 + l.line + bytes.Count(l.text[l.from:l.from+i], []byte("\n"))
	l.line += bytes.Count(l.text[l.from:l.from+i+length], []byte("\n"))
	l.from += i + length
	return line
}

// refused returns the entry of what can't be imported.
func refused(line int, text string, err error) crontab.Entry {
	return crontab.Entry{Line: line, Text: text, Err: err}
}

// fields are the members of a schedule.
type fields []rawjson.Member

func (f *fields) text(name, value string) {
	if value != "" {
		*f = append(*f, rawjson.Member{Name: name, Value: rawjson.Quote(value)})
	}
}

func (f *fields) raw(name, value string) {
	*f = append(*f, rawjson.Member{Name: name, Value: rawjson.Value(value)})
}

// jitter adds a jitter of so many seconds. It must be shorter than the smallest distance of
// two runs, which other systems don't require: the longest one that a schedule may have then
// spreads it the most.
func (f *fields) jitter(seconds float64, distance time.Duration) {
	longest := int64((distance - 1) / time.Second)
	if n := min(int64(math.Ceil(seconds)), longest); n > 0 {
		f.raw("jitter", strconv.FormatInt(n, 10))
	}
}

// distanceOf returns the smallest distance of the next runs of an expression.
func distanceOf(expr, zone string, now time.Time) (time.Duration, error) {
	location, err := schedule.LoadZone(zone)
	if err != nil {
		return 0, fmt.Errorf("timezone %w", err)
	}
	cron, err := schedule.ParseCron(expr, location)
	if err != nil {
		return 0, fmt.Errorf("cron %w", err)
	}
	return schedule.Distance(cron, now), nil
}

// zone adds a time zone unless it is UTC.
func (f *fields) zone(name string) {
	if name != "" && name != "UTC" && name != "Etc/UTC" {
		f.text("timezone", name)
	}
}

// withoutBOM returns a text without the byte order mark that Windows puts before it.
func withoutBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

func readJSON(text []byte, into any) error {
	if len(text) > MaxBytes {
		return errLarge
	}
	if err := json.Unmarshal(withoutBOM(text), into); err != nil {
		return fmt.Errorf("the file is not the JSON that is expected: %w", err)
	}
	return nil
}

// fiveFields returns an expression if it has five fields; other notations would need a
// conversion.
func fiveFields(expr string) (string, error) {
	words := strings.Fields(expr)
	if len(words) == 1 && strings.HasPrefix(words[0], "@") {
		switch strings.ToLower(words[0]) {
		case "@hourly", "@daily", "@weekly", "@monthly", "@yearly":
			return strings.ToLower(words[0]), nil
		case "@midnight":
			return "@daily", nil
		case "@annually":
			return "@yearly", nil
		}
	}
	if len(words) > 0 && (words[0] == "every" || words[0] == "@every") {
		return "", fmt.Errorf("has the time %q, an interval that counts from a start which the file doesn't say; "+
			"create a schedule with repeat_every", expr)
	}
	if len(words) != 5 {
		return "", fmt.Errorf("has the time %q, which is no cron expression of five fields", expr)
	}
	return strings.Join(words, " "), nil
}

// unionOfDays refuses an expression that restricts both days with a step of *, which this
// service reads as in Vixie cron: such a field does not restrict, and both must match.
func unionOfDays(expr string) error {
	words := strings.Fields(expr)
	if len(words) != 5 {
		return nil
	}
	stepped := func(word string) bool { return len(word) > 1 && word[0] == '*' }
	free := func(word string) bool { return word == "*" || word == "?" }
	if stepped(words[2]) && !free(words[4]) || stepped(words[4]) && !free(words[2]) {
		return errors.New("restricts the day of the month and the day of the week, one of them with a step: either is enough there, both must match here; write the days out")
	}
	return nil
}
