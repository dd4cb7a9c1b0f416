package mcp

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/clients/clienttest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestAgent_WithTheTypeScriptSDK(t *testing.T) {
	clienttest.Install(t, ".")
	service := harness.Shared(t)
	account := service.Account(t)
	clienttest.Run(t, ".", []string{"PUNCTUAL_URL=" + service.URL(), "PUNCTUAL_API_KEY=" + account.Key,
		"PUNCTUAL_BINARY=" + harness.Binary(t)}, "node", "exchange.mjs")
}

// scenarios are those of the suite that test the protocol. The others call tools, prompts
// and resources that only the suite's own test server has, or subscribe to one of those.
var scenarios = []string{
	"server-initialize", "ping", "logging-set-level", "completion-complete", "tools-list", "resources-list", "prompts-list",
	"server-sse-multiple-streams", "dns-rebinding-protection",
}

func TestConformance_OfTheProtocol(t *testing.T) {
	clienttest.Install(t, ".")
	service := harness.Shared(t)
	target, err := url.Parse(service.URL())
	if err != nil {
		t.Fatal(err)
	}
	key := service.Account(t).Key
	// The suite has no keys.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}})
	t.Cleanup(proxy.Close)
	suite := program(t)
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			clienttest.Run(t, ".", nil, "node", suite, "server", "--url", proxy.URL+"/mcp", "--scenario", scenario)
		})
	}
}

// program returns the suite's program. Its import of fs.globSync, which a command needs
// that isn't used here, is removed, as Node.js 20 does not have it.
func program(t *testing.T) string {
	t.Helper()
	const original = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(original), "without-glob.js")
	if err := os.WriteFile(copied, []byte(strings.Replace(string(text), "globSync as o,", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}
