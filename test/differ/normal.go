package differ

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// symbols stand for the ids of a run on one side, in the order of their appearance.
type symbols struct{ names map[string]string }

func newSymbols() *symbols { return &symbols{names: map[string]string{}} }

func (s *symbols) of(kind, id string) string {
	key := kind + id
	if s.names[key] == "" {
		s.names[key] = fmt.Sprintf("<%s %d>", kind, len(s.names)+1)
	}
	return s.names[key]
}

// known returns the symbol of an id, if it has one.
func (s *symbols) known(kind, id string) string { return s.names[kind+id] }

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// publicKeys are those of an account's signatures.
	publicKeys = regexp.MustCompile(`whpk_[A-Za-z0-9+/]{43}=`)
	// times are those of records and those that details of problems show.
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?`)
	// numbered are the places of jobs' numbers in texts.
	numbered = regexp.MustCompile(`(\bjobs? |\bjob:|/jobs/)(\d+)`)
	// revisions are those of groups, which are times.
	revisions = regexp.MustCompile(`\brevision \d{13,}`)
	// durations and jobMembers are members of payloads.
	durations  = regexp.MustCompile(`"duration_ms": ?[\d.]+`)
	jobMembers = regexp.MustCompile(`"\$job": ?\{[^}]*\}`)
)

// near is how far from the beginning a time of whole seconds may be to depend on the
// clock. Further ones were sent by the sequence.
const near = 400 * 24 * time.Hour

// text returns a text with symbols for what differs between the sides.
func (s *side) text(text string) string {
	text = strings.ReplaceAll(text, s.target.url, "<target>")
	text = strings.ReplaceAll(text, s.url, "<service>")
	text = strings.ReplaceAll(text, fmt.Sprintf("/hold/%d-", s.run), "/hold/")
	text = uuids.ReplaceAllStringFunc(text, func(id string) string { return s.symbols.of("id", id) })
	text = publicKeys.ReplaceAllStringFunc(text, func(key string) string { return s.symbols.of("public key", key) })
	text = times.ReplaceAllStringFunc(text, s.time)
	text = revisions.ReplaceAllString(text, "revision <of a group>")
	return numbered.ReplaceAllStringFunc(text, func(found string) string {
		parts := numbered.FindStringSubmatch(found)
		return parts[1] + s.symbols.of("job", parts[2])
	})
}

// time returns what stands for a time: its distance from the beginning in half hours,
// which is the same on both sides, and its format.
func (s *side) time(text string) string {
	at, err := time.Parse("2006-01-02T15:04:05.999999999Z07:00", strings.TrimSuffix(text, "Z")+"Z")
	if err != nil {
		return text
	}
	distance := at.Sub(s.begun)
	if distance.Abs() > near && at.Nanosecond() == 0 {
		return text
	}
	return fmt.Sprintf("<now%+.1fh,%d>", distance.Round(30*time.Minute).Hours()+0, len(text))
}

// head returns the status and the headers of a response, with symbols.
func (s *side) head(r *response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", r.status)
	for _, name := range []string{"Content-Type", "ETag", "Location", "Preference-Applied"} {
		value := r.header.Get(name)
		if name == "ETag" && len(value) > 12 {
			value = s.symbols.of("tag", value) // of a document; those of records are revisions
		}
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, s.text(value))
		}
	}
	for _, name := range []string{"Link", "Retry-After", "WWW-Authenticate"} {
		if r.header.Get(name) != "" {
			fmt.Fprintf(&b, "%s\n", name)
		}
	}
	return b.String()
}

// body returns a JSON text, a member or element a line, with symbols.
func (s *side) body(body []byte) string {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	w := &writer{side: s}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return w.b.String()
		}
		if err != nil {
			return s.text(string(body))
		}
		w.token(token)
	}
}

// writer writes tokens of JSON.
type writer struct {
	*side
	b     strings.Builder
	stack []level
}

// level is an object or an array that is open.
type level struct {
	object bool
	key    bool   // a member's name comes next
	name   string // of the member, or of the array
}

func (w *writer) token(token json.Token) {
	top := len(w.stack) - 1
	if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
		w.stack = w.stack[:top]
		w.line(delim.String())
		w.valueEnds()
		return
	}
	if top >= 0 && w.stack[top].key {
		w.stack[top].key, w.stack[top].name = false, token.(string)
		return
	}
	name := ""
	if top >= 0 {
		name = w.stack[top].name
	}
	if delim, ok := token.(json.Delim); ok {
		w.line(delim.String())
		w.stack = append(w.stack, level{object: delim == '{', key: delim == '{', name: name})
		return
	}
	w.line(w.scalar(name, token))
	w.valueEnds()
}

func (w *writer) valueEnds() {
	if top := len(w.stack) - 1; top >= 0 && w.stack[top].object {
		w.stack[top].key = true
	}
}

func (w *writer) line(text string) {
	w.b.WriteString(strings.Repeat(" ", len(w.stack)))
	if top := len(w.stack) - 1; top >= 0 && w.stack[top].object && text != "}" && text != "]" {
		w.b.WriteString(w.stack[top].name + ": ")
	}
	w.b.WriteString(text + "\n")
}

// numbers are the names of members that have the number of a job.
var numbers = []string{"job_id", "id", "rerun_of", "reruns", "jobs", "parent", "children", "failed_jobs"}

func (w *writer) scalar(name string, token json.Token) string {
	switch value := token.(type) {
	case json.Number:
		switch {
		case slices.Contains(numbers, name):
			return w.symbols.of("job", value.String())
		case name == "revision" && len(value) > 12: // of a group
			return w.symbols.of("tag", `"`+value.String()+`"`)
		case name == "duration_ms":
			return "<duration>"
		}
		return value.String()
	case string:
		return strconv.Quote(w.text(value))
	default:
		return fmt.Sprint(value)
	}
}
