package jobquery

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/job"
)

// MaxBytes is the maximum length of a query in bytes.
const MaxBytes = 1000

// TextParameter is the parameter of the text that is searched for.
const TextParameter = "q"

// Options say how times are read.
type Options struct {
	Now  time.Time
	Zone *time.Location // of times without one; nil stands for UTC
}

// Error is why a query can't be read. Its text is a sentence.
type Error struct {
	Word   string // the word that is wrong; "" for the query as a whole
	Detail string // completes "WORD …"
}

func (e *Error) Error() string {
	if e.Word == "" {
		return "The query " + e.Detail + "."
	}
	sentence := "“" + shorten(e.Word) + "” " + e.Detail
	if strings.HasSuffix(sentence, "?") {
		return sentence
	}
	return sentence + "."
}

// states are the words that select a state, beside the names that the filter knows.
var states = map[string]job.State{
	"waiting": job.Available, "running": job.Executing, "retrying": job.Retryable, "succeeded": job.Completed, "failed": job.Discarded,
	"canceled": job.Cancelled,
}

// stateOf returns the value of the filter for a word that selects a state.
func stateOf(word string) (value string, ok bool) {
	word = strings.ToLower(word)
	if state, known := states[word]; known {
		return state.String(), true
	}
	return word, job.StatesNamed(word) != nil
}

// aliases are further names of filters.
var aliases = map[string]string{
	"is": "state", "key": "idempotency_key", "error": "error_kind", "url": "host", "from": "since", "after": "since", "before": "until",
}

// filterNamed returns the filter that a name in a query stands for.
func filterNamed(name string) *job.Filter {
	name = strings.ToLower(name)
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	for _, f := range job.FiltersOf(job.OfJobs) {
		if name == f.Short() || name == f.Name {
			return f
		}
	}
	return nil
}

// word returns the name of a filter in queries.
func word(f *job.Filter) string {
	switch f.Name {
	case "idempotency_key":
		return "key"
	case "error_kind":
		return "error"
	}
	return f.Short()
}

func names() []string {
	var all []string
	for _, f := range job.FiltersOf(job.OfJobs) {
		all = append(all, word(f))
	}
	return all
}

// Parse returns the parameters of GET /api/jobs that a query stands for. The value of
// schedule_id may be key:KEY, which the caller replaces by the schedule's id. Its error
// is an [Error].
func Parse(text string, o Options) (url.Values, error) {
	if len(text) > MaxBytes {
		return nil, &Error{Detail: fmt.Sprintf("may have at most %d bytes", MaxBytes)}
	}
	if !utf8.ValidString(text) {
		return nil, &Error{Detail: "must be valid UTF-8"}
	}
	terms, err := split(text)
	if err != nil {
		return nil, err
	}
	values, from := url.Values{}, map[string]string{}
	var texts []string
	for _, t := range terms {
		f, value, err := t.filter()
		switch {
		case err != nil:
			return nil, err
		case f == nil:
			if strings.TrimSpace(value) != "" {
				texts = append(texts, value)
			}
			continue
		case values.Has(f.Name) && !f.Repeats():
			return nil, &Error{t.source, "is a second " + word(f) + "; give one"}
		case f.Name == "since" || f.Name == "until":
			at, ok := readTime(value, o)
			if !ok {
				return nil, &Error{t.source, `is not understood as a time; write ` + word(f) + `:2h, ` + word(f) +
					`:"yesterday 22:00" or ` + word(f) + `:2026-03-01`}
			}
			value = at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
		}
		values.Add(f.Name, value)
		from[f.Name] = t.source
	}
	if len(texts) > 0 {
		values.Set(TextParameter, strings.Join(texts, " "))
	}
	return values, check(values, from)
}

// check has the table of filters check values.
func check(values url.Values, from map[string]string) error {
	checked := url.Values{}
	for name, texts := range values {
		if name != TextParameter && !(name == "schedule_id" && strings.HasPrefix(texts[0], "key:")) {
			checked[name] = texts
		}
	}
	p := job.Parameters{Values: checked}
	p.Filters(job.OfJobs)
	if len(p.Problems) == 0 {
		return nil
	}
	problem := p.Problems[0]
	return &Error{from[problem.Parameter], "can't be used: " + word(filterNamed(problem.Parameter)) + " " + problem.Detail}
}

// term is a word of a query.
type term struct {
	source string // as it was typed
	name   string // before the colon
	value  string // after it, or the whole, without quotes
	named  bool   // it has a colon outside quotes
	quoted bool   // it begins with a quote
}

// filter returns what a term means: a filter with its value, or nil and the text to
// search for.
func (t *term) filter() (f *job.Filter, value string, err error) {
	if !t.named {
		if state, ok := stateOf(t.value); ok && !t.quoted {
			return filterNamed("state"), state, nil
		}
		return nil, t.value, nil
	}
	f = filterNamed(t.name)
	switch {
	case f == nil:
		return nil, "", unknown(t)
	case t.value == "":
		return nil, "", &Error{t.source, "has no value; write " + word(f) + ":VALUE"}
	case f.Name == "state":
		state, ok := stateOf(t.value)
		if near, found := job.Nearest(t.value, stateWords()); !ok && found {
			return nil, "", &Error{t.source, "is not a state; did you mean " + near + "?"}
		}
		return f, state, nil
	}
	return f, t.value, nil
}

// unknown returns the error for a name that no filter has.
func unknown(t *term) error {
	if near, ok := job.Nearest(t.name, append(names(), "is")); ok {
		return &Error{t.name, "is not a filter; did you mean " + near + ":?"}
	}
	return &Error{t.name, "is not a filter; there are " + strings.Join(names(), ", ") +
		`. To search for the text, put it in quotes; for a tag, write tag:` + shorten(t.source)}
}

// split returns the words of a query.
func split(text string) (terms []term, err error) {
	for rest := strings.TrimLeft(text, spaces); rest != ""; rest = strings.TrimLeft(rest, spaces) {
		var t term
		if t, rest, err = next(rest); err != nil {
			return nil, err
		}
		terms = append(terms, t)
	}
	return terms, nil
}

const spaces = " \t\r\n"

// next reads the first word of a text that begins with one.
func next(text string) (t term, rest string, err error) {
	var b strings.Builder
	quoted, i := false, 0
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(spaces, c) >= 0:
			t.source, t.value, t.quoted = text[:i], b.String(), text[0] == '"'
			return t, text[i:], nil
		case !quoted && c == ':' && !t.named && text[0] != '"' && isName(text[:i]) && !strings.HasPrefix(text[i:], "://"):
			t.named, t.name = true, text[:i]
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return t, "", &Error{text, "has a quote that is not closed"}
	}
	t.source, t.value, t.quoted = text, b.String(), text[0] == '"'
	return t, "", nil
}

// isName reports whether a text could be the name of a filter: those of hosts with a port
// and times of day are not.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == ""
}

// Format returns the query of parameters; those that no query has are left out. Parse
// returns the same parameters for it.
func Format(values url.Values) string {
	var words []string
	for _, f := range job.FiltersOf(job.OfJobs) {
		for _, text := range values[f.Name] {
			switch {
			case f.Name == "state":
				words = append(words, stateWord(text))
			case text != "":
				words = append(words, word(f)+":"+quote(text, false))
			}
		}
	}
	if text := values.Get(TextParameter); text != "" {
		words = append(words, textWords(text))
	}
	return strings.Join(words, " ")
}

// textWords returns a text to search for as words, or in quotes if its words mean
// something else.
func textWords(text string) string {
	if read, err := Parse(text, Options{}); err == nil && len(read) == 1 && read.Get(TextParameter) == text {
		return text
	}
	return quote(text, true)
}

// quote returns a text as part of a query, in quotes where it needs them.
func quote(text string, always bool) string {
	if !always && !strings.ContainsAny(text, spaces+`"\`) {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// stateWord returns the word that selects a value of the filter for states.
func stateWord(value string) string {
	if value == job.Discarded.String() {
		return "failed"
	}
	if _, ok := stateOf(value); ok {
		return value
	}
	return "state:" + quote(value, false)
}

func stateWords() []string {
	return append(slices.Sorted(maps.Keys(states)), job.StateFilters()...)
}

// shorten bounds text that is quoted in an error.
func shorten(s string) string {
	if utf8.RuneCountInString(s) <= 40 {
		return s
	}
	return string([]rune(s)[:39]) + "…"
}
