package deploy

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// startAction runs the action's step and returns what the next steps have in their
// environment.
func startAction(t *testing.T, env ...string) (exported map[string]string, err error) {
	t.Helper()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "env"), filepath.Join(dir, "outputs")}
	step := exec.CommandContext(t.Context(), "../../scripts/action")
	step.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	step.Env = append(os.Environ(), "GITHUB_ENV="+files[0], "GITHUB_OUTPUT="+files[1], "RUNNER_TEMP="+dir)
	step.Env = append(step.Env, env...)
	out, err := step.CombinedOutput()
	if step.Process != nil {
		t.Cleanup(func() { _ = syscall.Kill(-step.Process.Pid, syscall.SIGTERM) }) // none is left if it did not start
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	exported = map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			exported[name] = value
		}
	}
	return exported, nil
}

// publish writes a release into a folder, and a curl that downloads from there.
func publish(t *testing.T, binary string, spoil bool) (path string) {
	t.Helper()
	dir := t.TempDir()
	name := fmt.Sprintf("punctual_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	packed := gzip.NewWriter(file)
	archive := tar.NewWriter(packed)
	if err := archive.WriteHeader(&tar.Header{Name: "punctual", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(program); err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface{ Close() error }{archive, packed, file} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	sum.Write(text)
	if spoil {
		sum.Write([]byte("x"))
	}
	sums := fmt.Sprintf("%064x  punctual_1.2.3_linux_mips.tar.gz\n%x  %s\n", 0, sum.Sum(nil), name)
	curl := "#!/bin/sh\nfor last; do :; done\nwhile [ \"$1\" != --output ]; do shift; done\nexec cp \"" + dir + "/${last##*/}\" \"$2\"\n"
	for name, content := range map[string]string{"SHA256SUMS": sums, "curl": curl} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAction_StartsTheRelease(t *testing.T) {
	t.Parallel()
	path := publish(t, harness.Binary(t), false) + ":" + os.Getenv("PATH")
	exported, err := startAction(t, "VERSION=1.2.3", "PATH="+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PUNCTUAL_URL", "PUNCTUAL_API_KEY", "PUNCTUAL_BINARY", "QSTASH_TOKEN", "CLOUD_TASKS_EMULATOR_HOST"} {
		if exported[name] == "" {
			t.Errorf("the next steps lack %s", name)
		}
	}
	if exported["url"] != exported["PUNCTUAL_URL"] {
		t.Errorf("the output url is %q, want %q", exported["url"], exported["PUNCTUAL_URL"])
	}
	response, err := http.Get(exported["PUNCTUAL_URL"] + "/readyz")
	if err != nil {
		t.Fatalf("the service is gone after the step: %v", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the service responds %s", response.Status)
	}
}

func TestAction_RefusesAnotherArchive(t *testing.T) {
	t.Parallel()
	path := publish(t, harness.Binary(t), true) + ":" + os.Getenv("PATH")
	if exported, err := startAction(t, "VERSION=1.2.3", "PATH="+path); err == nil {
		t.Errorf("an archive with another checksum is started: %v", exported)
	}
}

func TestAction_SaysWhyItDoesNotStart(t *testing.T) {
	t.Parallel()
	if _, err := startAction(t, "PUNCTUAL_BINARY=/bin/false"); err == nil || !strings.Contains(err.Error(), "punctual dev does not start") {
		t.Errorf("the step ends with %v", err)
	}
}
