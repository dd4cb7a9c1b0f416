package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/service"
)

// setRevision sets the ETag of a response with a single record.
func (c *call) setRevision(revision int64) {
	c.Header().Set("ETag", `"`+strconv.FormatInt(revision, 10)+`"`)
}

// conditions reads the headers If-Match and If-None-Match (RFC 9110, section 13.1) of
// a call that changes a record. Of If-Match, a tag that is no revision, and a weak one,
// matches nothing; of If-None-Match, only * has a meaning for changes.
func conditions(header http.Header) service.Match {
	var m service.Match
	var list string
	m.None = strings.TrimSpace(strings.Join(header.Values("If-None-Match"), ",")) == "*"
	m.Given, m.Any, list = matching(header)
	for tag := range tags(list) {
		if n, err := strconv.ParseInt(tag, 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == tag {
			m.Revisions = append(m.Revisions, n)
		}
	}
	return m
}

// untagged reads the conditions of a call that changes something without an ETag. It
// returns a Stale fault if If-Match names tags, or excludes what If-None-Match requires.
func (c *call) untagged(thing string) (service.Match, error) {
	m := conditions(c.r.Header)
	if m.Given && !m.Any {
		return m, fault.New(fault.Stale, "a "+thing+" has no ETag, so If-Match can't match; nothing was changed, leave it out")
	}
	if m.Any && m.None {
		return m, fault.New(fault.Stale, "If-Match requires that there is a "+thing+
			", If-None-Match that there is none; nothing was changed, send one of them")
	}
	return m, nil
}

// untaggedDelete reads the conditions of a call that deletes something without an ETag,
// and returns a fault if they do not hold. exists looks for it, and returns a NotFound
// fault if there is none.
func (c *call) untaggedDelete(thing string, exists func() error) error {
	m, err := c.untagged(thing)
	if err != nil || !m.None {
		return err
	}
	if err := exists(); err != nil {
		return err
	}
	return m.Check(thing, true)
}

// matching returns whether there is a header If-Match, whether it is *, and its
// list of tags.
func matching(header http.Header) (given, anything bool, list string) {
	fields := header.Values("If-Match")
	list = strings.Join(fields, ",")
	return len(fields) > 0, strings.TrimSpace(list) == "*", list
}

// tags returns the strong tags in a list, without quotes, up to the first that is
// malformed.
func tags(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			list = strings.TrimLeft(list, " \t,")
			weak := strings.HasPrefix(list, "W/")
			list = strings.TrimPrefix(list, "W/")
			if !strings.HasPrefix(list, `"`) {
				return
			}
			tag, rest, closed := strings.Cut(list[1:], `"`)
			if list = rest; !closed || !weak && !yield(tag) {
				return
			}
		}
	}
}
