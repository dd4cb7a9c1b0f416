package copies

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// copier copies a database continuously.
type copier interface {
	// start begins to copy the database at path.
	start(t *testing.T, path string)
	// sync returns nil once all that was committed before the call is in the replica.
	sync() error
	signal(syscall.Signal)
	// restore writes the replica's latest state to a new file.
	restore(t *testing.T, path string)
}

// build builds a program of the module beside this package. It uses SQLite as it was
// compiled for other tests: the same version with the same flags.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	binary := filepath.Join(dir, filepath.Base(pkg))
	command := exec.Command("go", "build", "-o", binary, pkg)
	command.Dir = "programs"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// process is a program that runs until it is killed.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr *words
}

func run(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), stderr: &words{}}
	p.cmd.Env, p.cmd.Stderr = environment(), p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(name), p.stderr)
		}
	})
	return p
}

// environment has the keys of the bucket, and nothing else for clients of S3.
func environment() []string {
	others := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "AWS_") })
	return append(others, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
}

// line returns the next line of standard output.
func (p *process) line() (string, error) {
	if !p.out.Scan() {
		return "", fmt.Errorf("%s ended: %w\n%s", p.cmd.Path, io.ErrUnexpectedEOF, p.stderr)
	}
	return p.out.Text(), nil
}

func (p *process) signal(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	if sig == syscall.SIGKILL {
		_ = p.cmd.Wait()
	}
}

// words are the last that a program wrote.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text.Len() > 1<<16 {
		w.text.Reset()
	}
	return w.text.Write(text)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// library is the core of Litestream with a directory as its replica.
type library struct {
	*process
	binary, dir string
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	dir := t.TempDir()
	return &library{binary: build(t, dir, "./copier"), dir: filepath.Join(dir, "replica")}
}

func (c *library) start(t *testing.T, path string) {
	t.Helper()
	c.process = run(t, c.binary, "replicate", path, c.dir)
	if _, err := c.line(); err != nil {
		t.Fatal(err)
	}
}

func (c *library) sync() error {
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		return err
	}
	text, err := c.line()
	if err == nil && text != "synced" {
		err = fmt.Errorf("not synced: %s", text)
	}
	return err
}

func (c *library) restore(t *testing.T, path string) {
	t.Helper()
	if out, err := exec.Command(c.binary, "restore", c.dir, path).CombinedOutput(); err != nil {
		t.Fatalf("restoring the replica: %v\n%s", err, out)
	}
}

// litestream is the released program, which copies to a bucket.
type litestream struct {
	*process
	binary, dir, bucket string
	path                string // of the database
}

func newLitestream(t *testing.T) *litestream {
	t.Helper()
	dir := t.TempDir()
	bucket := run(t, build(t, dir, "./bucket"))
	address, err := bucket.line()
	if err != nil {
		t.Fatal(err)
	}
	return &litestream{
		binary: build(t, dir, "github.com/benbjohnson/litestream/cmd/litestream"), dir: dir, bucket: address,
	}
}

// settings returns those of the guide, for a database and a bucket.
func settings(t *testing.T, path, bucket, socket string) []byte {
	t.Helper()
	guide, err := os.ReadFile("../../docs/guides/backups.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(guide), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	for old, replacement := range map[string]string{
		"/var/lib/punctual/punctual.db": path, "/run/litestream/socket": socket,
		"s3://BUCKET/punctual?region=REGION": "s3://copies/punctual?region=us-east-1&forcePathStyle=true&endpoint=" + bucket,
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("the settings in the guide lack %s:\n%s", old, text)
		}
		text = strings.ReplaceAll(text, old, replacement)
	}
	return []byte(text)
}

func (c *litestream) socket() string { return filepath.Join(c.dir, "socket") }

func (c *litestream) start(t *testing.T, path string) {
	t.Helper()
	c.path = path
	config := filepath.Join(c.dir, "litestream.yml")
	if err := os.WriteFile(config, settings(t, path, c.bucket, c.socket()), 0o600); err != nil {
		t.Fatal(err)
	}
	c.process = run(t, c.binary, "replicate", "-config", config)
	ended := make(chan struct{})
	go func(p *process) {
		defer close(ended)
		for p.out.Scan() {
			_, _ = p.stderr.Write(append(p.out.Bytes(), '\n'))
		}
	}(c.process)
	harness.Eventually(t, 30*time.Second, "Litestream to serve its socket", func() bool {
		select {
		case <-ended:
			t.Fatalf("Litestream ended:\n%s", c.stderr)
		default:
		}
		_, err := c.call("info", "-socket", c.socket())
		return err == nil
	})
}

func (c *litestream) sync() error {
	out, err := c.call("sync", "-wait", "-timeout", "300", "-socket", c.socket(), c.path)
	if err != nil {
		return fmt.Errorf("not synced: %w\n%s", err, out)
	}
	return nil
}

func (c *litestream) restore(t *testing.T, path string) {
	t.Helper()
	out, err := c.call("restore", "-config", filepath.Join(c.dir, "litestream.yml"), "-o", path, c.path)
	if err != nil {
		t.Fatalf("restoring the replica: %v\n%s", err, out)
	}
}

func (c *litestream) call(args ...string) (string, error) {
	command := exec.Command(c.binary, args...)
	command.Env = environment()
	out, err := command.CombinedOutput()
	return string(out), err
}
