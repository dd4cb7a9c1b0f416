package job

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// read reads the texts of a filter, of which there is one unless it repeats. It
// returns what is wrong with them; "" if nothing is.
func (f *Filter) read(s *Selection, texts []string) (why string) {
	text := texts[0]
	switch v := f.field(s).(type) {
	case *[]string:
		*v, why = readTagTexts(texts)
	case *[]State:
		if *v = StatesNamed(text); *v == nil {
			return "must be one of " + strings.Join(StateFilters(), ", ")
		}
	case *time.Time:
		at, err := ReadInstant(text)
		if err != nil {
			return err.Error()
		}
		*v = at
	case *uuid.UUID:
		id, valid := ParseID(text)
		if !valid {
			return "must be a UUID"
		}
		if id == uuid.Nil {
			id = uuid.Max // no record has either of them, and Nil is no filter
		}
		*v = id
	case *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
			return "must be a whole number, 1 or more"
		}
		*v = n
	case **Ref:
		ref, valid := ParseRef(text)
		if text == uuid.Nil.String() {
			ref, valid = Ref{UUID: uuid.Max}, true // as above
		}
		if !valid {
			return "must be a job's integer id or UUID"
		}
		*v = &ref
	case *string:
		*v, why = f.text(text)
	case **string:
		if text, why = f.text(text); why == "" {
			*v = &text
		}
	}
	return why
}

// text reads a text of 1 to 255 characters that satisfies the filter's check.
func (f *Filter) text(text string) (value, why string) {
	if n := utf8.RuneCountInString(text); n < 1 || n > 255 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", textRule
	}
	if f.check != nil {
		return f.check(text)
	}
	return text, ""
}

const textRule = "must have 1 to 255 characters"

func readTagTexts(texts []string) (tags []string, why string) {
	for _, tag := range texts {
		if !IsTag(tag) {
			return nil, TagRule
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > MaxTags {
		return nil, "must be given at most 10 times: no job has more tags"
	}
	return tags, ""
}

// ReadEvent reads the name of an event; why says what is wrong with it, if anything.
func ReadEvent(text string) (event, why string) {
	if text == "" || len(text) > 100 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
		return "", "must be an event's name, as in " + EventRequest
	}
	return text, ""
}

// errorKinds are the kinds of failure that a filter can select.
var errorKinds = []string{
	"abandoned", "answer", "blocked", "cancelled", "closed", "connect", "dns", "expired", "internal", "interrupted",
	"poisoned", "protocol", "redirect", "secret", "status", "timeout", "tls", "too_large", "unstored",
}

// ErrorKinds returns the kinds of failure that a filter can select.
func ErrorKinds() []string { return slices.Clone(errorKinds) }

func readErrorKind(text string) (kind, why string) {
	if !slices.Contains(errorKinds, text) {
		return "", "must be one of " + strings.Join(errorKinds, ", ")
	}
	return text, ""
}

// WhyNotPeriod returns what is wrong with the end of a period, or "" if it is right.
// A zero time is no bound.
func WhyNotPeriod(since, until time.Time) string {
	if !until.IsZero() && until.Before(since) {
		return "must not be earlier than since"
	}
	return ""
}

// Filters reads the filters of a list. The page and the order remain to be set.
func (p *Parameters) Filters(list Lists) Selection {
	var s Selection
	for _, f := range FiltersOf(list) {
		texts := p.Values[f.Name]
		if len(texts) > 1 && !f.Repeats() {
			p.Refuse(f.Name, "must be given once")
		} else if len(texts) > 0 {
			if why := f.read(&s, texts); why != "" {
				p.Refuse(f.Name, why)
			}
		}
	}
	if why := WhyNotPeriod(s.Query.Since, s.Query.Until); why != "" {
		p.Refuse("until", why)
	}
	return s
}

// ReadSelection reads the filter of an operation. The pointers of its error begin
// at the filter.
func ReadSelection(filter rawjson.Value) (Selection, error) {
	r, err := newReader(filter, "must be an object, as in {\"tags\": [\"import\"]}", ReadOptions{})
	if err != nil {
		return Selection{}, err
	}
	table := FiltersOf(OfOperations)
	names := make([]string, len(table))
	for i, f := range table {
		names[i] = f.InFilter()
	}
	r.take(rawjson.Members(filter), names)
	var s Selection
	for _, f := range table {
		if texts := r.filterTexts(f); len(texts) > 0 {
			if why := f.read(&s, texts); why != "" {
				r.refuse(Pointer(f.InFilter()), "%s", why)
			}
		}
	}
	if why := WhyNotPeriod(s.Query.Since, s.Query.Until); why != "" {
		r.refuse("#/until", "%s", why)
	}
	return s, r.problems.Err()
}

// filterTexts returns the texts of a filter's member; none if it is absent, empty or
// of the wrong type, which is refused. Times and numbers may be JSON numbers.
func (r *reader) filterTexts(f *Filter) []string {
	v, given := r.fields[f.InFilter()]
	if !given {
		return nil
	}
	var numbers bool
	switch f.field(&Selection{}).(type) {
	case *[]string:
		before := r.problems.Len()
		if readTags(r, byName["tags"], v); r.problems.Len() > before {
			return nil
		}
		return texts(v)
	case *time.Time:
		if numbers = true; v.Kind() != '"' && v.Kind() != '0' {
			r.refuse(Pointer(f.InFilter()), "must be a datetime string or a unix timestamp")
			return nil
		}
	case *int64:
		numbers = true
	}
	switch {
	case v.Kind() == '"':
		return []string{rawjson.Text(v)}
	case v.Kind() == '0' && numbers:
		return []string{string(v)}
	}
	r.refuse(Pointer(f.InFilter()), "must be a string")
	return nil
}

// texts returns the elements of a list of strings.
func texts(list rawjson.Value) []string {
	var all []string
	for _, e := range rawjson.Elements(list) {
		all = append(all, rawjson.Text(e))
	}
	return all
}
