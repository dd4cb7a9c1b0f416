package importer

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var now = time.Date(2027, 1, 10, 12, 0, 0, 0, time.UTC)

// said returns an entry in short: its line, and its time with zone, method and URL, or
// the reason why it can't be imported.
func said(e crontab.Entry) string {
	line := strings.Repeat("|", e.Line) + " "
	if e.Err != nil {
		return line + "! " + e.Err.Error()
	}
	when := rawjson.Text(rawjson.Get(e.Schedule, "cron"))
	if when == "" {
		when = string(rawjson.Get(e.Schedule, "repeat_every")) + " from " + rawjson.Text(rawjson.Get(e.Schedule, "scheduled_at"))
	}
	return line + when + " " + e.Zone + " " + e.Method + " " + e.URL
}

func check(t *testing.T, name, text string, o Options, want ...string) {
	t.Helper()
	for _, i := range Importers {
		if i.Name != name {
			continue
		}
		o.Now = now
		entries, err := i.Parse([]byte(text), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, said(e))
			if (e.Schedule == nil) == (e.Err == nil) {
				t.Errorf("%s: %+v has both or neither", name, e)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: got %q", name, got)
		}
		for k := range got {
			if !strings.HasPrefix(got[k], want[k]) {
				t.Errorf("%s: got %q, want %q", name, got[k], want[k])
			}
		}
		return
	}
	t.Fatalf("there is no importer %s", name)
}

func TestVercel(t *testing.T) {
	check(t, "vercel", "{\"crons\": [\n{\"path\": \"/api/a\", \"schedule\": \"0 5 * * *\"},\n{\"path\": \"/api/b\", \"schedule\": \"0 5\"}]}", Options{BaseURL: "https://app.example.com/"},
		"|| 0 5 * * * UTC GET https://app.example.com/api/a", `||| ! has the time "0 5"`)
	for _, base := range []string{"app.example.com", "https://app.example.com/?a=b", "https://app.example.com#a", "https://a b",
		"https:///x"} {
		if _, err := Vercel([]byte(`{"crons": [{"path": "/a", "schedule": "0 5 * * *"}]}`), Options{BaseURL: base}); err == nil {
			t.Errorf("paths were appended to %s", base)
		}
	}
	twice, err := Vercel([]byte(`{"crons": [{"path": "/a", "schedule": "0 5 * * *"}, {"path": "/a", "schedule": "0 17 * * *"}]}`),
		Options{BaseURL: "https://app.example.com"})
	if err != nil || len(twice) != 2 || rawjson.Text(rawjson.Get(twice[0].Schedule, "key")) != "vercel:/a" ||
		rawjson.Text(rawjson.Get(twice[1].Schedule, "key")) != "vercel:/a#2" {
		t.Errorf("one path at two times: got %+v, %v", twice, err)
	}
}

func TestKubernetes(t *testing.T) {
	job := func(name, spec, container string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: " + name + "\nspec:\n  " + spec +
			"\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          containers:\n          - " + container + "\n"
	}
	text := job("a", "schedule: '30 2 * * *'\n  timeZone: Europe/Berlin",
		`{command: [sh, -c, "curl -fsS -X POST https://example.com/a"]}`) + "---\n" +
		job("b", "schedule: '@hourly'", `{command: [curl], args: ["https://example.com/$(WHAT)"], env: [{name: WHAT, value: b}]}`) +
		"---\n" +
		job("c", "schedule: '*/5 * * * *'", `{command: [python, main.py]}`) + "---\n" +
		job("d", "schedule: '0 0 */2 * MON'", `{command: [curl, "https://example.com/"]}`) + "---\n" +
		job("e", "schedule: '@every 1h'", `{command: [curl, "https://example.com/"]}`) + "---\n" +
		job("f", "schedule: '0 0 * * *'\n  suspend: true", `{command: [curl, "https://example.com/"]}`)
	check(t, "kubernetes", text, Options{Zone: "UTC"}, "|||| 30 2 * * * Europe/Berlin POST https://example.com/a",
		strings.Repeat("|", 18)+" @hourly UTC GET https://example.com/b", strings.Repeat("|", 31)+" ! runs python",
		strings.Repeat("|", 44)+" ! restricts the day",
		strings.Repeat("|", 57)+" ! has the time", strings.Repeat("|", 70)+" ! is suspended")
	check(t, "kubernetes", job("b", "schedule: '@hourly'", `{command: [curl, "https://example.com/"]}`), Options{},
		"|||| ! has no timeZone")
	for container, want := range map[string]string{
		`{image: "curlimages/curl:8.1.2", args: [-fsS, -X, PUT, "https://example.com/g"]}`: "|||| @daily UTC PUT https://example.com/g",
		`{image: quay.io/curlimages/curl, args: ["https://example.com/g"]}`:                "|||| @daily UTC GET https://example.com/g",
		`{image: curlimages/curl, args: [sh, -c, "curl https://example.com/g"]}`:           "|||| @daily UTC GET https://example.com/g",
		`{image: curlimages/curl}`:                               "|||| ! has no command",
		`{image: example/curl, args: ["https://example.com/g"]}`: "|||| ! has no command",
	} {
		check(t, "kubernetes", job("g", "schedule: '@daily'", container), Options{Zone: "UTC"}, want)
	}
	_, err := Kubernetes([]byte("{{- if .Values.on }}\nkind: CronJob\n{{- end }}\n"), Options{})
	if err == nil || !strings.Contains(err.Error(), "helm template") {
		t.Errorf("a template: got %v", err)
	}
}

func TestGitHub(t *testing.T) {
	o := Options{Repository: "acme/app/nightly.yml"}
	check(t, "github", "on:\n  workflow_dispatch: {}\n  schedule:\n    - cron: '30 5 * * 1,3'\n", o,
		"|||| 30 5 * * 1,3 UTC POST https://api.github.com/repos/acme/app/actions/workflows/nightly.yml/dispatches")
	check(t, "github", "on:\n  schedule:\n    - cron: '30 5 * * 1,3'\n", o,
		"||| ! belongs to a workflow without the trigger workflow_dispatch")
	inputs := "on:\n  schedule: [{cron: '30 5 * * 1'}]\n  workflow_dispatch:\n    inputs:\n      a: {required: true, default: x}\n" +
		"      b: {required: false}\n      c:\n"
	check(t, "github", inputs, o, "|| 30 5 * * 1 UTC POST https://api.github.com/")
	check(t, "github", inputs+"      d: {required: true}\n      e: {required: true}\n", o,
		"|| ! belongs to a workflow with required inputs, without which GitHub refuses to start it; give d, e a default")
	check(t, "github", "on: push\n", o)
}

func TestGoogle(t *testing.T) {
	check(t, "google", `[
{"name":"projects/p/locations/l/jobs/a","schedule":"0 9 * * 1","timeZone":"America/New_York","state":"ENABLED","httpTarget":{"uri":"https://example.com/a","httpMethod":"PUT","body":"eyJhIjoxfQ==","headers":{"Content-Type":"application/json"}}},
{"name":"projects/p/locations/l/jobs/b","schedule":"every 24 hours","httpTarget":{"uri":"https://example.com/b"}},
{"name":"projects/p/locations/l/jobs/c","schedule":"0 9 * * 1","pubsubTarget":{}},
{"name":"projects/p/locations/l/jobs/d","schedule":"0 9 * * 1","httpTarget":{"uri":"https://example.com/d","oidcToken":{}}},
{"name":"projects/p/locations/l/jobs/e","schedule":"0 9 * * 1","state":"PAUSED","httpTarget":{"uri":"https://example.com/e"}}]`, Options{},
		"|| 0 9 * * 1 America/New_York PUT https://example.com/a", "||| ! has the time", "|||| ! has no HTTP target",
		"||||| ! sends a token", "|||||| ! is paused")
	one := `{"name":"projects/p/locations/l/jobs/a","schedule":"0 9 * * 1","httpTarget":{"uri":"https://example.com/a"}}`
	for _, text := range []string{one, `{"jobs":[` + one + `]}`} {
		check(t, "google", text, Options{}, "| 0 9 * * 1 UTC POST https://example.com/a")
	}
}

func TestAWS(t *testing.T) {
	target := `"Target":{"Arn":"arn:x","Input":"{\"a\":1}"}`
	check(t, "aws", `[
{"Name":"a","ScheduleExpression":"cron(0 9 ? * 2-6 *)","ScheduleExpressionTimezone":"Europe/Berlin","State":"ENABLED",`+target+`},
{"Name":"b","ScheduleExpression":"rate(5 minutes)","CreationDate":"2027-01-10T11:58:30Z",`+target+`},
{"Name":"c","ScheduleExpression":"cron(15 10 ? * 6L 2027)",`+target+`},
{"Name":"d","ScheduleExpression":"cron(15 10 ? * 6L *)",`+target+`},
{"Name":"e","ScheduleExpression":"at(2027-02-01T00:00:00)",`+target+`},
{"Name":"f","ScheduleExpression":"rate(1 hour)","Target":{"Arn":"arn:y"}}]`,
		Options{Targets: map[string]string{"arn:x": "https://example.com/x"}},
		"|| 0 9 * * 1-5 Europe/Berlin POST https://example.com/x", `||| [5,"minute"] from 2027-01-10T12:03:30Z UTC POST`,
		"|||| ! is restricted to the years 2027",
		"||||| 15 10 * * 5L UTC POST", "|||||| ! has the time at(", "||||||| ! has the target arn:y")
}

func TestSystemd(t *testing.T) {
	text := "# /etc/systemd/system/a.timer\n[Timer]\nOnCalendar=Mon..Fri *-*-* 09:05:00\n# /etc/systemd/system/a.service\n[Service]\nExecStart=/usr/bin/curl -fsS https://example.com/a\n"
	check(t, "systemd", text, Options{Zone: "Europe/Berlin"}, "||| 5 9 * * MON-FRI Europe/Berlin GET https://example.com/a")
	check(t, "systemd", text, Options{}, "||| ! has no time zone")
	check(t, "systemd", text+"# /etc/systemd/system/a.timer.d/later.conf\n[Timer]\nOnCalendar=\nOnCalendar=10:05\n"+
		"# /etc/systemd/system/a.service.d/other.conf\n[Service]\nExecStart=\nExecStart=curl https://example.com/d\n", Options{Zone: "UTC"},
		strings.Repeat("|", 10)+" 5 10 * * * UTC GET https://example.com/d")
	for service, want := range map[string]string{
		"ExecStart=/usr/bin/curl -fsS \\\n# a comment between\n  -X PUT https://example.com/b": "PUT https://example.com/b",
		"ExecStart=/usr/bin/curl \\":                                 "! names no url",
		"ExecStart=/usr/bin/curl -o %h/x https://example.com/a%%20b": "GET https://example.com/a%20b",
		"ExecStart=/usr/bin/curl https://example.com/%H":             "! sends the value of %H",
		"ExecStart=%h/bin/job%i":                                     "! runs job%i;",
		"Environment=\"BASE=https://example.com\" TOKEN=t\nExecStart=/usr/bin/curl ${BASE}/c?t=$TOKEN":  "GET https://example.com/c?t=t",
		"Environment='TOKEN=a b'\nExecStart=/usr/bin/curl https://example.com/c?t=$TOKEN":               "! uses the variable TOKEN",
		`Environment=TOKEN="t"` + "\nExecStart=/usr/bin/curl https://example.com/c?t=$TOKEN":            "! uses the variable TOKEN",
		"Environment=T=a\nEnvironmentFile=/etc/x\nExecStart=/usr/bin/curl https://example.com/c?t=${T}": "! uses the variable T, which the crontab doesn't set; EnvironmentFile may set it",
	} {
		if want[0] != '!' {
			want = "0 6 * * * UTC " + want
		}
		check(t, "systemd", "[Timer]\nOnCalendar=6:00\n[Service]\n"+service+"\n", Options{Zone: "UTC"}, "|| "+want)
	}
	check(t, "systemd", "[Timer]\nOnCalendar=6:00\nOnCalendar=7:00:30\n", Options{Zone: "UTC"}, "|| ! starts", "||| ! runs at second")
	for calendar, want := range map[string]string{
		"daily": "0 0 * * *", "weekly": "0 0 * * 1", "*-*-* 04:00:00": "0 4 * * *", "*:0/15": "0/15 * * * *", "*-*-01 00:30": "30 0 1 * *",
		"Sat,Sun 08..10:00": "0 8-10 * * SAT,SUN",
		"hourly UTC":        "0 * * * *", "Thursday 12:00 Europe/Rome": "0 12 * * THU", "*-03,09-15 06:00:00": "0 6 15 3,9 *",
		"Tue, 7:05": "5 7 * * TUE", "8:00 Etc/GMT+3": "0 8 * * *", "8:00 GMT": "0 8 * * *",
		"2027-*-* 00:00": "", "*:*:10": "", "Mon *-*-01 00:00": "", "*-02~03 00:00": "",
	} {
		if got, _, err := cronOfCalendar(calendar); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", calendar, got, err, want)
		}
	}
}

func TestSystemd_RandomizedDelay(t *testing.T) {
	for delay, jitter := range map[string]string{
		"90": "90", "5min": "300", "1h 30min": "5400", "1h30m 5.5s": "5406", "0": "", "soon": "!", "5 moons": "!",
	} {
		text := "[Timer]\nOnCalendar=6:00\nRandomizedDelaySec=" + delay + "\n[Service]\nExecStart=curl https://example.com/\n"
		entries, err := Systemd([]byte(text), Options{Zone: "UTC", Now: time.Now()})
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		if e := entries[0]; (e.Err != nil) != (jitter == "!") || e.Err == nil && string(rawjson.Get(e.Schedule, "jitter")) != jitter {
			t.Errorf("%s: got %s, %v", delay, e.Schedule, e.Err)
		}
	}
}

// TestSystemd_DelayAsLongAsTheDistance: systemd takes it, as in the timer of certbot.
func TestSystemd_DelayAsLongAsTheDistance(t *testing.T) {
	for calendar, jitter := range map[string]string{"*-*-* 00,12:00:00": "43199", "*:0/5": "299", "*-*-* *:59,00:00": "59"} {
		text := "[Timer]\nOnCalendar=" + calendar + "\nRandomizedDelaySec=43200\n[Service]\nExecStart=curl https://example.com/\n"
		entries, err := Systemd([]byte(text), Options{Zone: "UTC", Now: time.Now()})
		if err != nil || len(entries) != 1 || entries[0].Err != nil {
			t.Fatal(entries, err)
		}
		if got := string(rawjson.Get(entries[0].Schedule, "jitter")); got != jitter {
			t.Errorf("%s: the jitter is %s, want %s", calendar, got, jitter)
		}
	}
}

// TestKubernetes_LaterVariablesCount: of two with one name the last counts.
func TestKubernetes_LaterVariablesCount(t *testing.T) {
	check(t, "kubernetes", "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 6 * * *', timeZone: UTC, jobTemplate: "+
		"{spec: {template: {spec: {containers: [{command: [curl, 'https://example.com/$(T)'], env: [{name: T, value: b}, {name: T, valueFrom: {}}]}]}}}}}\n",
		Options{}, "|| ! uses the variable $(T), whose value is in the cluster")
}

func TestKubernetes_OneDocumentIsWrong(t *testing.T) {
	job := func(name string) string {
		return "kind: CronJob\nmetadata: {name: " + name + "}\nspec: {schedule: '0 6 * * *', timeZone: UTC, jobTemplate: " +
			"{spec: {template: {spec: {containers: [{command: [curl, 'https://example.com/$(T)'], env: [{name: T, valueFrom: {}}]}]}}}}}\n"
	}
	plain := strings.ReplaceAll(job("b"), "$(T)", "b")
	check(t, "kubernetes", job("a")+"---\nkind: [\n--- # next\n"+plain, Options{}, "|| ! uses the variable $(T), whose value is in the cluster",
		"|||| ! begins a document that can't be read", "|||||||| 0 6 * * * UTC GET https://example.com/b")
}

func TestImporters_Intervals(t *testing.T) {
	check(t, "google", `{"name":"a","schedule":"every 2 hours","httpTarget":{"uri":"https://example.com/b"}}`, Options{},
		"| ! has the time \"every 2 hours\", an interval")
	if _, err := AWS([]byte(`{"Rules":[{"Name":"a"}]}`), Options{}); err == nil || !strings.Contains(err.Error(), "rules of EventBridge") {
		t.Errorf("rules: %v", err)
	}
}

func FuzzImporters(f *testing.F) {
	f.Add("[Timer]\nOnCalendar=Mon *-*-* 1:2\n[Service]\nExecStart=curl https://e.com")
	f.Add(`[{"Name":"a","ScheduleExpression":"cron(0 9 ? * 2-6 *)","Target":{"Arn":"a"}}]`)
	f.Add("kind: CronJob\nspec: {schedule: '* * * * *'}")
	f.Fuzz(func(t *testing.T, text string) {
		for _, i := range Importers {
			entries, err := i.Parse([]byte(text), Options{Zone: "UTC", BaseURL: "https://e.com", Repository: "a/b/c.yml", Now: now,
				Targets: map[string]string{"a": "https://e.com"}})
			for _, e := range entries {
				if err != nil || (e.Schedule == nil) == (e.Err == nil) {
					t.Fatalf("%s: %v, %+v", i.Name, err, e)
				}
			}
		}
	})
}
