package harness

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/sqlitefile"
)

const program = "github.com/punctual-dev/punctual/cmd/punctual"

// root is the directory of everything this process leaves on disk.
var root struct {
	sync.Once
	dir string
	err error
}

// built is the program under test.
var built struct {
	sync.Once
	path string
	err  error
}

// Main runs the tests of a package and cleans up; TestMain passes its result to
// os.Exit. A fault in the output of the shared service fails the process, even
// if it came after the last test had looked.
func Main(m *testing.M) int {
	runMoreAtOnce()
	machine = pace.Start()
	defer machine.Stop()
	httpClient.Timeout = pace.Guard(httpClient.Timeout)
	code := m.Run()
	if problem := stopShared(); problem != "" {
		fmt.Fprintln(os.Stderr, problem)
		code = max(code, 1)
	}
	if root.dir != "" {
		_ = os.RemoveAll(root.dir) // leftovers in the temporary directory do no harm
	}
	return code
}

// runMoreAtOnce lets more tests run in parallel than there are processors, unless
// the command line says how many: these tests wait more than they work.
func runMoreAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // the flag exists in every test program
	}
}

// Binary returns the path of the program, built on the first call.
func Binary(t testing.TB) string {
	t.Helper()
	built.Do(build)
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func build() {
	if built.path = os.Getenv("PUNCTUAL_E2E_BINARY"); built.path != "" {
		return
	}
	dir, err := directory("bin")
	if err != nil {
		built.err = err
		return
	}
	built.path = filepath.Join(dir, "punctual")
	args := []string{"build", "-o", built.path}
	if os.Getenv("PUNCTUAL_E2E_RACE") != "" {
		args = append(args, "-race", "-gcflags=modernc.org/sqlite/lib=-race=false", "-gcflags=modernc.org/libc=-race=false",
			"-gcflags=golang.org/x/crypto/argon2=-race=false") // as scripts/testrun
	}
	out, err := exec.Command("go", append(args, program)...).CombinedOutput()
	if err != nil {
		built.err = fmt.Errorf("building the program: %w\n%s", err, out)
	}
}

// directory makes a fresh directory that lives as long as the test process.
func directory(purpose string) (string, error) {
	root.Do(func() { root.dir, root.err = os.MkdirTemp("", "punctual-e2e-") })
	if root.err != nil {
		return "", root.err
	}
	return os.MkdirTemp(root.dir, purpose+"-")
}

// migrated is the SQLite database that those of tests are copies of: to migrate each
// would cost as much processor time as all else that a service does when it starts.
var migrated sqlitefile.Template

func migrate(path string) error {
	built.Do(build)
	if built.err != nil {
		return built.err
	}
	if out, err := exec.Command(built.path, "migrate", "--database-url", "sqlite:"+path).CombinedOutput(); err != nil {
		return fmt.Errorf("migrating a database: %w\n%s", err, out)
	}
	return nil
}

// freshDatabase returns the URL of a database without accounts.
func freshDatabase(dir string) (string, error) {
	command := os.Getenv("PUNCTUAL_E2E_NEW_DATABASE")
	if command == "" {
		url := "sqlite:" + filepath.Join(dir, "punctual.db")
		return url, migrated.Copy(filepath.Join(dir, "punctual.db"), migrate)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("making a fresh database: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// NewDatabase returns the URL of an empty database, for tests that run several
// services or commands on one.
func NewDatabase(t testing.TB) string {
	t.Helper()
	dir, err := directory("db")
	if err != nil {
		t.Fatal(err)
	}
	url, err := freshDatabase(dir)
	if err != nil {
		t.Fatal(err)
	}
	return url
}
