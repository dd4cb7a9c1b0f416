package rehearse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// at reads a time: 2027-01-01T00:05:00Z.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// entry returns a new schedule with fields of a create request, created at a time.
func entry(t testing.TB, key, fields string, now time.Time) Entry {
	t.Helper()
	body, err := rawjson.Read([]byte(`{"url":"https://example.com/x",` + fields + `}`))
	if err != nil {
		t.Fatal(err)
	}
	id := job.IDBound(now)
	copy(id[8:], fmt.Sprintf("%8s", key))
	draft, err := job.ReadSchedule(body, job.ReadOptions{Now: now, HeaderKey: &key, Schedule: id,
		HasLimit: func(string) bool { return true }})
	if err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	s := &job.Schedule{ID: id, Key: &key, InsertedAt: now, FirstDue: draft.Grid.Begin, Args: draft.Args}
	return Entry{New: true, Schedule: s, Run: &job.Job{
		ID: id, Number: 1, ScheduleID: id, Key: &key, InsertedAt: now, ScheduledAt: draft.ScheduledAt, DueAt: draft.DueAt,
		State: job.Available, Args: draft.Args,
	}}
}

func mustRun(t testing.TB, p *Plan) *Result {
	t.Helper()
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(r.Append(nil)) {
		t.Fatalf("not JSON: %s", r.Append(nil))
	}
	return r
}

// one rehearses one schedule with the key x.
func one(t *testing.T, fields, from, to string, change func(*Plan)) *Outcome {
	t.Helper()
	p := &Plan{From: at(t, from), To: at(t, to)}
	p.Entries = []Entry{entry(t, "x", fields, p.From)}
	if change != nil {
		change(p)
	}
	return &mustRun(t, p).Schedules[0]
}

func TestRun_Counts(t *testing.T) {
	const from, to = "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"
	for fields, want := range map[string]int64{
		`"cron":"0 9 * * *"`:                                 31,
		`"cron":"30 * * * *"`:                                744,
		`"cron":"*/10 9-17 * * MON-FRI"`:                     21 * 54,
		`"cron":"0 0 1 * *"`:                                 1, // the end is not included
		`"repeat_every":[1,"hour"]`:                          744,
		`"cron":"30 * * * *","max_runs":7`:                   7,
		`"cron":"@daily","except":["2027-01-03/2027-01-05"]`: 28,
		`"cron":"@daily","ends_at":"2027-01-10T00:00:00Z"`:   10,
	} {
		for _, slow := range []bool{false, true} {
			if o := one(t, fields, from, to, func(p *Plan) { p.oneByOne = slow }); o.Runs != want || o.Skipped+o.Late+o.Failed+
				o.Expired != 0 {
				t.Errorf("%s: got %+v, want %d runs", fields, o, want)
			}
		}
	}
}

func TestRun_ClockChanges(t *testing.T) {
	const zone = `,"timezone":"Europe/Berlin"`
	for _, c := range []struct {
		fields, from, to string
		runs             int64
		clock            string
	}{
		{`"cron":"30 2 * * *"` + zone, "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z", 1,
			`[{"at":"2027-03-28T01:00:00.000000Z","kind":"gap"}]`},
		{`"cron":"15 * * * *"` + zone, "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z", 23,
			`[{"at":"2027-03-28T01:00:00.000000Z","kind":"gap"}]`},
		{`"cron":"30 2 * * *"` + zone, "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z", 1,
			`[{"at":"2027-10-31T01:00:00.000000Z","kind":"double"}]`},
		{`"cron":"15 * * * *"` + zone, "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z", 25,
			`[{"at":"2027-10-31T01:00:00.000000Z","kind":"double"}]`},
		{`"cron":"0 12 * * *"` + zone, "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z", 1, `[]`},
	} {
		o := one(t, c.fields, c.from, c.to, nil)
		if got := string(rawjson.Get(o.Append(nil), "clock")); o.Runs != c.runs || got != c.clock {
			t.Errorf("%s from %s: %d runs, %s; want %d, %s", c.fields, c.from, o.Runs, got, c.runs, c.clock)
		}
	}
}

func TestRun_Overlaps(t *testing.T) {
	o := one(t, `"cron":"*/10 * * * *"`, "2027-01-01T00:05:00Z", "2027-01-01T06:05:00Z", func(p *Plan) {
		p.Duration = map[string]time.Duration{"x": 25 * time.Minute}
	})
	// 00:10, 00:30 at 00:35, 01:00 at 01:00, 01:20 at 01:25, and so on: every 25 minutes.
	if o.Runs != 15 || o.Overlaps == 0 || o.Overlaps != o.Skipped || o.Late == 0 {
		t.Errorf("got %+v", o)
	}
}

func TestRun_Outages(t *testing.T) {
	down := func(p *Plan) { p.Outages = []Outage{{at(t, "2027-01-01T02:30:00Z"), 4 * time.Hour}} }
	for fields, want := range map[string]Outcome{
		`"cron":"0 * * * *"`:                        {Runs: 21, Late: 1, Skipped: 3},
		`"cron":"0 * * * *","catch_up":"all"`:       {Runs: 24, Late: 4},
		`"cron":"0 * * * *","catch_up":"none"`:      {Runs: 20, Expired: 1, Skipped: 3},
		`"cron":"0 * * * *","expires_in":1800`:      {Runs: 20, Late: 0, Expired: 1, Skipped: 3},
		`"cron":"0 * * * *","expires_in":[1,"day"]`: {Runs: 21, Late: 1, Skipped: 3},
	} {
		got := one(t, fields, "2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z", down)
		if got.Runs != want.Runs || got.Late != want.Late || got.Skipped != want.Skipped || got.Expired != want.Expired {
			t.Errorf("%s: got %+v, want %+v", fields, got, want)
		}
	}
	// An attempt under way when the service stops is made again.
	got := one(t, `"cron":"0 * * * *"`, "2027-01-01T00:30:00Z", "2027-01-01T03:30:00Z", func(p *Plan) {
		p.Duration = map[string]time.Duration{"x": 10 * time.Minute}
		p.Outages = []Outage{{at(t, "2027-01-01T01:05:00Z"), time.Minute}}
	})
	if got.Runs != 3 || got.Late != 0 || got.Failed != 0 {
		t.Errorf("interrupted: got %+v", got)
	}
}

func TestRun_Ends(t *testing.T) {
	const from, to = "2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z"
	fail := func(p *Plan) { p.Fail = map[string]float64{"x": 1} }
	for _, c := range []struct {
		fields string
		change func(*Plan)
		runs   int64
		ends   string
	}{
		{`"cron":"30 * * * *","max_runs":7`, nil, 7, `{"at":"2027-01-01T06:30:00.000001Z","reason":"max_runs"}`},
		{`"cron":"30 * * * *","ends_at":"2027-01-01T11:00:00Z"`, nil, 11, `{"at":"2027-01-01T10:30:00.000001Z","reason":"ends_at"}`},
		{`"cron":"30 * * * *","retries":0,"disable_after":3`, fail, 3, `{"at":"2027-01-01T02:30:00.000001Z","reason":"failures"}`},
		{`"cron":"30 * * * *"`, fail, 24, `null`},
	} {
		o := one(t, c.fields, from, to, c.change)
		if got := string(rawjson.Get(o.Append(nil), "ends")); o.Runs != c.runs || got != c.ends {
			t.Errorf("%s: %d runs, ends %s; want %d, %s", c.fields, o.Runs, got, c.runs, c.ends)
		}
	}
}

func TestRun_Limits(t *testing.T) {
	p := &Plan{From: at(t, "2027-01-01T00:00:00Z"), To: at(t, "2027-01-01T01:00:00Z"), Limits: map[string]limit.Limit{
		"slow": {Calls: 1, Per: 10 * time.Second}, "one": {Parallel: 1}, "off": {Paused: true},
	}, Duration: map[string]time.Duration{"e": 30 * time.Second, "f": 30 * time.Second}}
	for key, limits := range map[string]string{"a": `"slow"`, "b": `"slow"`, "c": `"slow"`, "d": `"off"`, "e": `"one"`, "f": `"one"`} {
		p.Entries = append(p.Entries, entry(t, key, `"cron":"30 * * * *","limits":[`+limits+`]`, p.From))
	}
	got := map[string]Outcome{}
	for _, o := range mustRun(t, p).Schedules {
		got[*o.Key] = o
	}
	var held int64
	var longest time.Duration
	for _, key := range []string{"a", "b", "c"} {
		o := got[key]
		held, longest = held+o.Limited.Count, max(longest, o.Limited.Longest)
		if o.Runs != 1 || o.Late != 0 {
			t.Errorf("%s: %+v", key, o)
		}
	}
	if held != 2 || longest != 20*time.Second+2*time.Microsecond {
		t.Errorf("held %d, up to %s", held, longest)
	}
	if o := got["d"]; o.Runs != 0 || o.Limited != (Limited{1, 30 * time.Minute}) {
		t.Errorf("paused: %+v", o)
	}
	if a, b := got["e"], got["f"]; a.Limited.Count+b.Limited.Count != 1 || max(a.Limited.Longest, b.Limited.Longest) != 30*time.Second {
		t.Errorf("parallel: %+v, %+v", a, b)
	}
}

// A schedule whose last run expires as soon as its limit grants it has ended, and does
// nothing more.
func TestRun_EndsWithAnExpiredRunOfALimit(t *testing.T) {
	p := &Plan{From: at(t, "2027-01-01T00:00:00Z"), To: at(t, "2027-01-01T01:00:00Z"), Runs: 1000,
		Limits: map[string]limit.Limit{"one": {Parallel: 1}}, Duration: map[string]time.Duration{"x": 510 * time.Second}}
	p.Entries = []Entry{entry(t, "x", `"repeat_every":[1,"minute"],"catch_up":"all","expires_in":50,"max_runs":5,"limits":["one"]`, p.From)}
	r := mustRun(t, p)
	if o := r.Schedules[0]; r.Cut != nil || o.Runs != 1 || o.Expired != 4 || o.Ends == nil || o.Ends.Reason != job.EndedMaxRuns {
		t.Errorf("got %+v, cut %+v", o, r.Cut)
	}
}

func TestRun_IsCutInTime(t *testing.T) {
	p := &Plan{From: at(t, "2027-01-01T00:00:00Z"), To: at(t, "2027-02-01T00:00:00Z"), Runs: 101}
	for i := range 10 {
		p.Entries = append(p.Entries, entry(t, "k"+strconv.Itoa(i), `"cron":"@hourly"`, p.From))
	}
	r := mustRun(t, p)
	if r.Cut == nil || !r.Cut.At.Equal(at(t, "2027-01-01T10:00:00Z")) || r.Cut.Reason != CutRuns || r.Runs != 100 {
		t.Fatalf("cut %+v after %d", r.Cut, r.Runs)
	}
	for _, o := range r.Schedules {
		if o.Runs != 10 || len(o.First) != 10 {
			t.Errorf("%s: %+v", *o.Key, o)
		}
	}
	if len(r.Busiest) != 10 || r.Busiest[0] != (Minute{p.From, 10}) {
		t.Errorf("busiest %v", r.Busiest)
	}
}

// random returns a plan of random schedules.
func random(t testing.TB, seed uint64) *Plan {
	g := rand.New(rand.NewPCG(seed, 7))
	pick := func(from ...string) string { return from[g.IntN(len(from))] }
	p := &Plan{
		From: at(t, "2027-03-20T00:00:00Z").Add(time.Duration(g.IntN(20*24*3600)) * time.Second), Fail: map[string]float64{},
		Duration: map[string]time.Duration{},
		Limits: map[string]limit.Limit{"a": {Calls: 1 + g.IntN(3), Per: time.Duration(1+g.IntN(600)) * time.Second},
			"b": {Parallel: 1 + g.IntN(2)}}, Random: g.Float64(),
	}
	p.To = p.From.Add(time.Duration(1+g.IntN(6*24)) * time.Hour)
	for i := range 1 + g.IntN(6) {
		fields := pick(`"cron":"*/7 * * * *"`, `"cron":"30 2 * * *"`, `"cron":"0 */3 * * *"`, `"repeat_every":[17,"minutes"]`,
			`"repeat_every":[1,"day"],"schedule_in":7200`, `"cron":"15,45 1-3 * * *"`, `"cron":"0 0 1 * MON"`, `"cron":"* * * * *"`,
			`"cron":"0-59/2 0-23 L,1-9 * MON#1"`, `"repeat_every":47.3,"schedule_in":5.5`)
		if fields[1] == 'c' {
			fields += pick("", `,"timezone":"Europe/Berlin"`, `,"timezone":"America/New_York"`, `,"timezone":"Australia/Lord_Howe"`)
		}
		fields += pick("", "", `,"max_runs":5`, `,"max_runs":40`) + pick("", `,"catch_up":"all"`, `,"catch_up":"none"`) +
			pick("", "", `,"expires_in":120`)
		fields += pick("", `,"retries":0`, `,"retries":1,"disable_after":2`) + pick("", `,"jitter":45`) +
			pick("", "", `,"except":["2027-03-28","2027-04-01/2027-04-03"]`)
		fields += pick("", `,"ends_at":"2027-04-15T00:00:00Z"`) + pick("", "", "", `,"limits":["a"]`, `,"limits":["a","b"]`)
		key := "k" + strconv.Itoa(i)
		p.Fail[key] = []float64{0, 0, .3, 1}[g.IntN(4)]
		p.Duration[key] = time.Duration([]int{0, 0, 5, 700, 5000}[g.IntN(5)]) * time.Second
		p.Entries = append(p.Entries, entry(t, key, fields, p.From))
	}
	for i := range p.Entries {
		if g.IntN(8) == 0 {
			p.Entries[i].Started = p.From.Add(-time.Duration(g.IntN(9000)) * time.Second)
		}
	}
	p.Runs = []int{0, 0, 1 + g.IntN(20), 1 + g.IntN(4000)}[g.IntN(4)]
	for range g.IntN(3) {
		p.Outages = append(p.Outages, Outage{p.From.Add(time.Duration(g.IntN(14*24)) * time.Hour),
			time.Duration(1+g.IntN(20000)) * time.Second})
	}
	return p
}

// Seed returns the seed of a property test: PUNCTUAL_REHEARSE_SEED, or a fresh one.
func testSeed(t *testing.T) uint64 {
	if text := os.Getenv("PUNCTUAL_REHEARSE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return rand.Uint64()
}

// Schedules without limits are carried out apart, and undisturbed runs many at once. If all
// are carried out in order, undisturbed runs are one step. A run that takes the long way,
// through the decisions of package lifecycle, has the same result.
func TestRun_ShortWayIsTheLongWay(t *testing.T) {
	seed := testSeed(t)
	t.Logf("PUNCTUAL_REHEARSE_SEED=%d", seed)
	for i := range uint64(80) {
		short := mustRun(t, random(t, seed+i)).Append(nil)
		long := random(t, seed+i)
		long.oneByOne = true
		if want := mustRun(t, long).Append(nil); !bytes.Equal(short, want) {
			t.Fatalf("PUNCTUAL_REHEARSE_SEED=%d\nshort %s\nlong  %s", seed+i, short, want)
		}
		ordered := random(t, seed+i)
		ordered.Each = func(Start) {}
		if got := mustRun(t, ordered).Append(nil); !bytes.Equal(short, got) {
			t.Fatalf("PUNCTUAL_REHEARSE_SEED=%d\nshort   %s\nordered %s", seed+i, short, got)
		}
		if again := mustRun(t, random(t, seed+i)).Append(nil); !bytes.Equal(short, again) {
			t.Fatalf("PUNCTUAL_REHEARSE_SEED=%d: another result", seed+i)
		}
	}
}
