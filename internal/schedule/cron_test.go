package schedule

import (
	"testing"
	"time"
)

var fixtureZones = []string{
	"UTC", "America/New_York", "Europe/London", "Europe/Dublin", "Africa/Cairo", "Africa/Casablanca",
	"America/Havana", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "Pacific/Kwajalein",
	"America/Sao_Paulo", "Asia/Gaza", "Antarctica/Troll", "America/Nuuk",
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := LoadZone(name)
	if err != nil {
		t.Fatalf("LoadZone(%q): %v", name, err)
	}
	return z
}

func cron(t testing.TB, expr, zoneName string) *Cron {
	t.Helper()
	c, err := ParseCron(expr, zone(t, zoneName))
	if err != nil {
		t.Fatalf("ParseCron(%q): %v", expr, err)
	}
	return c
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	instant, err := ParseInstant(s)
	if err != nil {
		t.Fatalf("ParseInstant(%q): %v", s, err)
	}
	return instant
}

func TestCronNext(t *testing.T) {
	for _, c := range []struct {
		name, zone, expr, after string
		want                    []string // with the offset in force
	}{
		{"strictly after", "UTC", "0 9 * * 1-5", "2026-02-27T09:00Z", []string{"2026-03-02T09:00Z", "2026-03-03T09:00Z"}},
		{"a microsecond before", "UTC", "0 9 * * *", "2026-02-27T08:59:59.999999Z", []string{"2026-02-27T09:00Z"}},
		{"a microsecond after", "UTC", "0 9 * * *", "2026-02-27T09:00:00.000001Z", []string{"2026-02-28T09:00Z"}},
		{"before 1970", "UTC", "*/7 * * * *", "1969-12-31T23:55:30.5Z", []string{"1969-12-31T23:56Z", "1970-01-01T00:00Z"}},
		{"either day", "UTC", "0 0 13 * 5", "2026-02-07",
			[]string{"2026-02-13T00:00Z", "2026-02-20T00:00Z", "2026-02-27T00:00Z", "2026-03-06T00:00Z", "2026-03-13T00:00Z"}},
		{"both days", "UTC", "0 0 */2 * 1", "2026-03-01", []string{"2026-03-09T00:00Z", "2026-03-23T00:00Z", "2026-04-13T00:00Z"}},
		{"leap days", "UTC", "0 0 29 2 *", "2092-03-01", []string{"2096-02-29T00:00Z", "2104-02-29T00:00Z"}},
		{"leap Sundays", "UTC", "0 0 29 2 */7", "2060-01-01", []string{"2060-02-29T00:00Z", "2088-02-29T00:00Z", "2128-02-29T00:00Z"}},
		{"end of year", "UTC", "59 23 31 12 *", "2026-12-31T23:59Z", []string{"2027-12-31T23:59Z"}},
		// 2031-02-15 and 2031-03-15 are Saturdays, 2031-06-15 is a Sunday.
		{"last day", "UTC", "0 0 L * *", "2032-01-31T00:00Z", []string{"2032-02-29T00:00Z", "2032-03-31T00:00Z", "2032-04-30T00:00Z"}},
		{"before the last day", "UTC", "15 6 L-3 * *", "2031-01-01",
			[]string{"2031-01-28T06:15Z", "2031-02-25T06:15Z", "2031-03-28T06:15Z"}},
		{"the first, counted from the end", "UTC", "0 0 L-30 * *", "2031-01-02",
			[]string{"2031-03-01T00:00Z", "2031-05-01T00:00Z", "2031-07-01T00:00Z"}},
		{"nearest weekday", "UTC", "0 0 15W * *", "2031-02-01",
			[]string{"2031-02-14T00:00Z", "2031-03-14T00:00Z", "2031-04-15T00:00Z", "2031-05-15T00:00Z", "2031-06-16T00:00Z"}},
		{"nearest weekday to the first", "UTC", "0 0 1W * *", "2031-01-15",
			[]string{"2031-02-03T00:00Z", "2031-03-03T00:00Z", "2031-04-01T00:00Z", "2031-05-01T00:00Z", "2031-06-02T00:00Z"}},
		{"nearest weekday to the 31st", "UTC", "0 0 31W * *", "2031-04-01",
			[]string{"2031-05-30T00:00Z", "2031-07-31T00:00Z", "2031-08-29T00:00Z", "2031-10-31T00:00Z"}},
		{"last weekday", "UTC", "0 0 LW * *", "2031-04-01",
			[]string{"2031-04-30T00:00Z", "2031-05-30T00:00Z", "2031-06-30T00:00Z", "2031-07-31T00:00Z", "2031-08-29T00:00Z"}},
		{"last Friday", "UTC", "0 9 * * 5L", "2031-01-01", []string{"2031-01-31T09:00Z", "2031-02-28T09:00Z", "2031-03-28T09:00Z"}},
		{"last Sunday", "UTC", "0 9 * * 7L", "2031-01-01", []string{"2031-01-26T09:00Z", "2031-02-23T09:00Z"}},
		{"second Monday", "UTC", "0 9 * * MON#2", "2031-01-01", []string{"2031-01-13T09:00Z", "2031-02-10T09:00Z"}},
		{"fifth Monday", "UTC", "0 9 * * 1#5", "2031-01-01", []string{"2031-03-31T09:00Z", "2031-06-30T09:00Z", "2031-09-29T09:00Z"}},
		{"either the last day or a Monday", "UTC", "0 0 L * 1", "2031-01-25",
			[]string{"2031-01-27T00:00Z", "2031-01-31T00:00Z", "2031-02-03T00:00Z"}},
		{"any date, a Monday", "UTC", "0 0 ? * 1", "2031-01-01", []string{"2031-01-06T00:00Z", "2031-01-13T00:00Z"}},
		{"last Sunday in gap", "Europe/London", "30 1 * 3 SUNL", "2026-01-01",
			[]string{"2026-03-29T02:00+01:00", "2027-03-28T02:00+01:00"}},
		{"half-hour zone", "Asia/Kolkata", "0 9 * * *", "2026-03-01", []string{"2026-03-01T09:00+05:30", "2026-03-02T09:00+05:30"}},

		{"fixed in gap", "America/New_York", "30 2 * * *", "2026-03-07T12:00-05:00",
			[]string{"2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"}},
		{"several fixed in gap", "America/New_York", "15,45 2,3 * * *", "2026-03-07T12:00-05:00",
			[]string{"2026-03-08T03:00-04:00", "2026-03-08T03:15-04:00", "2026-03-08T03:45-04:00"}},
		{"fixed at end of gap", "America/New_York", "0 2,3 * * *", "2026-03-07T12:00-05:00",
			[]string{"2026-03-08T03:00-04:00", "2026-03-09T02:00-04:00"}},
		{"fixed in overlap", "America/New_York", "30 1 * * *", "2026-10-31T12:00-04:00",
			[]string{"2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"}},
		{"fixed from within overlap", "America/New_York", "30 1 * * *", "2026-11-01T01:00-05:00", []string{"2026-11-02T01:30-05:00"}},
		{"fixed at end of overlap", "America/New_York", "0 2 * * *", "2026-11-01T01:00-04:00", []string{"2026-11-01T02:00-05:00"}},
		{"watched through gap", "America/New_York", "*/30 2 * * *", "2026-03-07T12:00-05:00",
			[]string{"2026-03-09T02:00-04:00", "2026-03-09T02:30-04:00"}},
		{"hourly through gap", "America/New_York", "0 * * * *", "2026-03-08T00:30-05:00",
			[]string{"2026-03-08T01:00-05:00", "2026-03-08T03:00-04:00", "2026-03-08T04:00-04:00"}},
		{"hourly through overlap", "America/New_York", "@hourly", "2026-11-01T00:30-04:00",
			[]string{"2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"}},
		{"watched in overlap", "America/New_York", "*/30 1 * * *", "2026-11-01T00:00-04:00",
			[]string{"2026-11-01T01:00-04:00", "2026-11-01T01:30-04:00", "2026-11-01T01:00-05:00", "2026-11-01T01:30-05:00",
				"2026-11-02T01:00-05:00"}},
		{"a rule without end", "America/New_York", "30 2 * * *", "2099-03-07T12:00-05:00", []string{"2099-03-08T03:00-04:00"}},
		{"last day of a leap year", "America/New_York", "0 12 * * *", "2400-12-30T12:00-05:00",
			[]string{"2400-12-31T12:00-05:00", "2401-01-01T12:00-05:00"}},

		{"fixed in gap", "Europe/London", "30 1 * * *", "2026-03-28T12:00Z", []string{"2026-03-29T02:00+01:00", "2026-03-30T01:30+01:00"}},
		{"fixed in overlap", "Europe/London", "30 1 * * *", "2026-10-24T12:00+01:00",
			[]string{"2026-10-25T01:30+01:00", "2026-10-26T01:30Z"}},
		{"negative summer time", "Europe/Dublin", "30 1 * * *", "2026-10-24T12:00+01:00",
			[]string{"2026-10-25T01:30+01:00", "2026-10-26T01:30Z"}},

		{"midnight in gap", "Africa/Cairo", "0 0 * * *", "2026-04-23T12:00+02:00",
			[]string{"2026-04-24T01:00+03:00", "2026-04-25T00:00+03:00"}},
		{"weekday that begins in gap", "Africa/Cairo", "30 0 * * FRI", "2026-04-23T12:00+02:00",
			[]string{"2026-04-24T01:00+03:00", "2026-05-01T00:30+03:00"}},
		{"overlap before midnight", "Africa/Cairo", "30 23 * * *", "2026-10-29T12:00+03:00",
			[]string{"2026-10-29T23:30+03:00", "2026-10-30T23:30+02:00"}},
		{"watched over midnight overlap", "Africa/Cairo", "0 * * * THU", "2026-10-29T22:00+03:00",
			[]string{"2026-10-29T23:00+03:00", "2026-10-29T23:00+02:00", "2026-11-05T00:00+02:00"}},
		{"midnight in gap", "America/Havana", "0 0 * * *", "2026-03-07T12:00-05:00",
			[]string{"2026-03-08T01:00-04:00", "2026-03-09T00:00-04:00"}},
		{"midnight in overlap", "America/Havana", "0 0 * * *", "2026-10-31T12:00-04:00",
			[]string{"2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"}},
		{"watched midnight in gap", "America/Havana", "*/20 0 * * SUN", "2026-03-07T12:00-05:00", []string{"2026-03-15T00:00-04:00"}},

		{"fixed in half-hour gap", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00+10:30",
			[]string{"2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"}},
		{"fixed in half-hour overlap", "Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00+11:00",
			[]string{"2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"}},
		{"watched through half-hour overlap", "Australia/Lord_Howe", "*/15 * * * *", "2026-04-05T01:30+11:00",
			[]string{"2026-04-05T01:45+11:00", "2026-04-05T01:30+10:30", "2026-04-05T01:45+10:30", "2026-04-05T02:00+10:30"}},
		{"hourly through half-hour gap", "Australia/Lord_Howe", "0 * * * *", "2026-10-04T01:30+10:30", []string{"2026-10-04T03:00+11:00"}},

		{"fixed on a day left out", "Pacific/Apia", "0 9,18 * * *", "2011-12-29T12:00-10:00",
			[]string{"2011-12-29T18:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T09:00+14:00"}},
		{"fixed on the date left out", "Pacific/Apia", "0 9 30 12 *", "2011-12-29T12:00-10:00",
			[]string{"2011-12-31T00:00+14:00", "2012-12-30T09:00+14:00"}},
		{"watched on the date left out", "Pacific/Apia", "* * 30 12 *", "2011-12-29T12:00-10:00", []string{"2012-12-30T00:00+14:00"}},
		{"watched over a day left out", "Pacific/Apia", "0 */12 * * *", "2011-12-29T12:00-10:00",
			[]string{"2011-12-31T00:00+14:00", "2011-12-31T12:00+14:00"}},

		// Local mean time was 4:56:02 behind UTC until noon of 1883-11-18, when
		// the clock went from 12:03:58 to 12:00:00.
		{"offset with seconds", "America/New_York", "0 9 * * *", "1883-11-17T00:00Z",
			[]string{"1883-11-17T13:56:02Z", "1883-11-18T13:56:02Z", "1883-11-19T14:00:00Z"}},
		{"overlap of seconds, fixed", "America/New_York", "2 12 * * *", "1883-11-18T12:00Z",
			[]string{"1883-11-18T16:58:02Z", "1883-11-19T17:02:00Z"}},
		{"overlap of seconds, watched", "America/New_York", "2-4 * * * *", "1883-11-18T16:58Z",
			[]string{"1883-11-18T16:58:02Z", "1883-11-18T16:59:02Z", "1883-11-18T17:02:00Z"}},
	} {
		t.Run(c.zone+"/"+c.name, func(t *testing.T) {
			cron := cron(t, c.expr, c.zone)
			tick := at(t, c.after)
			for _, want := range c.want {
				tick = cron.Next(time.Time{}, tick)
				if !tick.Equal(at(t, want)) {
					t.Fatalf("%q: %v, want %v", c.expr, tick.In(cron.Location()), want)
				}
				if tick.Location() != time.UTC {
					t.Fatalf("%q: in %v", c.expr, tick.Location())
				}
			}
		})
	}
}

func TestCronFirst(t *testing.T) {
	c := cron(t, "0 9 * * *", "Europe/London")
	for start, want := range map[string]string{
		"2026-07-01T08:00:00Z":        "2026-07-01T08:00Z",
		"2026-07-01T08:00:00.000001Z": "2026-07-02T08:00Z",
		"2026-07-01T07:59:59.999999Z": "2026-07-01T08:00Z",
	} {
		if got := c.First(at(t, start)); !got.Equal(at(t, want)) {
			t.Errorf("First(%s) = %v, want %s", start, got, want)
		}
	}
}

func BenchmarkCronNext(b *testing.B) {
	for _, c := range []struct{ name, expr, zone string }{
		{"EveryMinute", "* * * * *", "UTC"},
		{"Weekdays", "0 9 * * MON-FRI", "UTC"},
		{"WeekdaysNewYork", "0 9 * * MON-FRI", "America/New_York"},
		{"QuarterHoursNewYork", "*/15 * * * *", "America/New_York"},
		{"YearlyNewYork", "@yearly", "America/New_York"},
		{"LeapDayNewYork", "0 0 29 2 *", "America/New_York"},
		{"LeapSundayWatchedNewYork", "* 0 29 2 */7", "America/New_York"},
	} {
		b.Run(c.name, func(b *testing.B) {
			cron := cron(b, c.expr, c.zone)
			t := at(b, "2026-03-01T12:34:56Z")
			b.ReportAllocs()
			for b.Loop() {
				cron.Next(time.Time{}, t)
			}
		})
	}
}

func BenchmarkParseCron(b *testing.B) {
	newYork := zone(b, "America/New_York")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseCron("*/15 9-17 * * MON-FRI", newYork); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLatestIn(b *testing.B) {
	c := cron(b, "* * * * *", "America/New_York")
	after, upTo := at(b, "2016-03-01"), at(b, "2026-03-01")
	b.ReportAllocs()
	for b.Loop() {
		LatestIn(c, after, after, upTo)
	}
}
