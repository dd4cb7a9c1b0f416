package nodes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/e2e/harness"
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
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
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

// TestSuite_PassesOnPostgreSQL runs the end-to-end tests again, with every
// service on PostgreSQL.
func TestSuite_PassesOnPostgreSQL(t *testing.T) {
	server := suiteServer(t)
	if err := runSuite(t.Context(), t, server, server.Port, suitePattern("")); err != nil {
		t.Error(err)
	}
}

// behindAPooler selects the tests whose statements, locks and notifications a pooler
// may affect.
const behindAPooler = "^Test(Alert|Apply|Batch|Cancel|Completion|Conflict|DurabilityCrash|DurabilityRestart|DurabilitySIGTERM|Edit|Idempotency|Limits|ListFilter|Listen|Operations|Put|Race|Reschedule|RunNow|ScheduleDisable|ScheduleRun|Secrets|Stream)_"

// TestSuite_PassesBehindAPooler runs a part of them with a PgBouncer in between that
// pools transactions; all of them with PUNCTUAL_NODES_FULL.
func TestSuite_PassesBehindAPooler(t *testing.T) {
	server := suiteServer(t)
	pattern := behindAPooler
	if os.Getenv("PUNCTUAL_NODES_FULL") != "" {
		pattern = ""
	}
	for try := 1; ; try++ {
		bouncer := pgtest.StartBouncer(t, server.URL("postgres"))
		err := runSuite(bouncer.Context(), t, server, bouncer.Port, suitePattern(pattern))
		if bouncer.Context().Err() != nil && try == 1 {
			t.Logf("PgBouncer ended; once more with another one: %v", err)
			continue
		}
		if err != nil {
			t.Error(err)
		}
		return
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

// suiteWithin bounds one run of the suite.
const suiteWithin = 8 * time.Minute

// runSuite runs the tests of package e2e on databases of a server, which services reach
// at a port. Its storms of kills are left out: there are others here.
func runSuite(ctx context.Context, t *testing.T, server *pgtest.Server, port int, pattern string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, suiteWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-short", "-v", "-count=1", "-timeout", suiteWithin.String(), "-run", pattern, "../e2e")
	cmd.Env = append(os.Environ(),
		"PUNCTUAL_E2E_BINARY="+harness.Binary(t),
		fmt.Sprintf("PUNCTUAL_E2E_NEW_DATABASE=%s=%s %s=%s '%s'", makeDatabase, server.URL("postgres"), reachAt, fmt.Sprintf("127.0.0.1:%d", port), os.Args[0]))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	passed := strings.Count(out.String(), "\n--- PASS")
	t.Logf("%d tests passed; the slowest took %s", passed, slowest10(out.String()))
	if err != nil {
		return fmt.Errorf("the suite: %w\n%s", err, failures(out.String()))
	}
	if passed < 50 && suitePattern("") == "" {
		return fmt.Errorf("only %d tests ran", passed)
	}
	return nil
}

// suitePattern selects tests of the suite; all when empty.
func suitePattern(usual string) string { return cmp.Or(os.Getenv("PUNCTUAL_NODES_SUITE"), usual) }

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
