package schedule

import (
	"math/rand/v2"
	"testing"
	"time"
)

func gridOf(t *testing.T, expr, zone string) *Grid {
	t.Helper()
	location, err := LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCron(expr, location)
	if err != nil {
		t.Fatal(err)
	}
	return &Grid{Frequency: c}
}

func TestClockChanges(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		expr, zone string
		want       []string
	}{
		{"30 2 * * *", "Europe/Berlin", []string{"2027-03-28T01:00:00Z gap 1", "2027-10-31T01:00:00Z double 1"}},
		{"*/15 * * * *", "Europe/Berlin", []string{"2027-03-28T01:00:00Z gap 4", "2027-10-31T01:00:00Z double 4"}},
		{"0 12 * * *", "Europe/Berlin", nil},
		{"0 3 * * *", "Europe/Berlin", nil},
		{"0 2 * * *", "Europe/Berlin", []string{"2027-03-28T01:00:00Z gap 1", "2027-10-31T01:00:00Z double 1"}},
		{"45 1 * * *", "Australia/Lord_Howe", []string{"2027-04-03T15:00:00Z double 1"}},
		{"30 2 * * MON", "America/New_York", nil}, // the changes are on Sundays
		{"30 1 * * *", "America/New_York", []string{"2027-11-07T06:00:00Z double 1"}},
		{"30 2 * * *", "UTC", nil},
	} {
		var got []string
		for _, change := range gridOf(t, c.expr, c.zone).ClockChanges(year(2027), year(2028), 100) {
			kind := "gap"
			if change.Double {
				kind = "double"
			}
			got = append(got, change.At.Format(time.RFC3339)+" "+kind+" "+string(rune('0'+change.Points)))
		}
		if len(got) != len(c.want) {
			t.Errorf("%s in %s: got %v, want %v", c.expr, c.zone, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s in %s: got %v, want %v", c.expr, c.zone, got, c.want)
			}
		}
	}
}

// Whatever the zone, the readings that a change skips or repeats explain how many points
// the day of the change has compared with the same expression in a zone without changes.
func TestClockChanges_ExplainTheNumberOfPoints(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	zones := []string{"Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Tehran",
		"Pacific/Apia", "America/St_Johns", "Europe/London"}
	for range 300 {
		zone := zones[random.IntN(len(zones))]
		g := gridOf(t, "*/5 * * * *", zone)
		from := time.Date(2005+random.IntN(25), time.Month(1+random.IntN(12)), 1, 0, 0, 0, 0, time.UTC)
		to := from.AddDate(0, 6, 0)
		local := func(at time.Time) time.Time {
			_, offset := at.In(g.Frequency.(*Cron).zone).Zone()
			return at.Add(time.Duration(offset) * time.Second)
		}
		plain := gridOf(t, "*/5 * * * *", "UTC")
		want := plain.Count(local(justBefore(from)), local(justBefore(to)))
		for _, change := range g.ClockChanges(from, to, 100) {
			if change.Double {
				want += change.Points
			} else {
				want -= change.Points
			}
		}
		if got := g.Count(justBefore(from), justBefore(to)); got != want {
			t.Fatalf("seed %d: %s from %s: %d points, the changes explain %d", seed, zone, from.Format(time.DateOnly), got, want)
		}
	}
}

func TestLeapDayOnlyAndEitherDay(t *testing.T) {
	for expr, want := range map[string][2]bool{
		"0 0 29 2 *": {true, false}, "0 0 28,29 2 *": {false, false}, "0 0 29 * *": {false, false}, "0 0 L 2 *": {false, false},
		"0 0 13 * FRI": {false, true}, "0 0 * * FRI": {false, false}, "0 0 29 2 MON": {false, true}, "0 0 */2 * FRI": {false, false},
	} {
		g := gridOf(t, expr, "UTC")
		if got := [2]bool{g.LeapDayOnly(), g.EitherDay()}; got != want {
			t.Errorf("%s: got %v, want %v", expr, got, want)
		}
	}
}

func TestPrivate_HasTheSamePoints(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 2))
	zones := []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia",
		"Europe/Dublin"}
	exprs := []string{"* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 * * *", "15 */3 * * MON-FRI", "0 0 L * *", "1,59 1-3 1,15 * *",
		"0 0 29 2 *"}
	for range 300 {
		expr, zone := exprs[random.IntN(len(exprs))], zones[random.IntN(len(zones))]
		g := gridOf(t, expr, zone)
		g.Shift = time.Duration(random.IntN(2)) * 17 * time.Second
		private := g.Private()
		at := time.Date(2005+random.IntN(60), time.Month(1+random.IntN(12)), 1+random.IntN(28), 0, 0, random.IntN(3)-1, 0, time.UTC)
		for range 200 {
			want := g.Next(time.Time{}, at)
			if got := private.Next(time.Time{}, at); !got.Equal(want) {
				t.Fatalf("seed %d: %s in %s after %s: %s, want %s", seed, expr, zone, at, got, want)
			}
			switch random.IntN(20) {
			case 0:
				at = at.Add(-time.Duration(random.IntN(400*24)) * time.Hour)
			case 1:
				at = at.Add(time.Duration(random.IntN(90*24*60)) * time.Minute)
			default:
				at = want
			}
		}
	}
}
