package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// client runs a command that calls the account's service.
func client(t *testing.T, a *harness.Account, args ...string) harness.Result {
	t.Helper()
	return harness.Command(t, []string{"PUNCTUAL_URL=" + a.Service.URL(), "PUNCTUAL_API_KEY=" + a.Key}, args...)
}

// dailyItem returns a schedule of a document.
func dailyItem(key, more string) string {
	return `{"key":` + quote(key) + `,"url":"https://example.com/hook","repeat_every":[1,"day"],"schedule_in":[2,"days"]` + more + `}`
}

func document(more string, schedules ...string) string {
	return `{"owner":"repo","schedules":[` + strings.Join(schedules, ",") + `]` + more + `}`
}

// outcome returns "key result" for each schedule of a response to apply.
func outcome(answer *harness.Answer) string {
	var parts []string
	for _, item := range answer.Want(200).Data().Items() {
		parts = append(parts, item.Get("key").Str()+" "+item.Get("result").Str())
	}
	return strings.Join(parts, ", ")
}

func wantOutcome(t *testing.T, answer *harness.Answer, want string) {
	t.Helper()
	if got := outcome(answer); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A document of a few kilobytes can name schedules of many megabytes.
func TestApply_ReadsAtMost32MiBOfSchedules(t *testing.T) {
	t.Parallel()
	a := account(t)
	body := `,"body":"` + strings.Repeat("x", 900<<10) + `"`
	var small []string
	for i := range 20 {
		key := fmt.Sprintf("k%02d", i)
		small = append(small, dailyItem(key, ""))
		wantOutcome(t, a.Post("/api/apply", document("", dailyItem(key, body))), key+" created")
	}
	for _, more := range []string{"", `,"dry_run":true`} {
		a.Post("/api/apply", document(more, small...)).WantPointers("#/schedules")
		a.Post("/api/apply", document(`,"prune":true`+more, small[0])).WantPointers("#/schedules")
	}
	a.Get("/api/schedules/key:k19").Want(200)
	answer := a.Post("/api/apply", document("", small[:15]...)).Want(200)
	if got := len(answer.Data().Get("14.diff.0.from").Raw()); got < 900<<10 {
		t.Errorf("a value in a difference has %d bytes", got)
	}
	a.Post("/api/apply", document("", small...)).Want(200)
}

func TestApply_MakesSchedulesMatchTheDocument(t *testing.T) {
	t.Parallel()
	a := account(t)
	first := document("", dailyItem("b", `,"name":"one","retries":1`), dailyItem("a", ""))
	wantOutcome(t, a.Post("/api/apply", first), "b created, a created")
	before := a.Get("/api/schedules/key:b").Data().Raw()
	again := a.Post("/api/apply", first)
	wantOutcome(t, again, "b unchanged, a unchanged")
	if after := a.Get("/api/schedules/key:b").Data().Raw(); after != before {
		t.Errorf("an unchanged schedule was written: %s, before %s", after, before)
	}
	changed := a.Post("/api/apply", document("", dailyItem("b", `,"name":"two"`)))
	wantOutcome(t, changed, "b changed")
	wantSame(t, "the difference", changed.Data().Get("0.diff"),
		`[{"path":"/retries","from":1,"to":null},{"path":"/name","from":"one","to":"two"}]`)
	wantOutcome(t, a.Post("/api/apply", document(`,"prune":true,"dry_run":true`, dailyItem("c", ""))), "c created, a removed, b removed")
	a.Get("/api/schedules/key:c").WantProblem(404)
	wantOutcome(t, a.Post("/api/apply", document(`,"prune":true`, dailyItem("c", ""))), "c created, a removed, b removed")
	a.Get("/api/schedules/key:a").WantProblem(404)
	if n := len(a.Get("/api/jobs?state=scheduled").Data().Items()); n != 1 {
		t.Errorf("%d jobs are pending, want the run of c", n)
	}
}

func TestApply_ChangesNothingUnlessAllIsRight(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/apply", document("", dailyItem("ok", ""), `{"url":"https://example.com/","cron":"@daily"}`,
		`{"key":"x","url":"ftp://x","cron":"* *","nme":1}`, `7`)).
		WantPointers("#/schedules/1/key", "#/schedules/2/url", "#/schedules/2/cron", "#/schedules/2/nme", "#/schedules/3")
	a.Post("/api/apply", document("", dailyItem("a", ""), dailyItem("b", ""), dailyItem("a", ""))).WantPointers("#/schedules/0/key",
		"#/schedules/2/key")
	a.Post("/api/apply", document("", `{"key":"once","url":"https://example.com/"}`)).
		WantPointers("#/schedules/0/repeat_every", "#/schedules/0/cron")
	a.Post("/api/apply", document(`,"prune":true`)).WantPointers("#/schedules")
	a.Post("/api/apply", `{"schedules":{},"prune":1}`).WantPointers("#/owner", "#/schedules", "#/prune")
	many := make([]string, 1001)
	for i := range many {
		many[i] = dailyItem(fmt.Sprint(i), "")
	}
	a.Post("/api/apply", document("", many...)).WantPointers("#/schedules")
	create(a.Client, with(waiting, `"idempotency_key":"held"`))
	a.Post("/api/apply", document("", dailyItem("new", ""), dailyItem("held", ""))).WantProblem(409)
	a.Post("/api/apply", `{"owner":"other","schedules":[`+dailyItem("theirs", "")+`]}`).Want(200)
	a.Post("/api/apply", document("", dailyItem("new", ""), dailyItem("theirs", ""))).WantProblem(409)
	if n := len(a.Get("/api/schedules").Data().Items()); n != 1 {
		t.Errorf("there are %d schedules, want 1", n)
	}
	a.Service.Public(t).Post("/api/apply", document("", dailyItem("a", ""))).WantProblem(403)
}

func TestApply_IfMatchOfAnOlderPlanIsRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	tag := a.Post("/api/apply", document("", dailyItem("a", ""))).Want(200).Header.Get("ETag")
	if plan := a.Post("/api/apply", document(`,"dry_run":true`, dailyItem("a", `,"name":"n"`))).Want(200).Header.Get("ETag"); plan != tag {
		t.Errorf("a dry run has the tag %s, want %s", plan, tag)
	}
	a.Do("PATCH", "/api/schedules/key:a", `{"name":"by hand"}`).Want(200)
	a.Post("/api/apply", document("", dailyItem("a", "")), harness.Header("If-Match", tag)).WantProblem(412)
	wantSame(t, "the name", a.Get("/api/schedules/key:a").Data().Get("name"), `"by hand"`)
}

func TestApply_SimultaneousCallsFollowOneAnother(t *testing.T) {
	t.Parallel()
	a := account(t)
	const calls = 24
	answers := make([]*harness.Answer, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			name := fmt.Sprintf(`,"name":"n%d"`, i)
			answers[i] = a.Post("/api/apply", document("", dailyItem("a", name), dailyItem("b", name)))
		})
	}
	all.Wait()
	// Each waits for the others. On a busy machine one is refused: nothing of it was stored.
	applied := 0
	for _, answer := range answers {
		if answer.Status != 503 {
			answer.Want(200)
			applied++
		}
	}
	if applied == 0 {
		t.Fatal("every call was refused")
	}
	wantSame(t, "the name of b", a.Get("/api/schedules/key:b").Want(200).Data().Get("name"),
		a.Get("/api/schedules/key:a").Want(200).Data().Get("name").Raw())
}

func TestApply_TakesOverASchedulesWithoutOwner(t *testing.T) {
	t.Parallel()
	a := account(t)
	create(a.Client, `{"idempotency_key":"k","url":"https://example.com/hook","repeat_every":[1,"day"],"schedule_in":[2,"days"]}`)
	changed := a.Post("/api/apply", document("", dailyItem("k", "")))
	wantOutcome(t, changed, "k changed")
	wantSame(t, "the difference", changed.Data().Get("0.diff"), `[{"path":"/owner","from":null,"to":"repo"}]`)
	wantOutcome(t, a.Post("/api/apply", document("", dailyItem("k", ""))), "k unchanged")
	wantOutcome(t, a.Post("/api/apply", document(`,"prune":true,"all":true`)), "k removed")
}

func TestExport_CanBeAppliedAndChangesNothing(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/apply", document("", dailyItem("ü", `,"name":"é","body":{"z":1.10,"a":[null]}`), dailyItem("a", `,"description":"d"`),
		dailyItem("Z", ""))).Want(200)
	exported := string(a.Get("/api/export?owner=repo").Want(200).Body)
	for _, format := range []string{"json", "yaml"} {
		got := client(t, a, "export", "--owner", "repo", "--format", format)
		file := filepath.Join(t.TempDir(), "schedules."+format)
		if err := os.WriteFile(file, []byte(got.Stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		wantSaid(t, client(t, a, "apply", "-f", file, "--prune", "--yes"), 0, "0 created, 0 changed, 0 removed, 3 unchanged")
	}
	if again := string(a.Get("/api/export?owner=repo").Want(200).Body); again != exported {
		t.Errorf("exported %s\nthen %s", exported, again)
	}
	if keys := fmt.Sprint(strings.Index(exported, `"Z"`) < strings.Index(exported, `"a"`),
		strings.Index(exported, `"a"`) < strings.Index(exported, `"ü"`)); keys != "true true" {
		t.Errorf("the keys are not in the order of their bytes: %s", exported)
	}
	wantSame(t, "an owner without schedules", a.Get("/api/export?owner=nobody").Want(200).JSON.Get("schedules"), "[]")
}

func TestCommandApply_NeedsYesWithoutATerminal(t *testing.T) {
	t.Parallel()
	a := account(t)
	file := filepath.Join(t.TempDir(), "schedules.yaml")
	text := "owner: repo\nschedules:\n  - key: a\n    url: https://example.com/hook\n    cron: '0 9 * * 1-5'\n---\nowner: other\nschedules: []\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, client(t, a, "apply", "-f", file), 1, "--yes applies without asking")
	wantSaid(t, client(t, a, "apply", "-f", file, "--dry-run"), 0, "+ a (created)")
	a.Get("/api/schedules/key:a").WantProblem(404)
	wantSaid(t, client(t, a, "apply", "-f", filepath.Dir(file), "--yes"), 0, "1 created, 0 changed, 0 removed, 0 unchanged")
	a.Get("/api/schedules/key:a").Want(200)
}

// crontab has 20 lines as found in real crontabs, of which 5 can't be imported.
const crontab = `# m h dom mon dow command
SHELL=/bin/bash
MAILTO=ops@example.com
TOKEN="abc def"
*/5 * * * * curl -fsS https://example.com/ping > /dev/null
0 * * * * curl -fsS --retry 3 https://example.com/hourly >/dev/null 2>&1
15 2 * * * wget -q -O /dev/null "https://example.com/cron.php?key=a&b=c"
30 3 * * 1-5 wget -qO- https://example.com/nightly &> /dev/null
@daily curl -X POST -H 'Content-Type: application/json' -d '{"a":1}' https://example.com/daily
@hourly /usr/bin/curl --silent --show-error https://example.com/@hourly
0 9 * * MON-FRI curl -s -H "Authorization: Bearer $TOKEN" https://example.com/auth
*/10 8-18 * * * curl -m 30 -o /dev/null -s -w "%{http_code}\n" https://example.com/w
0 0 1 * * curl -u user:pass https://example.com/monthly
5 4 * * sun /usr/bin/wget --spider -T 20 https://example.com/head
0 4 * * * curl -XDELETE https://example.com/cache
0 5 * * * curl -fsS https://example.com/a || true
0 6 * * * curl --data-urlencode 'q=a b' https://example.com/form
0 7 * * * curl -G -d a=1 https://example.com/get
1 7 * * * curl -s -A monitor/1.0 --compressed https://example.com/agent
2 7 * * * curl -sS https://example.com/x\%20y
15 4 * * * /usr/local/bin/backup.sh
0 8 * * * cd /srv/app && php artisan schedule:run
@reboot curl https://example.com/boot
0 1 * * * curl https://example.com/a; curl https://example.com/b
0 2 * * * curl -s https://example.com/ | mail -s report ops@example.com
`

func TestCommandImport_ConvertsARealCrontab(t *testing.T) {
	t.Parallel()
	a := account(t)
	file := filepath.Join(t.TempDir(), "crontab")
	if err := os.WriteFile(file, []byte(crontab), 0o600); err != nil {
		t.Fatal(err)
	}
	got := client(t, a, "import", "crontab", file)
	wantSaid(t, got, 1, "of 21 lines could not be imported")
	for _, said := range []string{"line 12:", "line 14:", "line 21: runs backup.sh", "line 22:", "line 23: runs at reboot", "line 24:",
		"line 25:"} {
		wantSaid(t, got, 1, said)
	}
	wantSaid(t, client(t, a, "import", "crontab", file), 1, "14 unchanged")
	wantSaid(t, client(t, a, "import", "crontab", file, "--zone", "Europe/Berlin", "--dry-run"), 1, "Europe/Berlin")
	byURL := map[string]harness.JSON{}
	for _, s := range a.Get("/api/schedules?limit=100").Data().Items() {
		byURL[s.Get("args.url").Str()] = s
	}
	if len(byURL) != 14 {
		t.Errorf("there are %d schedules, want 14", len(byURL))
	}
	wantSame(t, "a POST", byURL["https://example.com/daily"].Get("args.body"), `{"a":1}`)
	wantSame(t, "a variable", byURL["https://example.com/auth"].Get("args.headers.Authorization"), `"Bearer abc def"`)
	wantSame(t, "a time", byURL["https://example.com/nightly"].Get("frequency.cron"), `"30 3 * * 1-5"`)
}

func TestExamples_SchedulesOfTheRepositoryCanBeApplied(t *testing.T) {
	t.Parallel()
	a := account(t)
	directory, err := filepath.Abs("../../examples/github-actions/schedules")
	if err != nil {
		t.Fatal(err)
	}
	wantSaid(t, client(t, a, "apply", "-f", directory, "--prune", "--yes"), 0, "2 created")
}

// numbered returns n schedules of a document, each with the same name.
func numbered(n int, name string) []string {
	schedules := make([]string, n)
	for i := range schedules {
		schedules[i] = dailyItem(fmt.Sprintf("k%04d", i), `,"name":`+quote(name))
	}
	return schedules
}

// applied applies a document, again while the store is too busy for one so large: it
// ends a write after five seconds.
func applied(t *testing.T, c *harness.Client, doc string) *harness.Answer {
	t.Helper()
	var answer *harness.Answer
	harness.Eventually(t, 6*soon, "the store to have time for the document", func() bool {
		answer = c.Post("/api/apply", doc)
		return answer.Status != http.StatusServiceUnavailable
	})
	return answer.Want(200)
}

func TestApply_AThousandTwiceWritesNothingTheSecondTime(t *testing.T) {
	t.Parallel()
	a := account(t)
	doc := document("", numbered(1000, "n")...)
	first, second := applied(t, a.Client, doc), applied(t, a.Client, doc)
	if strings.Count(string(first.Body), `"created"`) != 1000 || strings.Count(string(second.Body), `"unchanged"`) != 1000 {
		t.Errorf("%d were created, then %d were unchanged, want 1000", strings.Count(string(first.Body), `"created"`),
			strings.Count(string(second.Body), `"unchanged"`))
	}
	if first.Header.Get("ETag") != second.Header.Get("ETag") {
		t.Errorf("the tag changed from %s to %s", first.Header.Get("ETag"), second.Header.Get("ETag"))
	}
	wantSame(t, "the revision", a.Get("/api/schedules/key:k0999/details").Data().Get("revision"), "1")
}

func TestApply_AKillAppliesAllOrNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	const size = 200
	accepted := ""
	for round := range 5 {
		begun, done := make(chan struct{}), make(chan string)
		begin := sync.OnceFunc(func() { close(begun) })
		go func() {
			last := ""
			for n := 0; ; n++ {
				name := fmt.Sprintf("%d-%04d", round, n)
				body := document("", numbered(size, name)...)
				if n == 1 {
					begin() // one was applied, and the next one is on its way
				}
				answer, err := a.Try("POST", "/api/apply", body)
				switch {
				case err == nil && answer.Status == http.StatusServiceUnavailable:
					n-- // the store is busy
				case err != nil || answer.Status != 200:
					done <- last
					return
				default:
					last = name
				}
			}
		}()
		select {
		case <-begun:
		case <-done:
			t.Fatal("the first document was refused")
		}
		time.Sleep(time.Duration(10*round) * time.Millisecond) // anywhere in an application
		s.Kill()
		if last := <-done; last != "" {
			accepted = last
		}
		s.Restart(t)
		names := map[string]int{}
		for path := "/api/schedules?limit=100"; path != ""; {
			page := a.Get(path).Want(200)
			for _, name := range page.Data().Pluck("name") {
				names[strings.Trim(name, `"`)]++
			}
			path = page.Next()
		}
		if len(names) > 1 {
			t.Fatalf("after a kill, schedules are of several documents: %v", names)
		}
		if accepted != "" && len(names) != 1 {
			t.Fatalf("the document %s was accepted, there are %v", accepted, names)
		}
		for name, n := range names {
			if n != size || name < accepted {
				t.Errorf("after a kill %d of %d schedules are of %s; accepted was %s", n, size, name, accepted)
			}
		}
	}
}

// The export of all schedules names each one's owner, and can be applied as it is.
func TestExport_OfAWholeAccountCanBeApplied(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/apply", document("", dailyItem("a", ""), dailyItem("c", ""))).Want(200)
	a.Post("/api/apply", `{"owner":"other","schedules":[`+dailyItem("b", "")+`]}`).Want(200)
	create(a.Client, `{"idempotency_key":"d","url":"https://example.com/hook","repeat_every":[1,"day"],"schedule_in":[2,"days"]}`)
	exported := string(a.Get("/api/export").Want(200).Body)
	owners := ""
	for _, s := range harness.JSON(exported).Get("schedules").Items() {
		owners += s.Get("key").Str() + "=" + s.Get("owner").Raw() + " "
	}
	if owners != `a="repo" b="other" c="repo" d=null ` {
		t.Errorf("the owners are %s", owners)
	}
	same := a.Post("/api/apply", exported)
	wantOutcome(t, same, "a unchanged, b unchanged, c unchanged, d unchanged")
	a.Post("/api/apply", exported, harness.Header("If-Match", `"other"`)).WantProblem(412)
	a.Post("/api/apply", exported, harness.Header("If-Match", same.Header.Get("ETag"))).Want(200)
	wantSaid(t, client(t, a, "export"), 0, `"owner": "other"`)
	for _, format := range []string{"json", "yaml"} {
		got := client(t, a, "export", "--format", format)
		file := filepath.Join(t.TempDir(), "all."+format)
		if err := os.WriteFile(file, []byte(got.Stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		wantSaid(t, client(t, a, "apply", "-f", file, "--yes"), 0, "0 created, 0 changed, 0 removed, 4 unchanged")
	}
	// Into another account, each schedule with its owner.
	b := account(t)
	wantOutcome(t, b.Post("/api/apply", exported), "a created, b created, c created, d created")
	if again := string(b.Get("/api/export").Want(200).Body); again != exported {
		t.Errorf("exported %s\nthen %s", exported, again)
	}
	b.Post("/api/apply", strings.Replace(exported, `"owner":"other"`, `"owner":"repo"`, 1)).WantProblem(409)
	b.Post("/api/apply", strings.Replace(exported, `"owner":"other"`, `"owner":null`, 1)).WantProblem(409)
	b.Post("/api/apply", strings.Replace(exported, `"owner":"other",`, ``, 1)).WantPointers("#/schedules/1/owner")
	b.Post("/api/apply", strings.Replace(exported, `"owner":"other"`, `"owner":7`, 1)).WantPointers("#/schedules/1/owner")
	b.Post("/api/apply", strings.TrimSuffix(strings.TrimSpace(exported), "}")+`,"prune":true}`).WantPointers("#/prune")
	empty := account(t)
	empty.Post("/api/apply", `{"schedules":[]}`).WantPointers("#/owner")
	// More than one body of most calls.
	large := account(t)
	for i := range 6 {
		body := `{"url":"https://example.com/","cron":"0 9 * * *","method":"post","body":"` + strings.Repeat("b", 200<<10) + `"}`
		large.Do("PUT", "/api/schedules/key:"+strconv.Itoa(i), body).Want(201)
	}
	whole := string(large.Get("/api/export").Want(200).Body)
	wantOutcome(t, large.Post("/api/apply", whole), "0 unchanged, 1 unchanged, 2 unchanged, 3 unchanged, 4 unchanged, 5 unchanged")
	large.Post("/api/rehearse", whole).Want(200)
}

func TestCommandApply_JoinsFilesOfAnOwner(t *testing.T) {
	t.Parallel()
	a := account(t)
	directory := t.TempDir()
	for name, key := range map[string]string{"1.json": "a", "2.json": "b"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(document("", dailyItem(key, ""))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantSaid(t, client(t, a, "apply", "-f", directory, "--prune", "--yes"), 0, "2 created, 0 changed, 0 removed, 0 unchanged")
	wantSaid(t, client(t, a, "apply", "-f", directory, "--prune", "--yes"), 0, "0 created, 0 changed, 0 removed, 2 unchanged")
	if got := client(t, a, "apply", "-f", directory, "--yes", "-q"); got.Stdout != "" {
		t.Errorf("-q prints %q of what is unchanged", got.Stdout)
	}
	if err := os.WriteFile(filepath.Join(directory, "3.json"), []byte(document("", dailyItem("c", ""))), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := client(t, a, "apply", "-f", directory, "--yes", "-q"); got.Stdout != "key:c\n" {
		t.Errorf("-q prints %q", got.Stdout)
	}
}
