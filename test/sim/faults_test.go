package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFaults_PatchesApplyAndAreInTheTable: a fault that can't be planted any more
// proves nothing. scripts/planted-faults shows that each is noticed.
func TestFaults_PatchesApplyAndAreInTheTable(t *testing.T) {
	t.Parallel()
	const root = "../.."
	patches, err := filepath.Glob("faults/*.patch")
	if err != nil || len(patches) < 25 {
		t.Fatalf("%d patches, want at least 25: %v", len(patches), err)
	}
	page, err := os.ReadFile(root + "/docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // by name
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); len(cells) == 5 && strings.HasPrefix(line, "| `") {
			rows[strings.Trim(cells[0], "| `")] = cells[1]
		}
	}
	for _, patch := range patches {
		name := strings.TrimSuffix(filepath.Base(patch), ".patch")
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		what, _, _ := strings.Cut(string(text), "\n")
		if rows[name] != what {
			t.Errorf("docs/reliability.md says %q of the fault %s, its patch %q", rows[name], name, what)
		}
		path, err := filepath.Abs(patch)
		if err != nil {
			t.Fatal(err)
		}
		check := exec.Command("git", "apply", "--check", path)
		check.Dir = root
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not apply, so write it again for the code as it is: %v\n%s", patch, err, out)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/reliability.md has the fault %s, which has no patch", name)
	}
}
