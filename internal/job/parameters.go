package job

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
)

// FilterParameters are the query parameters that Filters reads.
var FilterParameters = []string{"state", "schedule_id", "idempotency_key", "tag", "host", "name", "since", "until"}

// Parameters reads the parameters of an address and collects their problems. A
// parameter must be given once, unless its method says otherwise.
type Parameters struct {
	Values   url.Values
	Problems []fault.Problem
}

// Refuse adds a problem; detail completes a sentence that begins with the
// parameter's name.
func (p *Parameters) Refuse(parameter, detail string) {
	p.Problems = append(p.Problems, fault.Problem{Parameter: parameter, Detail: detail})
}

// One returns a parameter's value, and whether it was given exactly once.
func (p *Parameters) One(name string) (string, bool) {
	values, ok := p.Values[name]
	if len(values) > 1 {
		p.Refuse(name, "must be given once")
		return "", false
	}
	if !ok {
		return "", false
	}
	return values[0], true
}

// Text reads a text of 1 to 255 characters; nil if there is none.
func (p *Parameters) Text(name string) *string {
	text, ok := p.One(name)
	if !ok {
		return nil
	}
	if n := utf8.RuneCountInString(text); n < 1 || n > 255 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		p.Refuse(name, "must have 1 to 255 characters")
		return nil
	}
	return &text
}

// UUID reads a UUID; uuid.Nil if there is none.
func (p *Parameters) UUID(name string) uuid.UUID {
	text, ok := p.One(name)
	if !ok {
		return uuid.Nil
	}
	id, valid := ParseID(text)
	if !valid || id == uuid.Nil {
		p.Refuse(name, "must be a UUID")
	}
	return id
}

// Time reads a time, as ReadInstant does; zero if there is none.
func (p *Parameters) Time(name string) time.Time {
	text, ok := p.One(name)
	if !ok {
		return time.Time{}
	}
	t, err := ReadInstant(text)
	if err != nil {
		p.Refuse(name, err.Error())
	}
	return t
}

// Period reads since (inclusive) and until (exclusive); zero if there is none.
func (p *Parameters) Period() (since, until time.Time) {
	since, until = p.Time("since"), p.Time("until")
	if why := WhyNotPeriod(since, until); why != "" {
		p.Refuse("until", why)
	}
	return since, until
}

// WhyNotPeriod returns what is wrong with the end of a period, or "" if it is right.
// A zero time is no bound.
func WhyNotPeriod(since, until time.Time) string {
	if !until.IsZero() && until.Before(since) {
		return "must not be earlier than since"
	}
	return ""
}

// Tags reads the parameter tag, which may be given up to MaxTags times.
func (p *Parameters) Tags() []string {
	var tags []string
	for _, tag := range p.Values["tag"] {
		if !IsTag(tag) {
			p.Refuse("tag", TagRule)
			return nil
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > MaxTags {
		p.Refuse("tag", "must be given at most 10 times: no job has more tags")
		return nil
	}
	return tags
}

// host reads a host name.
func (p *Parameters) host() string {
	text := p.Text("host")
	if text == nil {
		return ""
	}
	host, why := ReadHost(*text)
	if why != "" {
		p.Refuse("host", why)
	}
	return host
}

// Filters reads the filters of a list of jobs: FilterParameters. The page and the
// order remain to be set.
func (p *Parameters) Filters() Query {
	q := Query{
		Schedule: p.UUID("schedule_id"), Key: p.Text("idempotency_key"), Tags: p.Tags(), Host: p.host(), Name: p.Text("name"),
	}
	q.Since, q.Until = p.Period()
	if text, ok := p.One("state"); ok {
		if q.States = StatesNamed(text); q.States == nil {
			p.Refuse("state", "must be one of scheduled, available, executing, retryable, completed, cancelled, discarded")
		}
	}
	return q
}
