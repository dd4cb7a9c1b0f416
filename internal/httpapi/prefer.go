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
	for preference := range strings.SplitSeq(strings.Join(values, ","), ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if strings.EqualFold(strings.TrimSpace(name), "return") {
			return strings.EqualFold(strings.Trim(strings.TrimSpace(value), `"`), "minimal")
		}
	}
	return false
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
