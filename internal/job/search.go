package job

import (
	"bytes"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Matcher makes a function that tells whether a job's url or name contains a
// text, whatever the case. It reads Name and Args only.
func Matcher(text string) func(*Job) bool {
	wanted := strings.ToLower(text)
	// As it stands in args, within a string: most jobs are told from this alone.
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
