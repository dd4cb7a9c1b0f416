package crontab_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/crontab"
)

// only returns the schedule of a crontab's only command, without its key.
func only(t *testing.T, text string, o crontab.Options) (string, error) {
	t.Helper()
	entries, err := crontab.Parse([]byte(text), o)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries of %q, %v", len(entries), text, err)
	}
	if entries[0].Err != nil {
		return "", entries[0].Err
	}
	_, fields, _ := strings.Cut(string(entries[0].Schedule), ",")
	return "{" + fields, nil
}

func TestParse_ConvertsCommands(t *testing.T) {
	for line, want := range map[string]string{
		"*/5 * * * * curl -fsS https://example.com/ping":                                             `{"cron":"*/5 * * * *","method":"GET","url":"https://example.com/ping"}`,
		"30\t3 * * 1-5  wget -q -O /dev/null https://example.com/nightly":                            `{"cron":"30 3 * * 1-5","method":"GET","url":"https://example.com/nightly"}`,
		"@daily /usr/bin/curl -X POST -H 'X-A: 1' https://example.com/":                              `{"cron":"@daily","method":"POST","url":"https://example.com/","headers":{"X-A":"1"}}`,
		`0 0 * * * curl -d '{"a":1}' https://example.com/ >/dev/null 2>&1`:                           `{"cron":"0 0 * * *","method":"POST","url":"https://example.com/","headers":{"content-type":"application/x-www-form-urlencoded"},"body":"{\"a\":1}"}`,
		`0 0 * * * curl --json '{"a":1.50}' https://example.com/ || true`:                            `{"cron":"0 0 * * *","method":"POST","url":"https://example.com/","headers":{"content-type":"application/json","accept":"application/json"},"body":{"a":1.50},"metadata":false}`,
		"0 0 * * * curl -d a=1 -d b=2 --data-urlencode 'c=x y&z' https://example.com/":               `{"cron":"0 0 * * *","method":"POST","url":"https://example.com/","headers":{"content-type":"application/x-www-form-urlencoded"},"body":"a=1&b=2&c=x%20y%26z"}`,
		"0 0 * * * curl -G -d a=1 'https://example.com/?b=2'":                                        `{"cron":"0 0 * * *","method":"GET","url":"https://example.com/?b=2&a=1"}`,
		"0 0 * * * curl -u user:pass -m 20 --retry 3 -A test/1 https://example.com/":                 `{"cron":"0 0 * * *","method":"GET","url":"https://example.com/","headers":{"authorization":"Basic dXNlcjpwYXNz","user-agent":"test/1"},"retries":3,"timeout":20}`,
		"0 0 * * * curl -XDELETE -HX-A:1 -H'X-A: 2' example.com/x":                                   `{"cron":"0 0 * * *","method":"DELETE","url":"http://example.com/x","headers":{"X-A":["1","2"]}}`,
		"0 0 * * * wget -qO- --tries=3 --timeout 5 --post-data 'a=1' --header='X: y' https://x.test": `{"cron":"0 0 * * *","method":"POST","url":"https://x.test","headers":{"X":"y","content-type":"application/x-www-form-urlencoded"},"body":"a=1","retries":2,"timeout":5}`,
		"0 0 * * * wget -nv https://x.test":                                                          `{"cron":"0 0 * * *","method":"GET","url":"https://x.test"}`,
		`0 0 * * * curl https://example.com/\%20a`:                                                   `{"cron":"0 0 * * *","method":"GET","url":"https://example.com/%20a"}`,
		"TOKEN = 's3cret'\n0 0 * * * curl -H \"Authorization: Bearer $TOKEN\" https://example.com/":  `{"cron":"0 0 * * *","method":"GET","url":"https://example.com/","headers":{"Authorization":"Bearer s3cret"}}`,
		"CRON_TZ=Europe/Berlin\n0 9 * * * curl https://example.com/":                                 `{"cron":"0 9 * * *","timezone":"Europe/Berlin","method":"GET","url":"https://example.com/"}`,
		"# comment\n\n0 9 * * * curl -d '$state.x' https://example.com/":                             `{"cron":"0 9 * * *","method":"POST","url":"https://example.com/","headers":{"content-type":"application/x-www-form-urlencoded"},"body":"$$state.x"}`,
	} {
		got, err := only(t, line, crontab.Options{})
		if err != nil || got != want {
			t.Errorf("%s\n got %s, %v\nwant %s", line, got, err, want)
		}
	}
}

func TestParse_SaysWhyALineCantBeConverted(t *testing.T) {
	for line, want := range map[string]string{
		"15 4 * * * /usr/local/bin/backup.sh":                 "runs backup.sh; only lines that call curl or wget",
		"@reboot curl https://example.com/":                   "reboot",
		"* * * * *":                                           "neither a variable nor a time",
		"* * * * * cd /srv && curl https://example.com/":      "more than one command",
		"* * * * * curl https://example.com/ | logger":        "more than one command",
		"* * * * * curl https://example.com/; date":           "more than one command",
		"* * * * * curl https://example.com/ || echo $(date)": "more than one command",
		"* * * * * curl https://example.com/ || alarm now":    "more than one command",
		"* * * * * wget --spider https://example.com/":        "HEAD",
		"* * * * * curl https://example.com/$(hostname)":      "output of another command",
		"* * * * * curl https://example.com/`hostname`":       "output of another command",
		"* * * * * curl https://example.com/$HOST":            "variable HOST",
		"* * * * * curl 'https://example.com/":                "shell command",
		"* * * * * curl -k https://example.com/":              "option -k",
		"* * * * * curl --cacert x https://example.com/":      "--cacert",
		"* * * * * curl -d @body.json https://example.com/":   "content of a file",
		"* * * * * curl -T file https://example.com/":         "option -T",
		"* * * * * curl -F a=b https://example.com/":          "option -F",
		"* * * * * curl https://example.com/ https://x.test/": "more than one url",
		"* * * * * curl":                                   "no url",
		"* * * * * curl -H":                                "no value",
		"* * * * * curl -u me https://example.com/":        "password",
		"* * * * * curl 'https://example.com/[1-3]'":       "brackets",
		"* * * * * curl -d @- https://example.com/ < file": "standard input",
		"* * * * * curl https://example.com/ % body":       "standard input",
		"* * * * * X=1 curl https://example.com/":          "sets a variable",
		"* * * * * curl -b jar.txt https://example.com/":   "cookies",
	} {
		if got, err := only(t, line, crontab.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v, want an error with %q", line, got, err, want)
		}
	}
}

func TestParse_ReadsUsersOfASystemCrontab(t *testing.T) {
	got, err := only(t, "17 * * * * root curl https://example.com/", crontab.Options{System: true, Zone: "Asia/Tokyo"})
	if want := `{"cron":"17 * * * *","timezone":"Asia/Tokyo","method":"GET","url":"https://example.com/"}`; err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestParse_KeysDependOnTheRequestOnly(t *testing.T) {
	entries, err := crontab.Parse([]byte("0 1 * * * curl https://example.com/a\n0 2 * * * curl https://example.com/a\n0 3 * * * curl https://example.com/b\n"), crontab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	moved, _ := crontab.Parse([]byte("59 23 * * * curl https://example.com/a\n"), crontab.Options{})
	keys := map[string]bool{}
	key := func(e crontab.Entry) string {
		var v struct{ Key string }
		if err := json.Unmarshal(e.Schedule, &v); err != nil {
			t.Fatal(err)
		}
		return v.Key
	}
	for _, e := range entries {
		keys[key(e)] = true
	}
	if len(keys) != 3 || key(moved[0]) != key(entries[0]) || key(entries[1]) != key(entries[0])+"-2" {
		t.Errorf("keys %v, at another time %s", keys, key(moved[0]))
	}
}

func TestParse_IsBounded(t *testing.T) {
	if _, err := crontab.Parse([]byte(strings.Repeat("* * * * * date\n", crontab.MaxEntries+1)), crontab.Options{}); err == nil {
		t.Error("no error for too many commands")
	}
	if _, err := crontab.Parse(make([]byte, crontab.MaxBytes+1), crontab.Options{}); err == nil {
		t.Error("no error for too many bytes")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*/5 * * * * curl -fsS -H 'A: b' -d a=1 \"https://example.com/$X\" || true")
	f.Add("X=1\n@daily wget -qO- --post-data='a' https://example.com/ >/dev/null 2>&1")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := crontab.Parse([]byte(text), crontab.Options{})
		if err != nil {
			return
		}
		for _, e := range entries {
			if (e.Err == nil) != (e.Schedule != nil) {
				t.Fatalf("line %d has schedule %s and error %v", e.Line, e.Schedule, e.Err)
			}
			if e.Schedule != nil && !json.Valid(e.Schedule) {
				t.Fatalf("line %d became %q", e.Line, e.Schedule)
			}
		}
	})
}
