package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	guides = "../../docs/guides/"
	// Far longer than it takes on a busy machine.
	toRun, toReceive = 3 * time.Minute, time.Minute
)

// examples says what each page leaves behind: the keys of its schedules, and how the
// requests begin once all jobs have run.
var examples = map[string]struct{ schedules, requests string }{
	"quickstart.md":                 {"report-cli report-curl", `POST {"hello":"cli", POST {"hello":"curl"`},
	"from-cron.md":                  {"", "GET /sync, POST /reports"},
	"from-cron-job-org.md":          {"cleanup cron-php newsletter", "GET /cron.php, GET /newsletter, POST /cleanup"},
	"from-qstash.md":                {"", `POST /reminders {"to":"alex"`},
	"from-cloud-tasks.md":           {"", `POST /mails {"to":"alex"`},
	"from-eventbridge-scheduler.md": {"nightly-report", `POST /reports {"format":"pdf"`},
	"from-sidekiq.md":               {"hourly", `POST /hourly, POST /reminders {"user_id":17`},
}

func TestExamples_InShellRun(t *testing.T) {
	pages, err := filepath.Glob(guides + "from-*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages about moving: %v", err)
	}
	for _, page := range append(pages, guides+"quickstart.md") {
		name := filepath.Base(page)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := blocks(t, name, "sh")
			want, known := examples[name]
			switch {
			case !known && len(text) == 0:
				t.Skip("its example is not for a shell")
			case !known:
				t.Fatal("say in examples what the page leaves behind")
			}
			service := harness.Shared(t)
			account := service.Account(t)
			route := harness.SharedTarget(t).Route(t)
			// The account is the test's own, so everything in it is the example's.
			script := strings.ReplaceAll("set -eu\n"+strings.Join(text, ""), "https://example.com", route.URL)
			run(t, t.TempDir(), environment(t, service, account, route), "bash", "-c", script)
			wantSchedules(t, account, want.schedules)
			wantRequests(t, account, route, strings.Split(want.requests, ", "))
		})
	}
}

// wantSchedules checks that the account has schedules with these keys.
func wantSchedules(t *testing.T, account *harness.Account, keys string) {
	t.Helper()
	for _, key := range strings.Fields(keys) {
		account.Get("/api/schedules/key:" + key).Want(200)
	}
}

// wantRequests runs every job that waits and compares what the target receives.
func wantRequests(t *testing.T, account *harness.Account, route *harness.Route, want []string) {
	t.Helper()
	for _, job := range account.Get("/api/jobs?state=available&limit=50").Want(200).Data().Items() {
		account.Post("/api/jobs/"+job.Get("id").Str()+"/run", nil).Want(200)
	}
	received := func() []string {
		var list []string
		for _, hit := range route.Hits() {
			line := strings.TrimSpace(hit.Method + " " + strings.TrimPrefix(hit.Path, route.Path))
			list = append(list, strings.TrimSpace(line+" "+string(hit.Body)))
		}
		return list
	}
	if !harness.Within(toReceive, func() bool {
		got := received()
		return !slices.ContainsFunc(want, func(begins string) bool {
			return !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, begins) })
		})
	}) {
		t.Errorf("the target received %q, want %q", received(), want)
	}
}

func TestExamples_InGoRun(t *testing.T) {
	t.Parallel()
	text := blocks(t, "quickstart.md", "go")
	if len(text) != 1 {
		t.Fatalf("the quickstart has %d programs in Go, want 1", len(text))
	}
	dir := inModule(t) // because the example imports the client as it is here
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	service := harness.Shared(t)
	account := service.Account(t)
	route := harness.SharedTarget(t).Route(t)
	out := run(t, ".", environment(t, service, account, route), "go", "run", "./"+dir)
	if !regexp.MustCompile(`^completed\n[0-9a-f-]{36} true\n$`).MatchString(out) {
		t.Errorf("the program printed %q", out)
	}
	wantSchedules(t, account, "report-go")
	wantRequests(t, account, route, []string{`POST {"hello":"go"`})
}

func TestExamples_InPythonRun(t *testing.T) {
	t.Parallel()
	text := blocks(t, "quickstart.md", "python")
	if len(text) != 1 {
		t.Fatalf("the quickstart has %d programs in Python, want 1", len(text))
	}
	service := harness.Shared(t)
	account := service.Account(t)
	route := harness.SharedTarget(t).Route(t)
	env := append(environment(t, service, account, route), "PYTHONPATH=../../clients/python/src", "PYTHONDONTWRITEBYTECODE=1")
	out := run(t, ".", env, "python3", "-c", text[0])
	if !regexp.MustCompile(`^completed\n[0-9a-f-]{36}\n$`).MatchString(out) {
		t.Errorf("the program printed %q", out)
	}
	wantSchedules(t, account, "report-python")
	wantRequests(t, account, route, []string{`POST {"hello":"python"`})
}

// fence matches a block of code with its language.
var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks returns the blocks of a guide in a language.
func blocks(t *testing.T, page, language string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(guides + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		if block[1] == language {
			list = append(list, block[2])
		}
	}
	return list
}

// environment returns what the pages ask readers to set, with the program in PATH.
func environment(t *testing.T, service *harness.Service, account *harness.Account, route *harness.Route) []string {
	t.Helper()
	return append(os.Environ(), "PATH="+filepath.Dir(harness.Binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PUNCTUAL_URL="+service.URL(), "PUNCTUAL_API_KEY="+account.Key, "TARGET_URL="+route.URL,
		"PUNCTUAL_PROFILES_FILE="+filepath.Join(t.TempDir(), "profiles.json"))
}

// run runs a program, which must succeed, and returns what it prints.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Limit(toRun))
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s%s", err, fmt.Sprint(args), out, problems.String())
	}
	return string(out)
}
