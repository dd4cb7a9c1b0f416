package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// refuseUnknown returns a fault that lists the query parameters that a call does
// not take, with the nearest that it takes; nil if there are none.
func refuseUnknown(route route, method string, values url.Values) error {
	if route.access == open || len(values) == 0 {
		return nil
	}
	known := parameters[method+" "+route.path]
	var problems fault.Problems
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name != "" && !slices.Contains(known, plainName(name)) {
			problems.Add(fault.Problem{Parameter: name, Detail: whyUnknown(name, known)})
		}
	}
	return problems.Err()
}

// plainName returns the name of a parameter without the brackets of order_by,
// which has several forms.
func plainName(name string) string {
	for _, form := range []string{"order_by[]", "order_by[0]", "order_by[1]"} {
		if name == form {
			return "order_by"
		}
	}
	return name
}

func whyUnknown(name string, known []string) string {
	if len(known) == 0 {
		return "is not a known parameter; this call takes none"
	}
	if near, ok := job.Nearest(name, known); ok {
		return "is not a known parameter; did you mean " + near + "?"
	}
	return "is not a known parameter; the known ones are " + strings.Join(known, ", ")
}
