package httpapi

import (
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// prefersMinimal reports whether a call has the preference return=minimal (RFC
// 7240). Of several preferences with this name, the first one counts.
func prefersMinimal(values []string) bool {
	value, _ := preference(values, "return")
	return strings.EqualFold(value, "minimal")
}

// preference returns the value of a preference, and whether it is given.
func preference(values []string, name string) (value string, given bool) {
	for one := range strings.SplitSeq(strings.Join(values, ","), ",") {
		one, _, _ = strings.Cut(one, ";")
		token, value, _ := strings.Cut(one, "=")
		if strings.EqualFold(strings.TrimSpace(token), name) {
			return strings.Trim(strings.TrimSpace(value), `"`), true
		}
	}
	return "", false
}

// prefersRehearsal reports whether a call asks for a rehearsal of the change instead of
// the change. It sets the response header that names the preference.
func (c *call) prefersRehearsal() bool {
	_, given := preference(c.r.Header.Values("Prefer"), "rehearse")
	if given {
		c.Header().Set("Preference-Applied", "rehearse")
	}
	return given
}

// preferredJob returns what appends the record of a job that was created, as the
// client prefers it. It sets the response header that names the preference.
func (c *call) preferredJob() func(b []byte, j *job.Job, conflict bool) []byte {
	if !prefersMinimal(c.r.Header.Values("Prefer")) {
		return job.AppendJob
	}
	c.Header().Set("Preference-Applied", "return=minimal")
	return appendMinimal
}

func appendMinimal(b []byte, j *job.Job, conflict bool) []byte {
	b = rawjson.AppendText(append(b, `{"id":`...), j.ID.String())
	b = append(b, `,"job_id":`...)
	b = strconv.AppendInt(b, j.Number, 10)
	if conflict {
		b = append(b, `,"has_confict":true`...)
	}
	return append(b, '}')
}
