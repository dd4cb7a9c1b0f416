package jobquery

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
)

// Word is what can be typed next in a query.
type Word struct {
	Text string // ends with a colon if a value follows
	Hint string // "" for none
}

// values are the values that are offered of filters.
var values = map[string][]string{"since": {"1h", "today", "yesterday"}, "error_kind": job.ErrorKinds()}

// Words returns the words of queries: the states, the filters, and the values of filters
// that have few.
func Words() []Word {
	var words []Word
	for _, name := range []string{"failed", "scheduled", "running", "retrying", "completed", "cancelled"} {
		words = append(words, Word{Text: name})
	}
	for _, f := range job.FiltersOf(job.OfJobs) {
		if f.Name == "state" {
			continue
		}
		words = append(words, Word{word(f) + ":", hint(f)})
		for _, value := range values[f.Name] {
			words = append(words, Word{word(f) + ":" + value, ""})
		}
	}
	return words
}

// hint returns what a filter selects, in few words.
func hint(f *job.Filter) string {
	text := strings.TrimPrefix(strings.TrimPrefix(f.Flag.Help, "Only "), "jobs ")
	return strings.TrimSuffix(text[:strings.IndexAny(text+".", ",;:.")], ".")
}
