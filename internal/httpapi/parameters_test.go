package httpapi

import (
	"slices"
	"strings"
	"testing"
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
