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

// untagged reads the conditions of a call that changes something without an ETag, which
// exists if the change is not a PUT. It returns a Stale fault if If-Match names tags.
func (c *call) untagged(thing string) (service.Match, error) {
	m := conditions(c.r.Header)
	if m.Given && !m.Any {
		return m, fault.New(fault.Stale, "a "+thing+" has no ETag, so If-Match can't match; nothing was changed, leave it out")
	}
	return m, nil
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
