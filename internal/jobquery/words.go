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

// times are values for since.
var times = []string{"1h", "today", "yesterday"}

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
		if f.Name == "since" {
			for _, at := range times {
				words = append(words, Word{word(f) + ":" + at, ""})
			}
		}
	}
	return words
}

// hint returns what a filter selects, in few words.
func hint(f *job.Filter) string {
	text := strings.TrimPrefix(strings.TrimPrefix(f.Flag.Help, "Only "), "jobs ")
	return strings.TrimSuffix(text[:strings.IndexAny(text+".", ",;:.")], ".")
}
