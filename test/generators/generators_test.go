package generators

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const specification = "../../api/openapi.yaml"

// tool returns the path of a program of the Node packages.
func tool(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("Node is missing, which linters and generators need: install Node 20 or newer with npm")
	}
	path, err := filepath.Abs(filepath.Join("node_modules", ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%s is not installed: run npm ci --ignore-scripts in test/generators", name)
	}
	return path
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
	}
}

func TestLinters_FindNoError(t *testing.T) {
	t.Parallel()
	run(t, ".", tool(t, "redocly"), "lint", "--extends=recommended", specification)
	if os.Getenv("PUNCTUAL_E2E_FULL") == "" {
		return // one linter has looked at the structure; make race has both
	}
	run(t, ".", tool(t, "spectral"), "lint", "--fail-severity=error", "--ruleset=.spectral.yaml", specification)
}

func TestTypeScriptGenerators_MakeCodeThatCompiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Otherwise every field with a default must be given in requests.
	run(t, ".", tool(t, "openapi-typescript"), specification, "--default-non-nullable=false", "--output", filepath.Join(dir, "schema.ts"))
	run(t, ".", tool(t, "openapi-ts"), "--input", specification, "--output", filepath.Join(dir, "hey"))
	for _, name := range []string{"use.ts", "tsconfig.json"} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, tool(t, "tsc"), "--project", dir)
}

func TestGoGenerator_MakesCodeThatCompiles(t *testing.T) {
	t.Parallel()
	document, err := filepath.Abs(specification)
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("oapi")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	generated := filepath.Join(dir, "generated.go")
	// Without skip-prune oapi-codegen leaves out the types of webhooks and refers to them.
	run(t, module, "go", "tool", "oapi-codegen", "-generate", "types,client,skip-prune", "-package", "oapi", "-o", generated, document)
	// The overlay puts the file into the module without writing into the source tree.
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(module, "generated.go"): generated}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, module, "go", "build", "-overlay", overlayFile, ".")
}
