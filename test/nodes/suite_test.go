package nodes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// The suite of package e2e asks a command for fresh databases. The command is
// this test program itself: with makeDatabase set to a server's URL it copies the
// database migrated there and prints the URL of the copy, by way of the address in
// reachAt. To migrate each costs as much processor time as an average test.
const (
	makeDatabase = "PUNCTUAL_NODES_MAKE_DATABASE"
	reachAt      = "PUNCTUAL_NODES_REACH_AT"
	migrated     = "migrated"
)

func printDatabase(serverURL string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pace.Guard(30*time.Second))
	defer cancel()
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return err
	}
	name := "suite_" + strings.ToLower(rand.Text()) // numbers of processes come again
	if err := pgtest.CopyDatabase(ctx, conn, migrated, name); err != nil {
		return err
	}
	fmt.Printf("postgres://postgres@%s/%s\n", os.Getenv(reachAt), name)
	return conn.Close(ctx)
}

// TestSuite_PassesOnPostgreSQL runs end-to-end tests again, with every service on
// PostgreSQL: those of onPostgreSQL that don't run behind a pooler, or all.
func TestSuite_PassesOnPostgreSQL(t *testing.T) {
	server := suiteServer(t)
	passed, err := runSuite(t.Context(), t, server, server.Port, suitePattern(false), "")
	if err != nil {
		t.Error(err)
	}
	wantMany(t, passed)
}

// TestSuite_PassesBehindAPooler runs the others of onPostgreSQL, or all, with a PgBouncer
// in between that pools transactions.
func TestSuite_PassesBehindAPooler(t *testing.T) {
	server := suiteServer(t)
	var passed []string
	for try := 1; ; try++ {
		bouncer := pgtest.StartBouncer(t, server.URL("postgres"))
		more, err := runSuite(bouncer.Context(), t, server, bouncer.Port, suitePattern(true), namesOf(passed))
		passed = append(passed, more...)
		if bouncer.Context().Err() != nil && try < bouncers {
			t.Logf("PgBouncer ended; another one goes on behind %d tests that have passed: %v", len(passed), err)
			continue
		}
		if err != nil {
			t.Error(err)
		}
		wantMany(t, passed)
		return
	}
}

// bouncers is how many PgBouncers the suite uses at most: 1.18 ends now and then when
// many statements are cancelled.
const bouncers = 5

// suitePattern selects the tests of the suite that run, pooled or not; all when empty.
func suitePattern(pooled bool) string {
	if given := os.Getenv("PUNCTUAL_NODES_SUITE"); given != "" || wholeSuite() {
		return given
	}
	return patternOnPostgreSQL(pooled)
}

// namesOf returns a pattern that selects tests by name; "" for none.
func namesOf(tests []string) string {
	if len(tests) == 0 {
		return ""
	}
	return "^(" + strings.Join(tests, "|") + ")$"
}

// wantMany fails a test that has run too few of the suite.
func wantMany(t *testing.T, passed []string) {
	t.Helper()
	if len(passed) < 30 && os.Getenv("PUNCTUAL_NODES_SUITE") == "" {
		t.Errorf("only %d tests ran", len(passed))
	}
}

func suiteServer(t *testing.T) *pgtest.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	// Its hundreds of databases are too small and short-lived to be vacuumed in turn.
	server := pgtest.Start(t, "max_connections = 2000", "autovacuum_naptime = 1h")
	if err := server.Exec(`CREATE DATABASE ` + migrated); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(harness.Binary(t), "migrate", "--database-url", server.URL(migrated)).CombinedOutput(); err != nil {
		t.Fatalf("migrating a database: %v\n%s", err, out)
	}
	return server
}

// suite is the test program of package e2e.
var suite struct {
	sync.Once
	dir string
	err error
}

// suiteProgram builds the tests of package e2e, once for all runs of them.
func suiteProgram(t *testing.T) string {
	t.Helper()
	suite.Do(func() {
		if suite.dir, suite.err = os.MkdirTemp("", "punctual-suite-"); suite.err != nil {
			return
		}
		if out, err := exec.Command("go", "test", "-c", "-ldflags=-w", "-o", suite.dir+"/e2e.test", "../e2e").CombinedOutput(); err != nil {
			suite.err = fmt.Errorf("building the tests of package e2e: %w\n%s", err, out)
		}
	})
	if suite.err != nil {
		t.Fatal(suite.err)
	}
	return filepath.Join(suite.dir, "e2e.test")
}

// suiteSilence is how long the suite may be silent: no test begins, ends or logs. Then
// its goroutines are printed and it is ended.
const suiteSilence = 4 * time.Minute

// progress keeps what the suite prints and passes on to whoever watches this process
// that it goes on.
type progress struct {
	name  string
	stuck *time.Timer
	mu    sync.Mutex
	out   bytes.Buffer
	told  time.Time
	ended int
}

func (p *progress) Write(text []byte) (int, error) {
	p.stuck.Reset(pace.Limit(suiteSilence))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended += bytes.Count(text, []byte("--- "))
	if time.Since(p.told) > time.Minute {
		p.told = time.Now()
		fmt.Printf("%s: %d tests have ended\n", p.name, p.ended)
	}
	return p.out.Write(text)
}

// runSuite runs the tests of package e2e on databases of a server, which services reach
// at a port. Its storms of kills are left out, as there are others here, and what the
// pattern skip selects, if any. It returns the tests that passed.
func runSuite(ctx context.Context, t *testing.T, server *pgtest.Server, port int, pattern, skip string) (passed []string, err error) {
	t.Helper()
	cmd := exec.CommandContext(ctx, suiteProgram(t), "-test.short", "-test.v", "-test.timeout=0", "-test.run", pattern, "-test.skip", skip)
	cmd.Dir = "../e2e"
	cmd.Env = append(os.Environ(),
		"PUNCTUAL_E2E_BINARY="+harness.Binary(t),
		fmt.Sprintf("PUNCTUAL_E2E_NEW_DATABASE=%s=%s %s=%s '%s'", makeDatabase, server.URL("postgres"), reachAt,
			fmt.Sprintf("127.0.0.1:%d", port), os.Args[0]))
	p := &progress{name: t.Name(), told: time.Now()}
	// It may have ended already when it is to print its goroutines.
	p.stuck = time.AfterFunc(pace.Limit(suiteSilence), func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	cmd.Stdout, cmd.Stderr = p, p
	cmd.WaitDelay = 10 * time.Second
	if err = cmd.Start(); err == nil {
		err = cmd.Wait()
	}
	p.stuck.Stop()
	out := p.out.String()
	for _, match := range passedTest.FindAllStringSubmatch(out, -1) {
		passed = append(passed, match[1])
	}
	t.Logf("%d tests passed; the slowest took %s", len(passed), slowest10(out))
	if err != nil {
		err = fmt.Errorf("the suite: %w\n%s", err, failures(out))
	}
	return passed, err
}

var passedTest = regexp.MustCompile(`(?m)^--- PASS: (\S+) `)

var elapsed = regexp.MustCompile(`(?m)^--- \w+: (\S+) \(([\d.]+)s\)`)

// slowest10 names the ten tests that took longest.
func slowest10(out string) string {
	found := elapsed.FindAllStringSubmatch(out, -1)
	seconds := func(match []string) float64 {
		s, _ := strconv.ParseFloat(match[2], 64) // what matched is a number, or counts nothing
		return s
	}
	slices.SortFunc(found, func(a, b []string) int { return cmp.Compare(seconds(b), seconds(a)) })
	var names []string
	for _, match := range found[:min(10, len(found))] {
		names = append(names, match[2]+" s: "+match[1])
	}
	return strings.Join(names, ", ")
}

var uneventful = regexp.MustCompile(`^\s*(=== (RUN|CONT|PAUSE)|--- PASS)`)

// failures returns the output without what says that all is well.
func failures(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !uneventful.MatchString(line) {
			b.WriteString(line)
		}
	}
	const most = 30_000
	return b.String()[max(0, b.Len()-most):]
}
