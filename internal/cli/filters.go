package cli

import (
	"errors"
	"net/url"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// chosen is a value that a filter can have. An empty one, as from a variable that is not
// set, is refused: without its filter, a command would select more than is meant.
type chosen string

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *chosen) UnmarshalText(text []byte) error {
	if strings.TrimSpace(string(text)) == "" {
		return errors.New("is empty; give a value, or leave the flag out")
	}
	*c = chosen(text)
	return nil
}

// filterFlags are the flags that the table of filters describes for a list.
type filterFlags struct {
	Filters kong.Plugins `embed:""` // of newFilterFlags
}

// newFilterFlags returns the flags of a list's filters.
func newFilterFlags(list job.Lists) filterFlags {
	var flags []tableFlag
	for _, f := range job.FiltersOf(list) {
		flags = append(flags, tableFlag{f.Name, f.Short(), f.Flag.Placeholder, f.Flag.Help, f.Repeats()})
	}
	return filterFlags{tableFlags[chosen](flags)}
}

// values returns the filters that are given as the query parameters of a list. A
// schedule's key becomes its id.
func (c *filterFlags) values(env *environment, s *serviceFlags) (url.Values, error) {
	given := url.Values{}
	for name, value := range tableValues[chosen](c.Filters) {
		given.Add(name, value)
	}
	if !given.Has("schedule_id") {
		return given, nil
	}
	id, err := s.scheduleID(env, given.Get("schedule_id"))
	given.Set("schedule_id", id)
	return given, err
}

// operationFilter returns filters as the filter of an operation.
func operationFilter(given url.Values) []rawjson.Member {
	var members []rawjson.Member
	for _, f := range job.FiltersOf(job.OfOperations) {
		switch texts := given[f.Name]; {
		case len(texts) == 0:
		case f.Repeats():
			members = append(members, rawjson.Member{Name: f.InFilter(), Value: quotedList(texts)})
		default:
			members = append(members, rawjson.Member{Name: f.InFilter(), Value: rawjson.Quote(texts[0])})
		}
	}
	return members
}
