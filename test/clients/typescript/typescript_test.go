package typescript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/clients/clienttest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const directory = "../../../clients/typescript"

func TestClient_AgainstTheService(t *testing.T) {
	build(t)
	t.Setenv("NODE_NO_WARNINGS", "1")
	service, env := clienttest.Start(t)
	tests, err := filepath.Glob(filepath.Join(directory, "test/.build/*.test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests were built: %v", err)
	}
	for _, file := range tests {
		// One after the other: some tests crash the service that all use. Without --test,
		// which would start a second Node for each.
		t.Run(strings.TrimSuffix(filepath.Base(file), ".test.js"), func(t *testing.T) {
			clienttest.Run(t, directory, env, "node", "--test-reporter=spec", "test/.build/"+filepath.Base(file))
		})
	}
	if code := service.Stop(); code != 0 {
		t.Errorf("the service ended with status %d", code)
	}
}

// build installs the client's development dependencies unless they are there, and
// compiles the client and its tests.
func build(t *testing.T) {
	t.Helper()
	clienttest.Install(t, directory)
	clienttest.Run(t, directory, nil, "node", "scripts/generate.mjs", "--check")
	for _, built := range []string{"dist", "test/.build"} {
		if err := os.RemoveAll(filepath.Join(directory, built)); err != nil {
			t.Fatal(err)
		}
	}
	for _, project := range []string{"tsconfig.json", "tsconfig.testing.json", "test"} {
		clienttest.Run(t, directory, nil, "node", "node_modules/typescript/bin/tsc", "-p", project)
	}
}
