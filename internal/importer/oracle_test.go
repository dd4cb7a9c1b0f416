package importer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// field is a random field of a time: as a system writes it, and what its documentation says
// that it selects.
type field struct {
	text     string
	selects  [60]bool
	all      bool // *
	restarts bool // a step through all values, as in */2
}

// dialect is how a system writes times, and what they mean.
type dialect struct {
	importer, zone string
	template       string // of a file; %s is the time
	rangeMark      string // between the ends of a range
	bare           bool   // a step may begin at a single value, as in 5/10
	days           []string
	firstDay       int // the number of Sunday
	write          func(d *dialect, minute, hour, day, month, weekday *field) string
	// either: one of the day of the month and the day of the week is enough if both are
	// restricted.
	either bool
}

const curlJob = "kind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '%s'\n  timeZone: Europe/Berlin\n" +
	"  jobTemplate: {spec: {template: {spec: {containers: [{command: [curl, 'https://example.com/']}]}}}}\n"

func fiveOf(_ *dialect, minute, hour, day, month, weekday *field) string {
	return strings.Join([]string{minute.text, hour.text, day.text, month.text, weekday.text}, " ")
}

var dialects = []dialect{
	{importer: "kubernetes", zone: "Europe/Berlin", template: curlJob, rangeMark: "-", bare: true, either: true, write: fiveOf,
		days: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
	{importer: "vercel", zone: "UTC", template: `{"crons":[{"path":"/a","schedule":"%s"}]}`, rangeMark: "-", either: true, write: fiveOf},
	{importer: "github", zone: "UTC", template: "on:\n  workflow_dispatch: {}\n  schedule:\n    - cron: '%s'\n", rangeMark: "-",
		either: true, write: fiveOf, days: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
	{importer: "google", zone: "America/New_York", rangeMark: "-", either: true, write: fiveOf,
		template: `[{"name":"a","schedule":"%s","timeZone":"America/New_York","httpTarget":{"uri":"https://example.com/"}}]`},
	{importer: "aws", zone: "Europe/Berlin", rangeMark: "-", firstDay: 1, bare: true,
		template: `[{"Name":"a","ScheduleExpression":"cron(%s)","ScheduleExpressionTimezone":"Europe/Berlin","Target":{"Arn":"a"}}]`,
		days:     []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
		write: func(_ *dialect, minute, hour, day, month, weekday *field) string {
			days := []string{day.text, weekday.text}
			if day.all {
				days[0] = "?"
			} else {
				days[1] = "?"
			}
			return strings.Join([]string{minute.text, hour.text, days[0], month.text, days[1], "*"}, " ")
		}},
	{importer: "systemd", zone: "Europe/Berlin", rangeMark: "..", bare: true,
		template: "[Timer]\nOnCalendar=%s Europe/Berlin\n[Service]\nExecStart=curl https://example.com/\n",
		days:     []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
		write: func(_ *dialect, minute, hour, day, month, weekday *field) string {
			text := "*-" + month.text + "-" + day.text + " " + hour.text + ":" + minute.text + ":00"
			if weekday.all {
				return text
			}
			return weekday.text + " " + text
		}},
}

// random returns a random field for values from low to high.
func (d *dialect) random(r *rand.Rand, low, high int, shift int, names []string) *field {
	f := &field{}
	name := func(n int) string {
		if names != nil && (d.importer == "systemd" || r.IntN(3) == 0) {
			return names[n-low]
		}
		return fmt.Sprint(n + shift)
	}
	var parts []string
	for range 1 + r.IntN(2) {
		from := low + r.IntN(high-low+1)
		to := from + r.IntN(high-from+1)
		step := 1
		text := name(from)
		switch k := r.IntN(5); {
		case k == 0 && to > from:
			text = name(from) + d.rangeMark + name(to)
		case k == 1 && to > from && names == nil:
			step = 1 + r.IntN(7)
			text = fmt.Sprintf("%s%s%s/%d", name(from), d.rangeMark, name(to), step)
		case k == 2 && d.bare && names == nil:
			to, step = high, 1+r.IntN(high)
			text = fmt.Sprintf("%s/%d", name(from), step)
		case k == 3 && names == nil && len(parts) == 0:
			from, to, step = low, high, 2+r.IntN(high-1)
			text, f.restarts = fmt.Sprintf("*/%d", step), true
		default:
			to = from
		}
		for n := from; n <= to; n += step {
			f.selects[n] = true
		}
		if parts = append(parts, text); f.restarts {
			break
		}
	}
	f.text = strings.Join(parts, ",")
	return f
}

// every returns the field that selects all values.
func every() *field {
	f := &field{text: "*", all: true}
	for i := range f.selects {
		f.selects[i] = true
	}
	return f
}

// changing reports whether a local time is in hours in which clocks change on its day.
// Systems differ there.
func changing(t time.Time) bool {
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
	return day.AddDate(0, 0, 1).Sub(day) != 24*time.Hour && t.Hour() >= 1 && t.Hour() < 4
}

// TestImporters_KeepTheirTimes compares the runs of imported schedules with those that the
// documentation of each system promises, for random times, over changes of the clocks.
func TestImporters_KeepTheirTimes(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range dialects {
		d := &dialects[i]
		t.Run(d.importer, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			taken, reasons := 0, map[string]int{}
			for range 100 {
				e := d.compare(t, r)
				if e.Err == nil {
					taken++
				} else {
					reasons[e.Err.Error()]++
				}
			}
			t.Logf("%d of 100 times were taken", taken)
			if taken < 40 {
				t.Errorf("only %d of 100 times were taken: %v", taken, reasons)
			}
		})
	}
}

// compare imports a random time and compares its runs.
func (d *dialect) compare(t *testing.T, r *rand.Rand) crontab.Entry {
	t.Helper()
	minute, hour := d.random(r, 0, 59, 0, nil), d.random(r, 0, 23, 0, nil)
	day, month, weekday := every(), every(), every()
	if r.IntN(3) == 0 {
		month = d.random(r, 1, 12, 0, nil)
	}
	switch r.IntN(4) {
	case 0:
		day = d.random(r, 1, 31, 0, nil)
	case 1:
		weekday = d.random(r, 0, 6, d.firstDay, d.days)
	case 2:
		if d.either {
			day, weekday = d.random(r, 1, 31, 0, nil), d.random(r, 0, 6, d.firstDay, d.days)
		}
	}
	if both := !day.all && !weekday.all; both && (day.restarts || weekday.restarts) && d.importer != "kubernetes" {
		return d.compare(t, r) // whether */2 restricts is not documented
	}
	text := d.write(d, minute, hour, day, month, weekday)
	e := d.parse(t, text)
	if e.Err != nil {
		return e
	}
	zone, err := time.LoadLocation(d.zone)
	if err != nil || e.Zone != d.zone {
		t.Fatalf("%s: the zone is %s, %v", text, e.Zone, err)
	}
	cron, err := schedule.ParseCron(rawjson.Text(rawjson.Get(e.Schedule, "cron")), zone)
	if err != nil && !strings.Contains(err.Error(), "never fires") { // as on 31 June
		t.Fatalf("%s: imported as %s: %v", text, e.Schedule, err)
	}
	const most = 25
	from := time.Date(2027, 3, 20, 12, 0, 0, 0, zone)
	until := from.AddDate(1, 0, 0)
	var want, got []string
	for at := time.Date(2027, 3, 20, 0, 0, 0, 0, zone); at.Before(until) && len(want) < most; at = at.AddDate(0, 0, 1) {
		ofMonth, ofWeek := day.selects[at.Day()], weekday.selects[at.Weekday()]
		on := ofMonth && ofWeek
		if d.either && !day.all && !weekday.all {
			on = ofMonth || ofWeek
		}
		for n := 0; on && month.selects[at.Month()] && n < 24*60; n++ {
			if !hour.selects[n/60] || !minute.selects[n%60] {
				continue
			}
			run := time.Date(at.Year(), at.Month(), at.Day(), n/60, n%60, 0, 0, zone)
			if run.After(from) && run.Before(until) && !changing(run) &&
				run.Hour() == n/60 && len(want) < most {
				want = append(want, run.Format(time.RFC3339))
			}
		}
	}
	for at := next(cron, from); at.Before(until) && len(got) < most; at = next(cron, at) {
		if local := at.In(zone); !changing(local) {
			got = append(got, local.Format(time.RFC3339))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s, imported as %v, runs at\n%v\nthe documentation promises\n%v", text, cron, got, want)
	}
	return e
}

// next returns the next run of a cron expression, which is nil if it never fires.
func next(cron *schedule.Cron, after time.Time) time.Time {
	if cron == nil {
		return after.AddDate(100, 0, 0)
	}
	if at := cron.Next(time.Time{}, after); !at.IsZero() {
		return at
	}
	return after.AddDate(100, 0, 0)
}

// parse imports a time.
func (d *dialect) parse(t *testing.T, text string) crontab.Entry {
	t.Helper()
	for _, i := range Importers {
		if i.Name == d.importer {
			entries, err := i.Parse([]byte(fmt.Sprintf(d.template, text)), Options{Now: now, BaseURL: "https://example.com",
				Repository: "a/b/c.yml", Targets: map[string]string{"a": "https://example.com"}})
			if err != nil || len(entries) != 1 {
				t.Fatalf("%s: %+v, %v", text, entries, err)
			}
			return entries[0]
		}
	}
	t.Fatalf("there is no importer %s", d.importer)
	return crontab.Entry{}
}
