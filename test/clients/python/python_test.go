package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/clients/clienttest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const directory = "../../../clients/python"

func TestClient_AgainstTheService(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: install Python 3.9 or newer (on Debian and Ubuntu, the package python3)")
	}
	clienttest.Run(t, directory, nil, python, "-B", "scripts/generate.py", "--check")
	service, env := clienttest.Start(t)
	tests, err := filepath.Glob(filepath.Join(directory, "tests/test_*.py"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	env = append(env, "PYTHONPATH=src", "PYTHONWARNINGS=error::ResourceWarning")
	for _, file := range tests {
		name := strings.TrimSuffix(filepath.Base(file), ".py")
		// One after the other: some tests crash the service that all use.
		t.Run(name, func(t *testing.T) {
			clienttest.Run(t, directory, env, python, "-B", "-m", "unittest", "-v", "tests."+name)
		})
	}
	if code := service.Stop(); code != 0 {
		t.Errorf("the service ended with status %d", code)
	}
}
