package docs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// before are commands that make what the calls of a page refer to. $KEY is the account's.
var before = map[string]string{
	// Only a schedule that fails can be muted until it recovers.
	"alerts.md": `put schedules/key:nightly-report '{"url": "https://nobody.invalid/", "cron": "0 2 * * *", "retries": 0, "timeout": 5}'
punctual schedules run key:nightly-report --wait || true`,
	"concepts.md": `for i in 1 2; do printf '{"url": "https://example.com/%s"}\n' $i; done > jobs.ndjson`,
	"extensions.md": `put schedules/key:nightly-report '{"url": "https://example.com/", "cron": "0 2 * * *"}'
put schedules/key:nightly-report '{"url": "https://example.com/", "cron": "0 3 * * *"}'
put schedules/key:nightly-report '{"url": "https://example.com/", "cron": "0 4 * * *"}'`,
	"one-after-another.md": `punctual jobs create https://example.com/ --when 'in 1 day' --idempotency-key import`,
	"limits.md":            `put limits/tenant-42 '{"parallel": 1}'`,
	"troubleshooting.md":   `put schedules/key:job '{"url": "https://example.com/", "cron": "0 2 * * *"}'`,
}

// notCalled are calls that are not made here, by how they begin, and why.
var notCalled = map[string]string{
	`curl -fsSN -H "Authorization: Bearer $PUNCTUAL_API_KEY" "$PUNCTUAL_URL/api/events"`: "the stream has no end; package e2e reads it",
	`curl "$ADDRESS"`: "the address exists while an attempt waits for its report; package e2e makes it",
	`curl -X POST http://127.0.0.1:8080/api/dev/advance`:                                "punctual dev has it; its own test makes it",
	`curl -X POST https://qstash.upstash.io/`:                                           "another service, for comparison",
	`curl http://127.0.0.1:8123/v2/projects`:                                            "another listener; its own test makes it",
	`curl -X POST "$QSTASH_URL/v2/trigger/`:                                             "the program that it starts is the reader's; test/clients runs one",
	`curl -fs --retry 10 --retry-delay 1 --retry-connrefu`:                              "TestTutorial_Runs makes it",
	`curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"`: "TestTutorial_Runs makes it",
}

// TestCalls_Succeed makes each call by curl in the README and the guides that
// TestExamples_InShellRun does not make: those of a page in one account, in their order.
func TestCalls_Succeed(t *testing.T) {
	t.Parallel()
	// Jobs that are created are not sent: their targets are other people's hosts.
	service := harness.Start(t, harness.Flag("deny-targets", "0.0.0.0/0,::/0"), harness.SecretsKey(t),
		harness.Flag("smtp-url", "smtp://127.0.0.1:1"), harness.Flag("smtp-from", "punctual@example.com"))
	pages, err := filepath.Glob(guides + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	made := 0
	for _, page := range append(pages, "../../README.md") {
		name := filepath.Base(page)
		script := ""
		for _, call := range calls(t, page) {
			if why := prefixIn(notCalled, call); why != "" {
				used[why] = true
				continue
			}
			script += call + "\necho\n"
			made++
		}
		if script == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			account := service.Account(t)
			makeCalls(t, service, account, before[name], script)
		})
	}
	for call := range notCalled {
		if !used[call] {
			t.Errorf("no page has a call that begins with %q", call)
		}
	}
	if made < 20 {
		t.Errorf("%d calls were made, want 20 at least", made)
	}
}

// makeCalls makes the calls of a page in an account; each must succeed.
func makeCalls(t *testing.T, service *harness.Service, account *harness.Account, before, script string) {
	t.Helper()
	job := account.Post("/api/jobs", `{"url":"https://example.com/","schedule_in":[1,"day"]}`).Want(201).Data()
	id := job.Get("id").Str()
	script = strings.NewReplacer("http://127.0.0.1:8080", service.URL(), "https://punctual.example.com", service.URL(),
		"sk_trial", account.Key, "/JOB", "/"+id, "job_id=JOB", "job_id="+id,
		`{"jobs": [17,`, fmt.Sprintf(`{"jobs": [%d,`, job.Get("job_id").Int())).Replace(script)
	env := append(environment(t, service, account, harness.SharedTarget(t).Route(t)), "KEY="+account.Key)
	run(t, t.TempDir(), env, "bash", "-c", preamble+before+"\n"+script)
}

// preamble has curl fail where a call does.
const preamble = `set -eu
curl() {
	case " $*" in
	*" -fsS "* | *" --fail "*) command curl --max-time 60 "$@" ;;
	*) command curl -sS --fail-with-body --max-time 60 "$@" ;;
	esac
}
put() { curl -X PUT "$PUNCTUAL_URL/api/$1" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "$2"; }
set -x
`

// prefixIn returns the key that a call begins with; "" if there is none.
func prefixIn(table map[string]string, call string) string {
	for prefix := range table {
		if strings.HasPrefix(call, prefix) {
			return prefix
		}
	}
	return ""
}

// calls returns the calls of curl in the blocks of a page, but for those that
// TestExamples_InShellRun runs.
func calls(t *testing.T, page string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(page)
	_, isRun := examples[name]
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains([]string{"", "sh", "text"}, block[1]) || isRun && block[1] == "sh" || !strings.Contains(block[2], "curl ") {
			continue
		}
		file, err := syntax.NewParser().Parse(strings.NewReader(block[2]), name)
		if _, from, shown := strings.Cut(block[2], "\ncurl "); err != nil && shown { // the block begins with output
			file, err = syntax.NewParser().Parse(strings.NewReader("curl "+from), name)
		}
		if err != nil {
			t.Errorf("a block with curl is no shell: %v", err)
			continue
		}
		syntax.Walk(file, func(node syntax.Node) bool {
			call, ok := node.(*syntax.CallExpr)
			if ok && len(call.Args) > 0 && call.Args[0].Lit() == "curl" {
				var source bytes.Buffer
				if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&source, call); err != nil {
					t.Error(err)
				}
				list = append(list, source.String())
			}
			return true
		})
	}
	return list
}

// TestTutorial_Runs runs the tutorial on free ports in place of those that it names.
func TestTutorial_Runs(t *testing.T) {
	t.Parallel()
	text := blocks(t, "tutorial.md", "sh")
	if len(text) < 5 || !strings.HasPrefix(text[0], "go build -o bin/punctual") {
		t.Fatal("the tutorial does not begin with building the program")
	}
	ports := free(t, 2)
	script := strings.NewReplacer(":8080", ":"+ports[0], ":8443", ":"+ports[1]).Replace("set -eu\n" + strings.Join(text[1:], ""))
	env := append(os.Environ(), "PATH="+filepath.Dir(harness.Binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PUNCTUAL_LISTEN=127.0.0.1:"+ports[0])
	out := run(t, t.TempDir(), env, "bash", "-c", script)
	for _, want := range []string{`"state":"cancelled"`, `"disabled_at":"2`} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %s:\n%s", want, out)
		}
	}
	if found := problem.FindString(out); found != "" {
		t.Errorf("a call failed: %s", found)
	}
}

// problem matches an error of the API.
var problem = regexp.MustCompile(`"type": ?"about:blank"[^\n]*`)

// free returns ports that nothing listens on, below those that the system gives to
// connections, which could take them before the tutorial does.
func free(t *testing.T, n int) (ports []string) {
	t.Helper()
	for try := 0; len(ports) < n; try++ {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			if try > 1000 {
				t.Fatal(err)
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports
}
