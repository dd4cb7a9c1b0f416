package clienttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Install installs the packages that package-lock.json in a directory names, unless it has
// not changed since they were installed.
func Install(t *testing.T, directory string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is missing: install Node.js 20 or newer, with npm (https://nodejs.org)", program)
		}
	}
	wanted, err := os.Stat(filepath.Join(directory, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	installed, err := os.Stat(filepath.Join(directory, "node_modules", ".package-lock.json"))
	if err == nil && !installed.ModTime().Before(wanted.ModTime()) {
		return
	}
	t.Logf("node_modules is missing or older than package-lock.json: running npm ci in %s", directory)
	Run(t, directory, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
}
