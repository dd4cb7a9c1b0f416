package rehearse

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/limit"
)

// codesOf rehearses one schedule with the key x for a year and returns the codes of its
// findings.
func codesOf(t *testing.T, fields string, change func(*Plan)) []string {
	t.Helper()
	p := &Plan{From: at(t, "2027-01-10T00:00:00Z"), To: at(t, "2028-01-10T00:00:00Z")}
	p.Entries = []Entry{entry(t, "x", fields, p.From)}
	if change != nil {
		change(p)
	}
	var codes []string
	for _, f := range mustRun(t, p).Findings {
		if f.Message == "" || !strings.HasSuffix(f.Message, ".") {
			t.Errorf("%s: %q is no sentence", f.Code, f.Message)
		}
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	return codes
}

func TestFindings(t *testing.T) {
	takes := func(d time.Duration) func(*Plan) {
		return func(p *Plan) { p.Duration = map[string]time.Duration{"x": d} }
	}
	limited := func(p *Plan) {
		p.Limits = map[string]limit.Limit{"slow": {Calls: 1, Per: 20 * time.Minute}}
		p.Entries = append(p.Entries, entry(t, "y", `"cron":"*/10 * * * *","limits":["slow"],"max_runs":60000`, p.From))
		p.To = p.From.AddDate(0, 0, 7)
	}
	for _, c := range []struct {
		fields string
		change func(*Plan)
		want   string
	}{
		{`"cron":"0 9 * * MON-FRI","timezone":"Europe/Berlin"`, nil, ""},
		{`"cron":"0 * * * *","timezone":"Europe/Berlin"`, nil, ""}, // goes on through the changes
		{`"cron":"30 2 * * *","timezone":"Europe/Berlin"`, nil, FindClockGap},
		{`"cron":"*/20 2 * * *","timezone":"Europe/Berlin"`, nil, FindClockDouble + " " + FindClockGap},
		{`"cron":"30 1 * * *","timezone":"America/New_York"`, nil, ""}, // runs once
		{`"cron":"0 0 29 2 *"`, nil, FindLeapDayOnly + " " + FindNeverRuns},
		{`"cron":"0 0 13 * FRI"`, nil, FindEitherDay},
		{`"repeat_every":10`, nil, FindMayOverlap},
		{`"repeat_every":10,"timeout":5`, nil, ""},
		{`"cron":"*/10 * * * *","timeout":900`, takes(12 * time.Minute), FindOverlap},
		{`"cron":"0 * * * *"`, takes(time.Minute), FindTimeout},
		{`"cron":"0 * * * *","completion":{"within":[2,"minutes"]}`, takes(time.Minute), ""},
		{`"cron":"0 * * * *","expires_in":60`, func(p *Plan) {
			p.Outages = []Outage{{p.From.Add(30 * time.Minute),
				time.Hour + time.Minute}}
		}, FindExpired},
		{`"cron":"*/10 * * * *","limits":["slow"]`, limited, FindLimitStarves + " " + FindLimitStarves},
		{`"cron":"0 * * * *","retries":0,"disable_after":2`, func(p *Plan) { p.Fail = map[string]float64{"x": 1} }, FindFailures},
		{`"cron":"0 * * * *","max_runs":5`, nil, FindEndsSoon},
		{`"cron":"0 * * * *","ends_at":"2027-02-01"`, nil, FindEndsSoon},
		{`"cron":"0 * * * *","ends_at":"2027-04-01"`, nil, ""},
		{`"cron":"0 0 * * *"`, func(p *Plan) {
			for i := range busyMinute {
				p.Entries = append(p.Entries, entry(t, string(rune('A'+i%26))+string(rune('a'+i/26)), `"cron":"0 0 * * *"`, p.From))
			}
		}, FindBusyMinute},
	} {
		if got := strings.Join(codesOf(t, c.fields, c.change), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.fields, got, c.want)
		}
	}
}

func TestFindings_AreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/rehearse.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range Codes() {
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("docs/guides/rehearse.md does not explain %s", code)
		}
	}
	if list := "enum: [" + strings.Join(Codes(), ", ") + "]"; !strings.Contains(string(schema), list) {
		t.Errorf("openapi.yaml lacks %s", list)
	}
}
