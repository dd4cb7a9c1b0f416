package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// TestMain lets go test call this test program as the runner's wrapper.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-wrap" {
		os.Exit(wrap(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// output collects what a run prints, while it prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the output contains a text.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(pace.Guard(5 * time.Minute)); !strings.Contains(o.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q was not printed:\n%s", text, o)
		}
	}
}

// fake is a module of one package with the tests given, and a runner for it.
func fake(t *testing.T, tests string) (*goTests, *output) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a test program")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module " + module + "\n\ngo 1.26\n", "p/p_test.go": "package p\n\n" + tests} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := &output{}
	g := &goTests{run: newRun(out, module), self: self, dir: dir, states: t.TempDir(), factor: 1}
	g.run.usage = g.cpu
	return g, out
}

// all runs the package as testFlags say: vetting it would vet what it imports of the
// standard library too, which takes ten times as long as the tests.
func (g *goTests) all() []stage {
	return []stage{{args: append([]string{"-count=1"}, testFlags...), packages: []string{"./..."}, prefix: "scripts/test"}}
}

// panicking is a test that panics, beside a process that would outlive it.
const panicking = `import (
	"os/exec"
	"testing"
)

func TestPanics(t *testing.T) {
	if err := exec.Command("sleep", "3600").Start(); err != nil {
		t.Fatal(err)
	}
	panic("too much")
}
`

func TestGoTests_PanicLeavesNoProcess(t *testing.T) {
	t.Parallel()
	g, out := fake(t, panicking)
	if status := g.carryOut(g.all(), nil); status != 1 {
		t.Errorf("the status is %d:\n%s", status, out)
	}
	wantAll(t, out.String(), "panic: too much", "scripts/test -run '^TestPanics$' ./p -count=1")
	g.wantNoneAlive(t)
}

const passing = `import "testing"

func TestPasses(*testing.T) {
	sum := 0
	for i := range 100_000_000 {
		sum += i * i
	}
	if sum == 1 {
		panic("never")
	}
}
`

func TestGoTests_PassAndMeasure(t *testing.T) {
	t.Parallel()
	g, out := fake(t, passing)
	if status := g.carryOut(g.all(), nil); status != 0 {
		t.Errorf("the status is %d:\n%s", status, out)
	}
	if line := regexp.MustCompile(`(?m)^ok  \t` + module + `/p\t.*\tcpu \d+\.\d+s$`); !line.MatchString(out.String()) {
		t.Errorf("%s is not in\n%s", line, out)
	}
	wantLastLine(t, out.String(), "1 passed, 0 failed")
}

func TestGoTests_FailingTestStopsWhatFollows(t *testing.T) {
	t.Parallel()
	g, out := fake(t, "import \"testing\"\n\nfunc TestFails(t *testing.T) { t.Error(\"it is wrong\") }\n")
	stages := append(g.all(), stage{packages: []string{module + "/later"}})
	if status := g.carryOut(stages, nil); status != 1 {
		t.Errorf("the status is %d:\n%s", status, out)
	}
	wantAll(t, out.String(), "it is wrong", "scripts/test -run '^TestFails$' ./p -count=1",
		"not run, because of what failed before: "+module+"/later")
	wantLastLine(t, out.String(), "0 passed, 1 failed")
}

func TestGoTests_GoTestThatFailsByItselfIsAFailure(t *testing.T) {
	t.Parallel()
	g, out := fake(t, passing)
	if status := g.carryOut([]stage{{args: []string{"-p=nonsense"}, prefix: "scripts/test"}}, nil); status != 1 {
		t.Errorf("the status is %d:\n%s", status, out)
	}
	wantAll(t, out.String(), "--- FAIL: go test", "nonsense")
	wantLastLine(t, out.String(), "0 passed, 1 failed")
}

// hanging are tests of which one hangs, beside a process that would outlive it.
const hanging = `import (
	"os/exec"
	"testing"
	"time"
)

func TestBefore(*testing.T) {}

func TestHangs(t *testing.T) {
	if err := exec.Command("sh", "-c", "sleep 3600 & sleep 3600").Start(); err != nil {
		t.Fatal(err)
	}
	println("hanging")
	forever()
}

func forever() { time.Sleep(time.Hour) }
`

func TestGoTests_HangingPackageIsEndedWithItsGoroutines(t *testing.T) {
	t.Parallel()
	g, out := fake(t, hanging)
	g.run.stall, g.run.starting = pace.Limit(2*time.Second), pace.Guard(5*time.Minute)
	if status := g.carryOut(g.all(), nil); status != 1 {
		t.Errorf("the status is %d", status)
	}
	wantAll(t, out.String(), module+"/p: no progress for ", "SIGQUIT", "p.forever(", "TestHangs (since ", "ended last: TestBefore",
		"scripts/test -run '^TestHangs$' ./p -count=1")
	wantLastLine(t, out.String(), "1 passed, 1 failed")
	if lines := strings.Count(out.String(), "\n"); lines > 120 {
		t.Errorf("%d lines are printed:\n%s", lines, out)
	}
	g.wantNoneAlive(t)
}

func TestGoTests_SignalEndsTheTests(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			g, out := fake(t, hanging)
			g.run.verbose = true
			signals := make(chan os.Signal, 1)
			go func() {
				out.await(t, "hanging")
				signals <- sig
			}()
			if status := g.carryOut(g.all(), signals); status != 128+int(sig) {
				t.Errorf("the status is %d:\n%s", status, out)
			}
			wantAll(t, out.String(), "TestHangs")
			g.wantNoneAlive(t)
		})
	}
}

// wantNoneAlive waits until no process of the tests is there. What has been killed needs
// a moment to be gone.
func (g *goTests) wantNoneAlive(t *testing.T) {
	t.Helper()
	states := statesIn(g.states)
	if len(states) == 0 {
		t.Fatal("no test program has run")
	}
	for deadline := time.Now().Add(pace.Guard(time.Minute)); g.anyAlive(nil); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes of the tests are left: %+v", states)
		}
	}
}

func TestBeside_RunsAsManyAtOnceAsThereAreRows(t *testing.T) {
	for _, processors := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var order []int
			running, most := 0, 0
			ok := beside(4, rows(processors), func(i int) bool {
				mu.Lock()
				order = append(order, i)
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Minute) // in the bubble
				mu.Lock()
				defer mu.Unlock()
				running--
				return i != 2
			})
			want := 3
			if processors == 1 {
				want = 1
			}
			if ok || most != want || len(order) != 4 || want == 1 && !slices.IsSorted(order) {
				t.Errorf("%d processors: ok %t, at most %d at once, in the order %v; want false, %d, all four", processors, ok, most, order, want)
			}
		})
	}
}
