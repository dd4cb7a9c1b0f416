package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIntervalNext(t *testing.T) {
	due := at(t, "2026-03-01T12:00:00.000005Z")
	for _, c := range []struct {
		every   time.Duration
		t, want string
		nanos   time.Duration // added to t
	}{
		{every: time.Minute, t: "2026-03-01T12:00:00.000005Z", want: "2026-03-01T12:01:00.000005Z"},
		{every: time.Minute, t: "2026-03-01T12:00:00.000004Z", want: "2026-03-01T12:00:00.000005Z"},
		{every: time.Minute, t: "2026-03-01T12:00:00.000004Z", nanos: 999, want: "2026-03-01T12:00:00.000005Z"},
		{every: time.Minute, t: "2026-03-01T12:00:00.000005Z", nanos: 1, want: "2026-03-01T12:01:00.000005Z"},
		{every: time.Minute, t: "2026-03-01T11:58:00.000005Z", want: "2026-03-01T11:59:00.000005Z"},
		{every: 1500 * time.Millisecond, t: "2026-03-01T12:00:02Z", want: "2026-03-01T12:00:03.000005Z"},
		{every: 1000001 * time.Microsecond, t: "2026-03-01T12:00:01.1Z", want: "2026-03-01T12:00:02.000007Z"},
		{every: 3652 * 24 * time.Hour, t: "2026-03-01T12:00:01Z", want: "2036-02-29T12:00:00.000005Z"},
		{every: time.Hour, t: "9998-01-01T00:30:00Z", want: "9998-01-01T01:00:00.000005Z"},
		{every: 0, t: "2026-03-01T12:00:00.000005Z", want: "2026-03-01T12:00:01.000005Z"},
		{every: -time.Hour, t: "2026-03-01T12:00:00.000005Z", want: "2026-03-01T12:00:01.000005Z"},
	} {
		got := Interval{c.every}.Next(due, at(t, c.t).Add(c.nanos))
		if !got.Equal(at(t, c.want)) || got.Location() != time.UTC {
			t.Errorf("%v after %s + %v: %v, want %s", c.every, c.t, c.nanos, got, c.want)
		}
	}
	local := time.Date(2026, 3, 1, 12, 0, 0, 1234, zone(t, "Asia/Kolkata"))
	if got := (Interval{time.Hour}).First(local); got != at(t, "2026-03-01T06:30:00.000001Z") {
		t.Errorf("First = %v", got)
	}
}

func TestLatestInIsFast(t *testing.T) {
	c := &counting{Frequency: cron(t, "* * * * *", "America/New_York")}
	after, upTo := at(t, "1990-01-01T00:00:30Z"), at(t, "2026-03-08T12:34:56Z")
	got, ok := LatestIn(c, after, after, upTo)
	if want := at(t, "2026-03-08T12:34Z"); !ok || !got.Equal(want) {
		t.Errorf("got %v, %t, want %v", got, ok, want)
	}
	if c.calls > 100 {
		t.Errorf("%d steps", c.calls)
	}
}

// counting counts how often a frequency is asked.
type counting struct {
	Frequency
	calls int
}

func (c *counting) Next(due, t time.Time) time.Time {
	c.calls++
	return c.Frequency.Next(due, t)
}

// drawFrequency makes a frequency and a first due time near from.
func drawFrequency(t *rapid.T, from time.Time) (Frequency, time.Time) {
	if rapid.Bool().Draw(t, "interval") {
		every := rapid.Int64Range(1e6, 3*60*60*1e6).Draw(t, "every")
		f := Interval{time.Duration(every) * time.Microsecond}
		return f, f.First(from)
	}
	expr := rapid.SampledFrom([]string{
		"* * * * *", "*/7 * * * *", "0 * * * *", "30 0,1,2,3 * * *", "5-50/9 1-4 * * *", "0 0 * * *", "0 12 * * SUN", "0 0 29 2 *",
	}).Draw(t, "expr")
	location, _ := LoadZone(rapid.SampledFrom(fixtureZones).Draw(t, "zone"))
	c, err := ParseCron(expr, location)
	if err != nil {
		t.Fatal(err)
	}
	return c, c.First(from)
}

// drawTime makes a time between 2000 and 2050, with nanoseconds.
func drawTime(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(946684800, 2524608000).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
}

// drawLater makes a time up to a day after t.
func drawLater(t *rapid.T, label string, since time.Time) time.Time {
	return since.Add(time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, label)))
}

// points gives all grid points in (after, upTo], walking there.
func points(f Frequency, due, after, upTo time.Time) (all []time.Time) {
	for p := f.Next(due, after); !p.After(upTo); p = f.Next(due, p) {
		all = append(all, p)
	}
	return all
}

func TestLatestInAgainstWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after := drawTime(t)
		f, due := drawFrequency(t, after)
		upTo := drawLater(t, "upTo", after).Add(-time.Minute)
		got, ok := LatestIn(f, due, after, upTo)
		all := points(f, due, after, upTo)
		if ok != (len(all) > 0) || ok && !got.Equal(all[len(all)-1]) {
			t.Fatalf("got %v, %t, want the last of %v", got, ok, all)
		}
	})
}
