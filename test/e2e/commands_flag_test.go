package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// without removes all flags that a service is started with otherwise.
func without(opts ...harness.Option) []harness.Option {
	for _, name := range []string{"listen", "allow-private-targets", "target-ports", "target-ca-file", "public-api-key", "database-url"} {
		opts = append(opts, harness.NoFlag(name))
	}
	return opts
}

func TestCommandFlag_EachIsAlsoAnEnvironmentVariable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "named.db")
	s := harness.Start(t, without(harness.Env(
		"PUNCTUAL_LISTEN=127.0.0.1:0", "PUNCTUAL_DATABASE_URL=sqlite:"+file, "PUNCTUAL_PUBLIC_API_KEY=sk_public_by_environment",
		"PUNCTUAL_ALLOW_PRIVATE_TARGETS=true", "PUNCTUAL_TARGET_CA_FILE="+harness.CAFile(t),
		"PUNCTUAL_CONCURRENCY=1", "PUNCTUAL_RETENTION=90m"))...)
	if strings.HasSuffix(s.URL(), ":8080") {
		t.Errorf("listens on %s, not on a port of its own", s.URL())
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the database is not where PUNCTUAL_DATABASE_URL says: %v", err)
	}
	wantOneAtATime(t, s.Client(t, "sk_public_by_environment"))
}

// wantOneAtATime fails the test unless a service trusts the target, may call
// it, and has at most one request under way at a time.
func wantOneAtATime(t *testing.T, c *harness.Client) {
	t.Helper()
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	for range 2 {
		create(c, `{"url":"`+target.URL+`"}`)
	}
	target.Await(t, 1, soon)
	if !target.Quiet(500 * time.Millisecond) {
		t.Error("a second request while one was under way")
	}
	release()
	target.AwaitEnds(t, 2, soon)
}

func TestCommandFlag_WinsOverItsEnvironmentVariable(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "1"), harness.Env("PUNCTUAL_CONCURRENCY=50",
		"PUNCTUAL_PUBLIC_API_KEY=sk_not_this_one", "PUNCTUAL_ALLOW_PRIVATE_TARGETS=false"))
	wantOneAtATime(t, s.Public(t))
	s.Client(t, "sk_not_this_one").Get("/api/jobs").WantProblem(401)
}

func TestCommandFlag_SwitchesReadAsGoReadsBooleans(t *testing.T) {
	t.Parallel()
	const private = `{"url":"https://127.0.0.1:1/","scheduled_at":"` + far + `"}`
	for value, permitted := range map[string]bool{"true": true, "1": true, "T": true, "false": false, "0": false} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			for _, opts := range [][]harness.Option{
				{harness.Flag("allow-private-targets", value)},
				{harness.NoFlag("allow-private-targets"), harness.Env("PUNCTUAL_ALLOW_PRIVATE_TARGETS=" + value)},
			} {
				answer := harness.Start(t, opts...).Public(t).Post("/api/jobs", private)
				if permitted {
					answer.Want(201)
				} else {
					answer.WantPointers("#/url")
				}
			}
		})
	}
}

func TestCommandFlag_WithoutTargetCAFileOnlySystemCertificatesAreTrusted(t *testing.T) {
	t.Parallel()
	c := harness.Start(t, harness.NoFlag("target-ca-file")).Public(t)
	target := harness.SharedTarget(t).Route(t)
	awaitState(t, c, create(c, `{"retries":0,"url":"`+target.URL+`"}`), "discarded")
	logs := c.Get("/api/logs?event=worker.http.error").Want(200).Data()
	wantSame(t, "kind", logs.Get("0.payload.kind"), `"tls"`)
	if hits := target.Hits(); len(hits) > 0 {
		t.Errorf("a request was sent to a target that is not trusted: %+v", hits)
	}
}

func TestCommandFlag_WithoutPublicKeyThereIsNoPublicAccount(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.NoFlag("public-api-key"))
	for _, key := range []string{harness.PublicKey, "public", ""} {
		s.Client(t, key).Get("/api/jobs").WantProblem(401)
	}
}

func TestCommandFlag_PublicAccountSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	record := create(s.Public(t), waiting)
	if code := s.Stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	s.Restart(t)
	wantSame(t, "the record", s.Public(t).Get(jobPath(record)).Want(200).Data(), record.Raw())
}

func TestCommandFlag_DatabaseDefaultsToPunctualDBInTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.NoFlag("database-url"))
	create(s.Public(t), waiting)
	if _, err := os.Stat(filepath.Join(s.Dir, "punctual.db")); err != nil {
		t.Error(err)
	}
}

func TestCommandFlag_ListenDefaultsToLoopback8080(t *testing.T) {
	probe, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		t.Skip("port 8080 is in use on this machine")
	}
	probe.Close()
	s := harness.Prepare(t, harness.NoFlag("listen"))
	if err := s.Run(); err != nil && strings.Contains(err.Error(), "address already in use") {
		t.Skip("another test has just taken port 8080")
	} else if err != nil {
		t.Fatal(err)
	}
	if s.URL() != "http://127.0.0.1:8080" {
		t.Errorf("listens on %s", s.URL())
	}
}

func TestCommandFlag_RetentionIsReadInTheseForms(t *testing.T) {
	t.Parallel()
	for _, retention := range []string{"90m", "12h", "30d", "2w", "0"} {
		s := harness.Start(t, harness.Flag("retention", retention))
		s.Public(t).Get("/healthz").Want(200)
		s.Kill()
	}
}

func TestCommandFlag_InvalidValueExitsNonZeroNamingTheFlag(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{
		"listen":                {"nonsense", "127.0.0.1:99999", ":port"},
		"database-url":          {"mysql://localhost/x", "punctual", "", "sqlite:", "sqlite:/no/such/directory/x.db"},
		"allow-private-targets": {"perhaps", "2"},
		"target-ca-file":        {filepath.Join(t.TempDir(), "missing.pem"), empty},
		"concurrency":           {"0", "-1", "many", "1.5", ""},
		"retention":             {"soon", "-1d", "30", "1y", "", "d"},
	}
	for name, values := range tests {
		for _, value := range values {
			t.Run(name+"="+filepath.Base(value), func(t *testing.T) {
				t.Parallel()
				good := []string{"serve", "--listen=127.0.0.1:0", "--database-url=" + harness.NewDatabase(t)}
				byFlag := harness.Command(t, nil, append(good, "--"+name+"="+value)...)
				wantComplaint(t, byFlag, name)
				if value == "" || name == "listen" || name == "database-url" {
					return // an empty variable counts as none; the good flags would win
				}
				variable := "PUNCTUAL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "=" + value
				wantComplaint(t, harness.Command(t, []string{variable}, good...), name)
			})
		}
	}
	wantComplaint(t, harness.Command(t, nil, "serve", "--listne=127.0.0.1:0"), "listne")
}

// wantComplaint fails the test unless the command ended by itself, named the
// flag or its variable, and printed nothing that only its authors can read.
func wantComplaint(t *testing.T, result harness.Result, flag string) {
	t.Helper()
	said := strings.ToLower(strings.ReplaceAll(result.Stderr, "_", "-"))
	if result.Code <= 0 || !strings.Contains(said, flag) {
		t.Errorf("ended with status %d and does not name %s:\n%s%s", result.Code, flag, result.Stdout, result.Stderr)
	}
	if lines := strings.Count(strings.TrimSpace(result.Stderr), "\n") + 1; lines > 5 {
		t.Errorf("wants to say one sentence, said %d lines:\n%s", lines, result.Stderr)
	}
	if strings.Contains(result.Stdout, "listening on") {
		t.Errorf("said that it listens: %s", result.Stdout)
	}
}

func TestCommandFlag_LogFormatIsHonoured(t *testing.T) {
	t.Parallel()
	for format, says := range map[string]string{"text": "msg=audit event=key.created actor=key",
		"json": `"msg":"audit","event":"key.created","actor":"key"`} {
		s := harness.Start(t, harness.Flag("log-format", format))
		s.Account(t).Post("/api/account/keys", `{}`).Want(201)
		harness.Eventually(t, soon, "the log as "+format, func() bool { return strings.Contains(s.Stderr(), says) })
	}
}
