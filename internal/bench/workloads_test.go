package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/punctual-dev/punctual/internal/bench"
	"github.com/punctual-dev/punctual/internal/cli"
)

// asProgram makes this test binary be the program, since a bench starts itself
// as a service.
const asProgram = "BENCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		status := cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
		os.Exit(status)
	}
	if err := os.Setenv(asProgram, "yes"); err != nil {
		panic(err)
	}
	// Most of the time a bench waits, so more of them than there are processors
	// get along.
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "4") // the flag exists in every test binary
	}
	os.Exit(m.Run())
}

// tiny makes every workload last about a second.
var tiny = []string{"--n=50", "--rate=40", "--seconds=1", "--backlog=1000", "--workers=50"}

func TestEveryWorkload(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	groups := []string{"ceiling,ingest", "bulk", "herd,cost", "steady,webhooks", "outbox", "crowd", "slow", "hosts", "large",
		"backlog", "crash"}
	for _, group := range groups {
		for name := range strings.SplitSeq(group, ",") {
			tested[name] = true
		}
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			measure(t, group)
		})
	}
	for _, name := range bench.Names() {
		if !tested[name] {
			t.Errorf("%s is not tested", name)
		}
	}
}

// measure runs workloads through the command line and looks at what they leave.
func measure(t *testing.T, group string, args ...string) *bench.Report {
	t.Helper()
	directory := t.TempDir()
	file, picture := filepath.Join(directory, "report.json"), filepath.Join(directory, "plot.svg")
	args = append(append([]string{"bench", "--workloads=" + group, "--json=" + file, "--svg=" + picture}, tiny...), args...)
	var out, errOut bytes.Buffer
	if status := cli.Run(t.Context(), args, &out, &errOut); status != 0 {
		t.Fatalf("the bench ended with %d:\n%s\n%s", status, &out, &errOut)
	}
	if info, err := os.Stat(picture); err != nil || info.Size() == 0 {
		t.Errorf("there is no picture: %v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report bench.Report
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&report); err != nil {
		t.Fatal(err)
	}
	for _, w := range report.Workloads {
		if !strings.Contains(out.String(), "\n"+w.Name) || !strings.Contains(errOut.String()+"cost: ", w.Name+": ") {
			t.Errorf("nothing is shown of %s:\n%s\n%s", w.Name, &out, &errOut)
		}
		if w.Skipped == "" && (len(w.Figures) < 3 || len(w.Runs) != 1) {
			t.Errorf("%s has %d figures of %d runs", w.Name, len(w.Figures), len(w.Runs))
		}
		check(t, w)
	}
	return &report
}

// check verifies that the figures are plausible.
func check(t *testing.T, w *bench.WorkloadRow) {
	t.Helper()
	for _, f := range w.Figures {
		// Processor time is told in hundredths of a second: too coarse here.
		zeroIsFine := f.Unit == "" || f.Unit == "µs" || strings.HasPrefix(f.Name, "down_") || strings.HasPrefix(f.Name, "after_") ||
			strings.HasPrefix(f.Name, "again_")
		if f.Value < 0 || f.Value == 0 && !zeroIsFine {
			t.Errorf("%s of %s is %v", f.Name, w.Name, f.Value)
		}
	}
}

// listener records what a bench is doing.
type listener struct {
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	then  func()
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if strings.Contains(l.text.String(), l.until) {
		l.then()
	}
	return len(b), nil
}

func TestInterruptionCleansUp(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	errOut := &listener{until: "steady: creating jobs", then: stop}
	var out bytes.Buffer
	args := append([]string{"bench", "--workloads=steady", "--seconds=600"}, tiny[:2]...)
	if status := cli.Run(ctx, args, &out, errOut); status != 1 {
		t.Errorf("an interrupted bench ends with %d", status)
	}
	if !strings.Contains(errOut.text.String(), "the bench was interrupted") {
		t.Errorf("it says\n%s", &errOut.text)
	}
	left, err := os.ReadDir(directory)
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

func TestMistakesAreExplained(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--workloads=heard": `there is no "heard"`,
		"--n=3":             "--n must be",
		"--database-url=no": "--database-url",
		"--base-url=http://127.0.0.1:1 --api-key=k --authority=" + filepath.Join(t.TempDir(), "a.pem"): "is not ready",
	} {
		var out, errOut bytes.Buffer
		status := cli.Run(t.Context(), append([]string{"bench", "--workloads=steady"}, strings.Fields(args)...), &out, &errOut)
		if status == 0 || !strings.Contains(errOut.String(), want) {
			t.Errorf("with %s it ends with %d and says\n%s", args, status, &errOut)
		}
	}
}
