package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/internal/fault"
)

func TestParameters_BelongToRoutes(t *testing.T) {
	for call := range parameters {
		method, path, _ := strings.Cut(call, " ")
		at := slices.IndexFunc(routes, func(r route) bool { return r.path == path })
		if at < 0 || routes[at].methods[method] == nil || routes[at].access == open {
			t.Errorf("%s is not a call that takes parameters", call)
		}
	}
}

// A call whose parameters are missing in the table would ignore a misspelt one, and page.
func TestParameters_AreThoseOfTheDocument(t *testing.T) {
	type parameter struct{ Name, In, Ref string }
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Parameters map[string]parameter }
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(api.JSON()), `"$ref"`, `"ref"`)), &document); err != nil {
		t.Fatal(err)
	}
	calls := map[string][]string{}
	for path, item := range document.Paths {
		for method, text := range item {
			var operation struct{ Parameters []parameter }
			if json.Unmarshal(text, &operation) != nil {
				continue // what all methods share: parameters of the path
			}
			for _, p := range operation.Parameters {
				if p.Ref != "" {
					p = document.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
				}
				if p.In == "query" {
					call := strings.ToUpper(method) + " " + path
					calls[call] = append(calls[call], p.Name)
				}
			}
		}
	}
	if len(calls) < 15 {
		t.Fatalf("only %d calls with parameters were found", len(calls))
	}
	for call, documented := range calls {
		if known := set(parameters[call]); !slices.Equal(set(documented), known) {
			t.Errorf("%s documents the parameters %q, the table has %q", call, set(documented), known)
		}
	}
	for call := range parameters {
		if calls[call] == nil {
			t.Errorf("%s documents no parameters", call)
		}
	}
}

func set(names []string) []string {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func TestParameters_PageIsRefusedByWholeLists(t *testing.T) {
	for call := range wholeLists {
		method, path, _ := strings.Cut(call, " ")
		at := slices.IndexFunc(routes, func(r route) bool { return r.path == path })
		if at < 0 || routes[at].methods[method] == nil {
			t.Errorf("there is no call %s", call)
			continue
		}
		for _, query := range []string{"page=2", "limits=1&page[number]=2"} {
			err := fault.Refuse(misspelt(routes[at], method, &url.URL{Path: path, RawQuery: query}))
			if detail := fmt.Sprint(err); err == nil || !strings.Contains(detail, "offset") || !strings.Contains(detail, "cursor") {
				t.Errorf("%s?%s: %v", call, query, err)
			}
		}
		if err := fault.Refuse(misspelt(routes[at], method, &url.URL{Path: path, RawQuery: "utm_source=a"})); err != nil {
			t.Errorf("%s with a foreign parameter: %v", call, err)
		}
	}
}
