package importer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// one returns the schedule of a file with one entry, or why it can't be imported.
func one(t *testing.T, name, text string, o Options) (rawjson.Value, error) {
	t.Helper()
	o.Now = now
	for _, i := range Importers {
		if i.Name != name {
			continue
		}
		entries, err := i.Parse([]byte(text), o)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s: got %v, %v", text, entries, err)
		}
		return entries[0].Schedule, entries[0].Err
	}
	t.Fatalf("there is no importer %s", name)
	return nil, nil
}

// refusedFor reports whether an error says something, or is nil if that is "".
func refusedFor(err error, want string) bool {
	return want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want)
}

func TestAWS_KeepsWhatAScheduleSays(t *testing.T) {
	const target = `"Target":{"Arn":"arn:x",`
	for more, want := range map[string]string{
		`"GroupName":"default"`: `"key":"aws:a"`,
		`"GroupName":"billing"`: `"key":"aws:billing/a"`,
		target + `"RetryPolicy":{"MaximumEventAgeInSeconds":3600,"MaximumRetryAttempts":0}}`:    `"retries":0,"expires_in":3600`,
		target + `"RetryPolicy":{"MaximumEventAgeInSeconds":86400,"MaximumRetryAttempts":185}}`: `"retries":20,"expires_in":86400`,
		target + `"Input":"run <now>"}`:                                        `"headers":{"content-type":"text/plain; charset=utf-8"},"body":"run <now>","metadata":false`,
		target + `"Input":"{\"at\":\"<aws.scheduler.scheduled-time>\"}"}`:      `! has <aws.scheduler.…>`,
		`"FlexibleTimeWindow":{"Mode":"FLEXIBLE","MaximumWindowInMinutes":15}`: `"jitter":299`,
		`"FlexibleTimeWindow":{"Mode":"FLEXIBLE","MaximumWindowInMinutes":2}`:  `"jitter":120`,
		`"FlexibleTimeWindow":{"Mode":"OFF"}`:                                  `"timezone":"Europe/Berlin","method"`,
		`"EndDate":"2027-12-31T00:00:00+01:00"`:                                `"ends_at":"2027-12-30T23:00:00Z"`,
		`"EndDate":1830297600.5`:                                               `"ends_at":"2028-01-01T00:00:00Z"`,
		`"EndDate":"soon"`:                                                     `! has the EndDate soon, which can't be read`,
		`"StartDate":[]`:                                                       `! has the StartDate [], which can't be read`,
	} {
		text := `{"Name":"a","ScheduleExpression":"cron(0/5 * * * ? *)","ScheduleExpressionTimezone":"Europe/Berlin",` +
			target + `"RoleArn":"arn:r"},` + more + `}`
		got, err := one(t, "aws", text, Options{Targets: map[string]string{"arn:x": "https://example.com/x"}})
		if err != nil {
			got = rawjson.Value("! " + err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: got %s, want %s", more, got, want)
		}
	}
	text := `{"Name":"a","ScheduleExpression":"rate(1 minutes)","CreationDate":"2027-01-01T00:00:00Z","Target":{"Arn":"arn:x"},` +
		`"FlexibleTimeWindow":{"Mode":"FLEXIBLE","MaximumWindowInMinutes":15}}`
	got, err := one(t, "aws", text, Options{Targets: map[string]string{"arn:x": "https://example.com/x"}})
	if err != nil || string(rawjson.Get(got, "jitter")) != "59" {
		t.Errorf("a window longer than the rate: got %s, %v", got, err)
	}
}

func TestGoogle_KeysOfTwoLocationsDiffer(t *testing.T) {
	for name, key := range map[string]string{
		"projects/p/locations/europe-west1/jobs/a": "google:p/europe-west1/a",
		"projects/p/locations/us-east1/jobs/a":     "google:p/us-east1/a",
		"a":                                        "google:a",
	} {
		got, err := one(t, "google", `{"name":"`+name+`","schedule":"0 9 * * 1","httpTarget":{"uri":"https://example.com/a"}}`, Options{})
		if err != nil || rawjson.Text(rawjson.Get(got, "key")) != key {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, key)
		}
	}
}

func TestImporters_ReadAByteOrderMark(t *testing.T) {
	for name, text := range map[string]string{
		"google": `[{"name":"a","schedule":"0 9 * * 1","httpTarget":{"uri":"https://example.com/a"}}]`,
		"aws":    `{"Name":"a","ScheduleExpression":"cron(0 9 * * ? *)","Target":{"Arn":"arn:x"}}`,
		"vercel": `{"crons":[{"path":"/a","schedule":"0 9 * * 1"}]}`,
	} {
		o := Options{BaseURL: "https://example.com", Targets: map[string]string{"arn:x": "https://example.com/x"}}
		if _, err := one(t, name, "\ufeff"+text, o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKubernetes_OtherWorkIsRefused(t *testing.T) {
	for spec, want := range map[string]string{
		"": "", "completions: 1\n      parallelism: 1": "", "completions: 1\n      parallelism: 2": "", "parallelism: 1": "",
		"completions: 3": "has completions", "parallelism: 2": "has completions", "completions: 0": "has completions",
		"parallelism: 0": "has completions", "completions: 1\n      parallelism: 0": "has completions",
		"completions: 3\n      parallelism: 1": "has completions",
	} {
		text := "kind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '0 5 * * *'\n  jobTemplate:\n    spec:\n      " + spec +
			"\n      template: {spec: {containers: [{command: [curl, 'https://example.com/']}]}}\n"
		_, err := one(t, "kubernetes", text, Options{Zone: "UTC"})
		if !refusedFor(err, want) {
			t.Errorf("%s: got %v", spec, err)
		}
	}
	text := "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 5 * * *', jobTemplate: {spec: {template: {spec: {" +
		"initContainers: [{image: x}], containers: [{command: [curl, 'https://example.com/']}]}}}}}\n"
	if _, err := one(t, "kubernetes", text, Options{Zone: "UTC"}); err == nil || !strings.Contains(err.Error(), "init containers") {
		t.Errorf("init containers: got %v", err)
	}
}

func TestKubernetes_ShellsHaveTheVariablesOfTheContainer(t *testing.T) {
	const (
		get  = `{"key":"k8s:a","cron":"0 5 * * *","method":"GET","url":"https://example.com/`
		post = `{"key":"k8s:a","cron":"0 5 * * *","method":"POST","url":"https://example.com/b",` +
			`"headers":{"content-type":"application/x-www-form-urlencoded"},"body":"x"}`
		changed   = "! uses the variable URL, whose value has $(, $$, * or [, which Kubernetes or the shell may replace: "
		elsewhere = "! uses the variable URL, whose value the CronJob does not have: store it as a secret"
	)
	for env, want := range map[string]string{
		`{name: URL, value: "https://example.com/a?b=c"}`:                         get + `a?b=c"}`,
		`{name: URL, value: "https://example.com/*"}`:                             changed,
		`{name: URL, value: "https://example.com/[1]"}`:                           changed,
		`{name: URL, value: "https://$(HOST)/a"}`:                                 changed,
		`{name: URL, value: "https://example.com/pa$$word"}`:                      changed,
		`{name: URL, valueFrom: {secretKeyRef: {name: s, key: k}}}`:               elsewhere,
		`{name: HOST, value: "example.com"}`:                                      elsewhere,
		`{name: URL, value: "https://example.com/b --data x"}`:                    post,
		`{name: URL, value: "https://example.com/c"}, {name: URL, valueFrom: {}}`: elsewhere,
	} {
		if got := saidByCronJob(t, env, "[sh, -c, 'curl -fsS $URL']"); !says(got, want) {
			t.Errorf("%s: got %s, want %s", env, got, want)
		}
	}
}

// saidByCronJob returns the schedule of a CronJob, or why it can't be imported after "! ".
func saidByCronJob(t *testing.T, env, command string) string {
	t.Helper()
	text := "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 5 * * *', jobTemplate: {spec: {template: {spec: {" +
		"containers: [{env: [" + env + "], command: " + command + "}]}}}}}\n"
	got, err := one(t, "kubernetes", text, Options{Zone: "UTC"})
	if err != nil {
		return "! " + err.Error()
	}
	return string(got)
}

// says reports whether a schedule is what is wanted, or a reason begins so.
func says(got, want string) bool {
	return got == want || strings.HasPrefix(want, "! ") && strings.HasPrefix(got, want)
}

func TestKubernetes_ReplacesDollarsAsKubernetesDoes(t *testing.T) {
	const (
		get      = `{"key":"k8s:a","cron":"0 5 * * *","method":"GET","url":"https://example.com/`
		replaced = "! uses the variable $(V), whose value has $( or $$, which Kubernetes replaces: write"
	)
	for _, c := range []struct{ value, word, want string }{
		{"x", "$(V)", get + `x"}`},
		{"x", "$$(V)$$", get + `$(V)$"}`},
		{"x", "$$$(V)", get + `$x"}`},
		{"pa$$word", "$(V)", replaced},
		{"$(W)", "$(V)", replaced},
		{"*", "$(V)", get + `*"}`},
	} {
		got := saidByCronJob(t, `{name: V, value: "`+c.value+`"}`, "[curl, -fsSg, 'https://example.com/"+c.word+"']")
		if !says(got, c.want) {
			t.Errorf("%s with %q: got %s, want %s", c.word, c.value, got, c.want)
		}
	}
}

func TestSystemd_OtherWorkIsRefused(t *testing.T) {
	for _, c := range []struct{ timer, service, want string }{
		{"", "ExecStartPre=/usr/bin/prepare\n", "has ExecStartPre"}, {"", "ExecCondition=/usr/bin/test -e /run/x\n", "has ExecCondition"},
		{"", "ExecStopPost=/usr/bin/tell\n", "has ExecStopPost"}, {"", "ExecStartPre=\n", ""},
		{"OnBootSec=5min\n", "", "belongs to a timer with OnBootSec"}, {"Persistent=true\n", "Type=oneshot\n", ""},
	} {
		text := "[Timer]\nOnCalendar=6:00\n" + c.timer + "[Service]\nExecStart=curl https://example.com/\n" + c.service
		_, err := one(t, "systemd", text, Options{Zone: "UTC"})
		if !refusedFor(err, c.want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestSystemd_AnEmptyTimeForgetsAllTimes(t *testing.T) {
	keys := []string{"OnCalendar", "OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec"}
	const service = "[Service]\nExecStart=curl https://example.com/\n"
	for _, key := range keys {
		for _, set := range keys[1:] {
			text := "[Timer]\n" + set + "=5min\nOnCalendar=6:00\n" + key + "=\nOnCalendar=7:00\n" + service
			got, err := one(t, "systemd", text, Options{Zone: "UTC"})
			if err != nil || rawjson.Text(rawjson.Get(got, "cron")) != "0 7 * * *" {
				t.Errorf("%q: got %s, %v", text, got, err)
			}
		}
		text := "[Timer]\nOnCalendar=6:00\n" + key + "=\n" + service
		if _, err := one(t, "systemd", text, Options{Zone: "UTC"}); !refusedFor(err, "without OnCalendar") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	text := "# /etc/systemd/system/a.timer\n[Timer]\nOnBootSec=5min\nRandomizedDelaySec=60\n" +
		"# /etc/systemd/system/a.timer.d/daily.conf\n[Timer]\nOnCalendar=\nOnCalendar=daily\n" +
		"# /etc/systemd/system/a.service\n" + service
	got, err := one(t, "systemd", text, Options{Zone: "UTC"})
	if err != nil || string(rawjson.Get(got, "jitter")) != "60" {
		t.Errorf("times that a drop-in replaces: got %s, %v", got, err)
	}
}

func TestLines_AreRightAfterALongGap(t *testing.T) {
	gap := strings.Repeat(strings.Repeat("x", 63)+"\n", maxAhead/64)
	text := "first\n" + gap + gap + "second\n" + gap + "third\n"
	l := &lines{text: []byte(text)}
	for i, name := range []string{"first", "second", "third"} {
		want := 1 + strings.Count(text[:strings.Index(text, name)], "\n")
		if got := l.of("missing", name); got != want {
			t.Errorf("value %d: got line %d, want %d", i, got, want)
		}
	}
	// A value may begin before the end of what is searched first.
	text = strings.Repeat("\n", maxAhead-2) + "split"
	if got := (&lines{text: []byte(text)}).of("split"); got != maxAhead-1 {
		t.Errorf("a value across the end: got line %d, want %d", got, maxAhead-1)
	}
}

func TestLines_SearchFarAheadWithinALimit(t *testing.T) {
	l := &lines{text: []byte(strings.Repeat("x\n", MaxBytes/2))}
	for range 2 * maxFurther / MaxBytes {
		l.of("missing")
	}
	if l.further > maxFurther {
		t.Errorf("%d bytes were searched, at most %d may be", l.further, maxFurther)
	}
}

func TestLines_CountsEachPartOnce(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "\n%q\nother\n", fmt.Sprint("name", i))
	}
	l := &lines{text: []byte(text.String())}
	for i := range 1000 {
		if got := l.of("missing", fmt.Sprintf("\"name%d\"\nother", i)); got != 3*i+2 {
			t.Fatalf("name%d: got line %d, want %d", i, got, 3*i+2)
		}
		if l.line != strings.Count(text.String()[:l.from], "\n") {
			t.Fatalf("after name%d: %d lines are counted at %d", i, l.line, l.from)
		}
	}
	if got := l.of("missing"); got != 3000 {
		t.Errorf("what is not found: got line %d", got)
	}
}
