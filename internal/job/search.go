package job

import (
	"bytes"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Matcher returns a function that reports whether a job's url or name contains a
// text, ignoring case. The function reads only Name and Args.
func Matcher(text string) func(*Job) bool {
	wanted := strings.ToLower(text)
	// As it appears in args, within a string: this alone excludes most jobs.
	quoted := rawjson.Quote(wanted)
	inner := []byte(quoted[1 : len(quoted)-1])
	return func(j *Job) bool {
		if j.Name != nil && strings.Contains(strings.ToLower(*j.Name), wanted) {
			return true
		}
		if !bytes.Contains(bytes.ToLower(j.Args), inner) {
			return false
		}
		return strings.Contains(strings.ToLower(rawjson.Text(rawjson.Get(j.Args, "url"))), wanted)
	}
}
