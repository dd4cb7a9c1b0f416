package docs

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const samples = "../../api/samples/"

// function matches the first line of a function of a program in samples.
var function = regexp.MustCompile(`(?m)^(?:func |async function |def )?(\w+)\(.*\).*[{:]$`)

// TestSamples_MakeTheirCalls runs the programs that the reference shows, and checks that
// each makes the calls that its functions are named after.
func TestSamples_MakeTheirCalls(t *testing.T) {
	for file, command := range map[string][]string{
		"samples.sh": {"bash"}, "samples.py": {"python3"}, "main.go": {"go", "run"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			service := harness.Start(t, harness.SecretsKey(t))
			account := service.Account(t)
			proxy, calls := recorded(t, service.URL())
			route := harness.SharedTarget(t).Route(t)

			dir := t.TempDir()
			if file == "main.go" { // in the module, because it imports the client as it is here
				dir = inModule(t)
			}
			program := filepath.Join(dir, file)
			text := strings.ReplaceAll(read(t, samples+file), "https://example.com", route.URL)
			if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			clients, err := filepath.Abs("../../clients/python/src")
			if err != nil {
				t.Fatal(err)
			}
			env := append(environment(t, service, account, route), "PUNCTUAL_URL="+proxy, "GITHUB_TOKEN=ghp_test",
				"PYTHONPATH="+clients, "PYTHONDONTWRITEBYTECODE=1")
			run(t, dir, env, command[0], append(command[1:], file)...)
			wantCalls(t, text, calls())
		})
	}
}

// TestSamples_AreTheSameInEveryLanguage compares the calls that the programs make.
func TestSamples_AreTheSameInEveryLanguage(t *testing.T) {
	want := operationsOf(read(t, samples+"main.go"))
	if len(want) < 30 {
		t.Fatalf("there are %d samples in Go", len(want))
	}
	for _, file := range []string{"samples.sh", "samples.py", "samples.ts"} {
		if got := operationsOf(read(t, samples+file)); !slices.Equal(got, want) {
			t.Errorf("%s has samples of %v, want %v", file, got, want)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// paths has the method and a pattern of the path of each call, by its id.
var paths = sync.OnceValue(func() map[string]*regexp.Regexp {
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(api.JSON(), &document); err != nil {
		panic(err)
	}
	all := map[string]*regexp.Regexp{}
	for path, methods := range document.Paths {
		for method, raw := range methods {
			var call struct{ OperationID string }
			if json.Unmarshal(raw, &call) == nil && call.OperationID != "" {
				pattern := regexp.MustCompile(`\\\{.*?\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
				// The command line shows the details of a record, which has the record too.
				all[call.OperationID] = regexp.MustCompile("^" + strings.ToUpper(method) + " " + pattern + "(/details)?$")
			}
		}
	}
	return all
})

// operationsOf returns the calls that a program's functions are named after, sorted.
func operationsOf(program string) []string {
	var ids []string
	for _, m := range function.FindAllStringSubmatch(program, -1) {
		if paths()[m[1]] != nil {
			ids = append(ids, m[1])
		}
	}
	slices.Sort(ids)
	return ids
}

func wantCalls(t *testing.T, program string, calls []string) {
	t.Helper()
	for _, id := range operationsOf(program) {
		if !slices.ContainsFunc(calls, paths()[id].MatchString) {
			t.Errorf("%s did not succeed; these calls did: %v", id, calls)
		}
	}
}

// recorded starts a proxy in front of a service. calls returns the methods and paths of
// the calls that succeeded.
func recorded(t *testing.T, service string) (address string, calls func() []string) {
	t.Helper()
	to, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	var guard sync.Mutex
	succeeded := map[string]bool{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode < 300 {
				guard.Lock()
				defer guard.Unlock()
				succeeded[r.Request.Method+" "+r.Request.URL.Path] = true
			}
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL, func() []string {
		guard.Lock()
		defer guard.Unlock()
		return slices.Sorted(maps.Keys(succeeded))
	}
}

// inModule returns a new directory in this package's, for a program that imports the
// module.
func inModule(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "example-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
