package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// jobs runs a command of jobs with an account's key.
func jobs(t *testing.T, a *harness.Account, args ...string) harness.Result {
	t.Helper()
	env := []string{"PUNCTUAL_URL=" + a.Service.URL(), "PUNCTUAL_API_KEY=" + a.Key}
	return harness.Command(t, env, append([]string{"jobs"}, args...)...)
}

func wantSaid(t *testing.T, got harness.Result, code int, said string) {
	t.Helper()
	if !strings.Contains(got.Stdout+got.Stderr, said) || got.Code != code {
		t.Errorf("ended with status %d and said\n%s%swant status %d and %q", got.Code, got.Stdout, got.Stderr, code, said)
	}
}

func TestCommandJobs_CreateCreatesAJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	wantSaid(t, jobs(t, a, "create", target.URL, "-H", "X-One: 1", "-H", "X-Two: a", "-H", "X-Two: b:c", "-d", `{"n": 1.10}`, "--name",
		"from here"), 0, "is due ")
	hit := target.AwaitEnds(t, 1, soon)[0]
	if hit.Method != http.MethodPost || !strings.HasPrefix(string(hit.Body), `{"n":1.10`) || hit.Header.Get("X-One") != "1" ||
		strings.Join(hit.Header.Values("X-Two"), " ") != "a b:c" {
		t.Errorf("the request is %s %q with %v", hit.Method, hit.Body, hit.Header)
	}
	wantSaid(t, jobs(t, a, "create", target.URL, "--when", "now"), 0, "is due ")
	if hit := target.AwaitEnds(t, 2, soon)[1]; hit.Method != http.MethodGet || len(hit.Body) > 0 {
		t.Errorf("without a body the request is %s %q", hit.Method, hit.Body)
	}
}

func TestCommandJobs_ListShowAndCancelJobs(t *testing.T) {
	t.Parallel()
	a := account(t)
	wantSaid(t, jobs(t, a, "list"), 0, "there are no such jobs")
	made := jobs(t, a, "create", "https://example.com/hook", "--when", "every weekday at 9:00 Europe/Berlin", "--idempotency-key", "k",
		"--retries", "0", "--timeout", "2.5", "-d", "plain text", "--json")
	record := harness.JSON(made.Stdout)
	wantSame(t, "cron", a.Get("/api/schedules/"+record.Get("schedule_id").Str()).Data().Get("args.cron"), `"0 9 * * 1-5"`)
	wantSame(t, "timezone", record.Get("args.timezone"), `"Europe/Berlin"`)
	wantSame(t, "body", record.Get("args.body"), `"plain text"`)
	wantSame(t, "retries", record.Get("args.retries"), "0")
	wantSame(t, "timeout", record.Get("args.timeout"), "2.5")
	wantSaid(t, jobs(t, a, "create", "https://example.com/hook", "--idempotency-key", "k"), 0, "already holds this key")
	id := record.Get("job_id").Raw()
	wantSaid(t, jobs(t, a, "list", "--state", "scheduled"), 0, "POST https://example.com/hook")
	wantSaid(t, jobs(t, a, "show", id), 0, "POST https://example.com/hook")
	wantSaid(t, jobs(t, a, "show", id, "--json"), 0, `"job_id": `+id)
	wantSaid(t, jobs(t, a, "cancel", id, "999999999"), 3, "job "+id+" is cancelled; this skips only one run")
	var listed []json.RawMessage
	if err := json.Unmarshal([]byte(jobs(t, a, "list", "--json", "--state", "cancelled").Stdout), &listed); err != nil || len(listed) != 1 {
		t.Errorf("%d jobs are cancelled, %v", len(listed), err)
	}
}

func TestCommandJobs_ExplainMistakes(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, x := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"create", "http://example.com/", "--retries", "77"}, 1, "url must use https"},
		{[]string{"create", "http://example.com/", "--retries", "77"}, 1, "\n  retries "},
		{[]string{"create", "https://example.com/", "--when", "soonish"}, 2, "--when "},
		{[]string{"create", "https://example.com/", "--zone", "Nowhere/None"}, 2, "there is no time zone Nowhere/None"},
		{[]string{"create", "https://example.com/", "-H", "nothing"}, 2, "--header must be like"},
		{[]string{"create", "https://example.com/", "-d", "@no-such-file"}, 1, "no-such-file"},
		{[]string{"create", "https://example.com/", "--retries", "many"}, 1, "retries must be"},
		{[]string{"list", "--limit", "0"}, 2, "limit"},
		{[]string{"list", "--limit", "many"}, 2, "limit"},
		{[]string{"list", "--since", "soon"}, 1, "since"},
		{[]string{"show", "1"}, 3, "job"},
		{[]string{"list", "--api-key", "sk_wrong"}, 4, "key"},
		{[]string{"list", "--api-key", ""}, 4, "PUNCTUAL_API_KEY"},
		{[]string{"list", "--url", "ftp://x"}, 2, "--url must be an address"},
		{[]string{"list", "--url", "http://127.0.0.1:1"}, 5, "can't be reached"},
		{[]string{"list", "--url", harness.SharedTarget(t).URL}, 5, "can't be reached"}, // its certificate is nobody's
		// The older names of flags work.
		{[]string{"list", "--key", "sk_wrong"}, 4, "key"},
		{[]string{"list", "--service", "http://127.0.0.1:1"}, 5, "can't be reached"},
	} {
		got := jobs(t, a, x.args...)
		wantSaid(t, got, x.code, x.said)
		if !regexp.MustCompile(`^punctual: [^\n]`).MatchString(got.Stderr) || got.Stdout != "" {
			t.Errorf("%q says %q and %q", x.args, got.Stdout, got.Stderr)
		}
	}
	wantSame(t, "jobs", harness.JSON(a.Get("/api/jobs").Data().Raw()), "[]")
}

func TestCommandJobs_CreateSendsABatch(t *testing.T) {
	t.Parallel()
	a := account(t)
	file := filepath.Join(t.TempDir(), "jobs.ndjson")
	if err := os.WriteFile(file, []byte(keyed("a")+"\n\n"+keyed("b")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, jobs(t, a, "create", "--batch", file), 0, "2 jobs created\n")
	if err := os.WriteFile(file, []byte("["+keyed("b")+","+keyed("c")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, jobs(t, a, "create", "--batch", file), 0, "1 job created; 1 not, because existing jobs hold their keys\n")
	wantSaid(t, jobs(t, a, "create", "--batch", file, "https://example.com"), 2, "leave out the url")
	wantSaid(t, jobs(t, a, "create"), 2, "give the url")
}
