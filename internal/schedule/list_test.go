package schedule

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A list of due times is what Next returns one after the other, however it is divided.
func TestGridAppendDue_IsNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := drawTime(t)
		g := drawGrid(t, near)
		if rapid.Bool().Draw(t, "private") {
			g = g.Private()
		}
		after := near.Add(time.Duration(rapid.Int64Range(-40*86400, 40*86400).Draw(t, "after")) * time.Second)
		before := after.Add(time.Duration(rapid.Int64Range(-10, 400*86400).Draw(t, "length")) * time.Second)
		buffer := make([]int64, 0, rapid.IntRange(1, 600).Draw(t, "capacity"))
		want := after
		for range 5 {
			got := g.AppendDue(buffer, want, before)
			for i, due := range got {
				if want = g.Next(time.Time{}, want); want.UnixMicro() != due {
					t.Fatalf("%+v (%v) from %v: due time %d is %v, want %v", g, g.Frequency, after, i, time.UnixMicro(due).UTC(), want)
				}
			}
			if len(got) == cap(buffer) {
				continue
			}
			if next := g.Next(time.Time{}, want); !next.IsZero() && next.Before(before) {
				t.Fatalf("%+v (%v) from %v to %v: %v is left out", g, g.Frequency, after, before, next)
			}
			break
		}
	})
}

func TestGridAppendDue(t *testing.T) {
	for _, c := range []struct {
		grid          *Grid
		after, before string
		want          []string
	}{
		{&Grid{Frequency: cron(t, "30 2 * * *", "Europe/Berlin"), Begin: at(t, "2027-01-01")}, "2027-03-27", "2027-03-30",
			[]string{"2027-03-27T01:30Z", "2027-03-28T01:00Z", "2027-03-29T00:30Z"}},
		{&Grid{Frequency: cron(t, "*/30 2 * * *", "Europe/Berlin"), Begin: at(t, "2027-01-01")}, "2027-10-30T12:00Z", "2027-11-01",
			[]string{"2027-10-31T00:00Z", "2027-10-31T00:30Z", "2027-10-31T01:00Z", "2027-10-31T01:30Z"}},
		{&Grid{Frequency: Interval{8 * time.Hour}, Begin: at(t, "2027-01-01T05:00Z"), Except: dates(t, "2027-01-02"), Shift: time.Second,
			Until: at(t, "2027-01-03T13:00Z")}, "2027-01-01T05:00:01Z", "2028-01-01",
			[]string{"2027-01-01T13:00:01Z", "2027-01-01T21:00:01Z", "2027-01-03T05:00:01Z"}},
		{&Grid{Frequency: cron(t, "0 0 31 * MON", "UTC"), Begin: at(t, "2027-01-20"), Except: dates(t, "2027-02-01/2027-02-21")},
			"2027-01-01", "2027-03-02", []string{"2027-01-25T00:00Z", "2027-01-31T00:00Z", "2027-02-22T00:00Z", "2027-03-01T00:00Z"}},
	} {
		var want []int64
		for _, text := range c.want {
			want = append(want, at(t, text).UnixMicro())
		}
		if got := c.grid.AppendDue(make([]int64, 0, 10), at(t, c.after), at(t, c.before)); !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", c.grid.Frequency, got, want)
		}
	}
}

func BenchmarkGridAppendDue(b *testing.B) {
	g := (&Grid{Frequency: cron(b, "* * * * *", "Europe/Berlin"), Begin: at(b, "2027-01-01")}).Private()
	buffer := make([]int64, 0, 525_600)
	for b.Loop() {
		if n := len(g.AppendDue(buffer, g.Begin.Add(-1), at(b, "2028-01-01"))); n != cap(buffer) {
			b.Fatalf("%d", n)
		}
	}
}
