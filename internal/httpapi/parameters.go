package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// elsewhere has the parameters of all calls.
var elsewhere = func() map[string]bool {
	all := map[string]bool{}
	for _, names := range parameters {
		for _, name := range names {
			all[name] = true
		}
	}
	return all
}()

// wholeLists are calls that list or count all there is, or all that is selected. A page of
// them, which clients of other services ask for, would be more than they expect.
var wholeLists = map[string]bool{
	"GET /api/account/keys": true, "GET /api/jobs/counts": true, "GET /api/logs/export": true, "GET /api/export": true,
	"GET /api/jobs/{job_id}/revisions": true, "GET /api/schedules/{schedule_id}/revisions": true,
}

// misspelt returns the problems of query parameters that belong to other calls, are
// probably misspelt or can't be decoded. A misspelt filter that is ignored would list
// everything. Other parameters that a call doesn't take are ignored: clients and
// proxies add their own.
func misspelt(route route, method string, address *url.URL) []fault.Problem {
	known, whole := parameters[method+" "+route.path], wholeLists[method+" "+route.path]
	if len(known) == 0 && !whole || address.RawQuery == "" {
		return nil
	}
	var q query
	for _, name := range undecodable(address.RawQuery) {
		if slices.Contains(known, plainName(name)) {
			q.Refuse(plainName(name), "must be percent-encoded, with % as %25 and ; as %3B")
		}
	}
	values := address.Query()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(known, plainName(name)) {
			continue
		}
		plain := bracketless(name)
		meant, near := job.Misspelt(plain, known)
		switch {
		case plain == "page" && whole:
			q.Refuse(name, "is not a parameter: the response has everything; "+
				"longer lists are read by limit with offset, or with the cursor of the Link header")
		case len(known) == 0:
		case plain == "page" && slices.Contains(known, "limit"):
			q.Refuse(name, "is not a parameter: lists are read by limit with offset, or with the cursor of the Link header; this one takes "+
				strings.Join(known, ", "))
		case slices.Contains(known, plain):
			q.Refuse(plain, "can't be given as "+name)
		case near:
			q.Refuse(name, "is not a known parameter; did you mean "+meant+"?")
		case elsewhere[plainName(name)]:
			q.Refuse(plainName(name), "is not a parameter of this call, which takes "+strings.Join(known, ", "))
		}
	}
	return q.Problems
}

// readsQuery reports whether the handler of a call reads parameters, and so refuses
// what call.query begins with. Calls whose only parameter is mask don't.
func readsQuery(route route, method string) bool {
	return slices.ContainsFunc(parameters[method+" "+route.path], func(name string) bool { return name != maskParameter })
}

// undecodable returns the names of the parameters that url.Values lacks because
// they are not percent-encoded correctly.
func undecodable(query string) []string {
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if _, valueErr := url.QueryUnescape(rawValue); err == nil && (valueErr != nil || strings.Contains(pair, ";")) {
			names = append(names, name)
		}
	}
	return names
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

// bracketless returns a name without what follows its first bracket.
func bracketless(name string) string {
	bare, _, _ := strings.Cut(name, "[")
	return bare
}
