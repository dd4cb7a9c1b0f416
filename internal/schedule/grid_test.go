package schedule

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestGridNext(t *testing.T) {
	daily := func(zone string) *Cron { return cron(t, "0 9 * * *", zone) }
	for _, c := range []struct {
		name, after string
		grid        Grid
		want        []string // "" for none
	}{
		{"excluded dates", "2031-02-20", Grid{Frequency: daily("UTC"), Begin: at(t, "2031-03-01"),
			Except: dates(t, "2031-03-01", "2031-03-03/2031-03-05", "2031-03-08")},
			[]string{"2031-03-02T09:00Z", "2031-03-06T09:00Z", "2031-03-07T09:00Z", "2031-03-09T09:00Z"}},
		{"dates of the zone", "2031-03-01", Grid{Frequency: cron(t, "0 22 * * *", "America/New_York"), Except: dates(t, "2031-03-01")},
			[]string{"2031-03-01T03:00Z", "2031-03-03T03:00Z"}},
		{"interval", "2031-03-01", Grid{Frequency: Interval{6 * time.Hour}, Begin: at(t, "2031-03-01T06:00Z"),
			Except: dates(t, "2031-03-02/2031-03-03")},
			[]string{"2031-03-01T06:00Z", "2031-03-01T12:00Z", "2031-03-01T18:00Z", "2031-03-04T00:00Z", "2031-03-04T06:00Z"}},
		{"interval that begins on an excluded date", "2031-03-01",
			Grid{Frequency: Interval{5 * time.Hour}, Begin: at(t, "2031-03-01T06:00Z"), Except: dates(t, "2031-03-01")},
			[]string{"2031-03-02T02:00Z", "2031-03-02T07:00Z"}},
		{"an end", "2031-03-01", Grid{Frequency: daily("UTC"), Until: at(t, "2031-03-02T09:00Z")},
			[]string{"2031-03-01T09:00Z", "2031-03-02T09:00Z", ""}},
		{"an end just before a point", "2031-03-01", Grid{Frequency: daily("UTC"), Until: at(t, "2031-03-02T08:59:59.999999Z")},
			[]string{"2031-03-01T09:00Z", ""}},
		{"a shift", "2031-03-01", Grid{Frequency: daily("UTC"), Begin: at(t, "2031-03-02T09:00Z"), Shift: 90 * time.Second},
			[]string{"2031-03-02T09:01:30Z", "2031-03-03T09:01:30Z"}},
		{"a shift over midnight", "2031-03-01", Grid{Frequency: daily("UTC"), Shift: 20 * time.Hour, Except: dates(t, "2031-03-02")},
			[]string{"2031-03-01T05:00Z", "2031-03-02T05:00Z", "2031-03-04T05:00Z"}},
		{"a shift over the end", "2031-03-01T12:00Z", Grid{Frequency: daily("UTC"), Shift: time.Second, Until: at(t, "2031-03-02T09:00Z")},
			[]string{""}},
		{"no date left", "2031-03-01", Grid{Frequency: daily("UTC"), Except: dates(t, "2020-01-01/9999-12-31")}, []string{""}},
		{"no date left in time", "2031-03-01", Grid{Frequency: daily("UTC"), Except: dates(t, "2020-01-01/2199-12-31")}, []string{""}},
		{"the last year", "2031-03-01", Grid{Frequency: daily("UTC"), Except: dates(t, "2020-01-01/2199-12-30")},
			[]string{"2199-12-31T09:00Z", ""}},
		{"a fixed time that a gap moves to the next date", "2011-12-29T12:00-10:00",
			Grid{Frequency: cron(t, "0 9 30 12 *", "Pacific/Apia"), Except: dates(t, "2011-12-31")},
			[]string{"2012-12-30T09:00+14:00"}},
		// At 00:01 on 2006-10-29 the clock went back to 23:01 of the 28th.
		{"a date that is shown twice", "2006-10-29T02:00Z",
			Grid{Frequency: cron(t, "*/15 * * * *", "America/St_Johns"), Except: dates(t, "2006-10-28")},
			[]string{"2006-10-29T00:00-02:30", "2006-10-29T00:00-03:30", "2006-10-29T00:15-03:30"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tick := at(t, c.after)
			for _, want := range c.want {
				tick = c.grid.Next(time.Time{}, tick)
				if want == "" && tick.IsZero() {
					return
				}
				if want == "" || !tick.Equal(at(t, want)) || tick.Location() != time.UTC {
					t.Fatalf("got %v, want %q", tick, want)
				}
			}
		})
	}
}

func TestGridFirst_ComparesBeforeTheShift(t *testing.T) {
	g := Grid{Frequency: cron(t, "0 9 * * *", "UTC"), Begin: at(t, "2031-03-01"), Shift: 10 * time.Minute}
	for start, want := range map[string]string{
		"2031-03-01T09:00Z": "2031-03-01T09:10Z", "2031-03-01T09:00:00.000001Z": "2031-03-02T09:10Z", "2031-02-01": "2031-03-01T09:10Z",
	} {
		if got := g.First(at(t, start)); !got.Equal(at(t, want)) {
			t.Errorf("First(%s) = %v, want %s", start, got, want)
		}
	}
}

func TestGridPoints(t *testing.T) {
	newYork := "America/New_York"
	for _, c := range []struct {
		name, after, upTo string
		grid              Grid
		want              int64
		from, to          string
	}{
		{"none", "2031-03-01T09:00Z", "2031-03-02T08:59Z", Grid{Frequency: cron(t, "0 9 * * *", "UTC")}, 0, "", ""},
		{"one", "2031-03-01T09:00Z", "2031-03-02T09:00Z", Grid{Frequency: cron(t, "0 9 * * *", "UTC")}, 1, "2031-03-02T09:00Z",
			"2031-03-02T09:00Z"},
		{"a year of minutes", "2026-01-01T00:00Z", "2027-01-01T00:00Z", Grid{Frequency: cron(t, "* * * * *", newYork)}, 525600,
			"2026-01-01T00:01Z", "2027-01-01T00:00Z"},
		{"millennia of seconds", "0001-01-02T00:00Z", "2026-01-01T00:00Z",
			Grid{Frequency: Interval{time.Second}, Begin: at(t, "0001-01-02T00:00Z")}, 63902736000, "0001-01-02T00:00:01Z",
			"2026-01-01T00:00Z"},
		{"three fixed times in a gap", "2026-03-08T00:00-05:00", "2026-03-08T12:00-04:00",
			Grid{Frequency: cron(t, "0,20,40 2,3 * * *", newYork)}, 3, "2026-03-08T03:00-04:00", "2026-03-08T03:40-04:00"},
		{"hours on the day of a gap", "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00", Grid{Frequency: cron(t, "0 * * * *", newYork)},
			23, "2026-03-08T01:00-05:00", "2026-03-09T00:00-04:00"},
		{"hours on the day of an overlap", "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00",
			Grid{Frequency: cron(t, "0 * * * *", newYork)}, 25, "2026-11-01T01:00-04:00", "2026-11-02T00:00-05:00"},
		{"excluded dates", "2026-01-01T00:00Z", "2026-01-31T23:59Z",
			Grid{Frequency: cron(t, "0 */6 * * *", "UTC"), Except: dates(t, "2026-01-10/2026-01-19", "2026-01-25")}, 79,
			"2026-01-01T06:00Z", "2026-01-31T18:00Z"},
		{"from the beginning to the end", "2020-01-01", "2040-01-01",
			Grid{Frequency: Interval{time.Hour}, Begin: at(t, "2026-01-01"), Until: at(t, "2026-01-02")}, 25, "2026-01-01", "2026-01-02"},
	} {
		got := c.grid.Points(at(t, c.after), at(t, c.upTo))
		want := Points{Count: c.want}
		if c.want > 0 {
			want.From, want.To = at(t, c.from), at(t, c.to)
		}
		if got != want {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// drawGrid makes a grid of any frequency, near a time.
func drawGrid(t *rapid.T, near time.Time) *Grid {
	g := &Grid{Begin: near}
	if rapid.Bool().Draw(t, "cron") {
		spec := drawSpec(t)
		location, _ := LoadZone(rapid.SampledFrom(fixtureZones).Draw(t, "zone"))
		c, err := ParseCron(spec.String(), location)
		if err != nil {
			t.Skip(err)
		}
		g.Frequency = c
	} else {
		g.Frequency = Interval{time.Duration(rapid.Int64Range(1e6, 1e12).Draw(t, "every")) * time.Microsecond}
	}
	var ranges []DateRange
	today := near.Unix() / secondsPerDay
	for range rapid.IntRange(0, 4).Draw(t, "ranges") {
		first := today + rapid.Int64Range(-2, 20).Draw(t, "first")
		ranges = append(ranges, DateRange{first, first + rapid.Int64Range(0, 4).Draw(t, "more")})
	}
	g.Except = NewDates(ranges)
	if rapid.Bool().Draw(t, "shifted") {
		g.Shift = time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "shift")) * time.Microsecond
	}
	if rapid.Bool().Draw(t, "ends") {
		g.Until = near.Add(time.Duration(rapid.Int64Range(0, 30*24*3600).Draw(t, "until")) * time.Second)
	}
	return g
}

// slowPoints walks the frequency point by point and asks the clock for each date.
func slowPoints(g *Grid, after, upTo time.Time) (all []time.Time) {
	excluded := func(p time.Time) bool {
		date, _ := time.Parse(time.DateOnly, p.In(zoneOf(g.Frequency)).Format(time.DateOnly))
		return slices.ContainsFunc(g.Except.ranges, func(r DateRange) bool {
			return r.first*secondsPerDay <= date.Unix() && date.Unix() <= r.last*secondsPerDay
		})
	}
	for p := g.Frequency.Next(g.Begin, g.Begin.Add(-1)); ; p = g.Frequency.Next(g.Begin, p) {
		due := p.Add(g.Shift)
		if due.After(upTo) || !g.Until.IsZero() && due.After(g.Until) {
			return all
		}
		if due.After(after) && !excluded(p) {
			all = append(all, due)
		}
	}
}

func TestGridAgainstWalk(t *testing.T) {
	turns := map[string][]time.Time{}
	var names []string
	for _, name := range append(fixtureZones, "America/St_Johns") {
		if turns[name] = transitions(zone(t, name)); len(turns[name]) > 0 {
			names = append(names, name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.SampledFrom(turns[rapid.SampledFrom(names).Draw(t, "near")]).Draw(t, "turn")
		g := drawGrid(t, near.Add(-time.Duration(rapid.IntRange(0, 5*24*3600).Draw(t, "ahead"))*time.Second))
		after := drawLater(t, "after", g.Begin.Add(-24*time.Hour))
		upTo := after.Add(time.Duration(rapid.Int64Range(0, 6*24*3600*1e6).Draw(t, "length")) * time.Microsecond)

		want := slowPoints(g, after, upTo)
		var got []time.Time
		for p := g.Next(time.Time{}, after); !p.IsZero() && !p.After(upTo); p = g.Next(time.Time{}, p) {
			got = append(got, p)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%+v (%v) from %v to %v:\n got %v\nwant %v", g, g.Frequency, after, upTo, got, want)
		}
		points := g.Points(after, upTo)
		if points.Count != int64(len(want)) || len(want) > 0 && (!points.From.Equal(want[0]) || !points.To.Equal(want[len(want)-1])) {
			t.Fatalf("%+v (%v) from %v to %v: %v, want %d", g, g.Frequency, after, upTo, points, len(want))
		}
		if n := g.Count(after, upTo); n != int64(len(want)) {
			t.Fatalf("%+v (%v) from %v to %v: count %d, want %d", g, g.Frequency, after, upTo, n, len(want))
		}
	})
}

// A count over a long time is the sum of the counts of its parts.
func TestGridCount_Adds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := drawTime(t)
		g := drawGrid(t, begin)
		length := time.Duration(rapid.Int64Range(0, 50*366*24*3600).Draw(t, "length")) * time.Second
		middle := begin.Add(time.Duration(rapid.Float64Range(0, 1).Draw(t, "middle") * float64(length)))
		upTo := begin.Add(length)
		if whole, parts := g.Count(begin, upTo), g.Count(begin, middle)+g.Count(middle, upTo); whole != parts {
			t.Fatalf("%+v: %d from %v to %v, but %d with a stop at %v", g, whole, begin, upTo, parts, middle)
		}
	})
}

func TestShiftOf(t *testing.T) {
	var id [16]byte
	if got := ShiftOf(id, 0); got != 0 {
		t.Errorf("without jitter: %v", got)
	}
	// The SHA-256 of 16 zero bytes begins with 374708fff7719dd5, which is 0.2159
	// of 2^64. A change of this value moves the due times of existing schedules.
	if got, want := ShiftOf(id, 10*time.Minute), 129556596*time.Microsecond; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	tenths := make([]int, 10)
	for n := range 10000 {
		id[3], id[9] = byte(n), byte(n>>8)
		shift := ShiftOf(id, time.Second)
		if shift < 0 || shift > time.Second || shift%time.Microsecond != 0 {
			t.Fatalf("%v", shift)
		}
		tenths[min(9, int(shift/(time.Second/10)))]++
	}
	for i, n := range tenths {
		if n < 850 || n > 1150 {
			t.Errorf("%d of 10000 shifts are in tenth %d", n, i)
		}
	}
}

func TestDistance(t *testing.T) {
	now := at(t, "2026-03-01T12:00Z")
	for _, c := range []struct {
		f    Frequency
		want time.Duration
	}{
		{Interval{90 * time.Second}, 90 * time.Second},
		{cron(t, "*/5 * * * *", "UTC"), 5 * time.Minute},
		{cron(t, "0,3 9 * * *", "UTC"), 3 * time.Minute},
		{cron(t, "0 0 1 * *", "UTC"), 28 * 24 * time.Hour},
		{cron(t, "0 9 * * *", "America/New_York"), 23 * time.Hour},
		{cron(t, "30 2,3 * * *", "America/New_York"), 30 * time.Minute},
		{cron(t, "0 0 29 2 *", "UTC"), (4*365 + 1) * 24 * time.Hour},
	} {
		if got := Distance(c.f, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.f, got, c.want)
		}
	}
}

func BenchmarkGrid(b *testing.B) {
	var ranges []DateRange
	for i := range int64(366) {
		ranges = append(ranges, DateRange{20514 + 2*i, 20514 + 2*i}) // every other day from 2026-03-02
	}
	g := &Grid{Frequency: cron(b, "*/15 * * * *", "America/New_York"), Begin: at(b, "2016-03-01"), Except: NewDates(ranges)}
	from, to := at(b, "2016-03-01"), at(b, "2036-03-01")
	b.Run("CountOf20Years", func(b *testing.B) {
		for b.Loop() {
			g.Count(from, to)
		}
	})
	b.Run("PointsOf20Years", func(b *testing.B) {
		for b.Loop() {
			g.Points(from, to)
		}
	})
	rare := &Grid{Frequency: cron(b, "0 0 29 2 */7", "America/New_York"), Begin: from, Except: NewDates(ranges)}
	b.Run("NextRare", func(b *testing.B) {
		for b.Loop() {
			rare.Next(time.Time{}, to)
		}
	})
}

func TestGridLatest(t *testing.T) {
	g := &Grid{Frequency: cron(t, "*/10 * * * *", "UTC"), Begin: at(t, "2026-03-01"), Except: dates(t, "2026-03-02"), Shift: time.Second}
	for _, c := range []struct {
		n           int64
		after, upTo string
		want        int64
		from, to    string
	}{
		{3, "2026-03-01T12:00Z", "2026-03-01T13:00Z", 3, "2026-03-01T12:30:01Z", "2026-03-01T12:50:01Z"},
		{1, "2026-03-01T12:00Z", "2026-03-01T13:00Z", 1, "2026-03-01T12:50:01Z", "2026-03-01T12:50:01Z"},
		{9, "2026-03-01T12:00Z", "2026-03-01T13:00Z", 6, "2026-03-01T12:00:01Z", "2026-03-01T12:50:01Z"},
		{3, "2026-03-01T12:00Z", "2026-03-03T00:10:01Z", 3, "2026-03-01T23:50:01Z", "2026-03-03T00:10:01Z"},
		{3, "2026-03-01T12:00:01Z", "2026-03-01T12:10Z", 0, "", ""},
	} {
		want := Points{Count: c.want}
		if c.want > 0 {
			want.From, want.To = at(t, c.from), at(t, c.to)
		}
		if got := g.Latest(c.n, at(t, c.after), at(t, c.upTo)); got != want {
			t.Errorf("the latest %d after %s: %v, want %v", c.n, c.after, got, want)
		}
	}
}
