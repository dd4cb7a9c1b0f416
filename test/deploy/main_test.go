package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// directory is that of the configurations.
const directory = "../../deploy"

// read returns a file of the directory.
func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(directory, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// program finds a program that one of Debian's packages has.
func program(t testing.TB, name, debian string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatalf("%s is missing; install Debian's package %s, or run make test, which does so as root", name, debian)
	return ""
}
