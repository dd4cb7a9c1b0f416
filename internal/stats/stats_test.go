package stats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// table is a store of statistics in memory.
type table struct {
	rows map[[3]int64]store.Stat
	fail error
	n    int // of writes
}

func (t *table) StatsWrite(_ context.Context, stats []store.Stat) error {
	if t.n++; t.fail != nil {
		return t.fail
	}
	for _, s := range stats {
		t.rows[[3]int64{s.Account, s.Minute, s.Source}] = s
	}
	return nil
}

func (t *table) StatsRead(_ context.Context, account, from, to int64) (found []store.Stat, err error) {
	for _, s := range t.rows {
		if s.Account == account && s.Minute >= from && s.Minute <= to {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b store.Stat) int { return int(a.Minute - b.Minute) })
	return found, t.fail
}

func (t *table) StatsPrune(context.Context, int64, int) (int, error) { return 0, nil }

func newTable() *table { return &table{rows: map[[3]int64]store.Stat{}} }

func collector(s store.Stats) *Collector {
	return New(Config{Store: s, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

// show returns the non-empty points of a series, one line each.
func show(t *testing.T, c *Collector, account int64, minutes int) string {
	t.Helper()
	series, err := c.Series(t.Context(), account, minutes)
	if err != nil {
		t.Fatal(err)
	}
	if len(series.Points) != minutes || series.Points[minutes-1].Minute.Unix()/60 != time.Now().Unix()/60 {
		t.Errorf("%d points, the last of %s", len(series.Points), series.Points[len(series.Points)-1].Minute)
	}
	text := ""
	for i, p := range append(series.Points, series.Total) {
		if i == len(series.Points) {
			text += fmt.Sprintf("all %d/%d", p.Runs(), p.Failed)
		} else if p.Runs() > 0 {
			text += fmt.Sprintf("-%d: %d/%d; ", len(series.Points)-1-i, p.Runs(), p.Failed)
		}
	}
	return text
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestSeries_CountsByAccountAndMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		c := collector(s)
		c.Observe(1, true, time.Millisecond, time.Second)
		c.Observe(1, false, time.Millisecond, time.Second)
		c.Observe(2, true, time.Millisecond, time.Second)
		time.Sleep(time.Minute)
		c.Observe(1, true, time.Millisecond, time.Second)
		want(t, "before it is written", show(t, c, 1, 5), "-1: 2/1; -0: 1/0; all 3/1")
		for range 2 {
			if err := c.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(t, "after it was written", show(t, c, 1, 5), "-1: 2/1; -0: 1/0; all 3/1")
		}
		c.Observe(1, false, time.Millisecond, time.Second)
		want(t, "some written, some not", show(t, c, 1, 5), "-1: 2/1; -0: 2/1; all 4/2")
		want(t, "to another process", show(t, collector(s), 1, 5), "-1: 2/1; -0: 1/0; all 3/1")
		want(t, "another account", show(t, c, 2, 5), "-1: 1/0; all 1/0")
		want(t, "only the current minute", show(t, c, 1, 1), "-0: 2/1; all 2/1")
		other := collector(s)
		other.Observe(1, true, 0, 0)
		want(t, "with what another has not written", show(t, other, 1, 5), "-1: 2/1; -0: 2/0; all 4/1")
		time.Sleep(2 * time.Minute)
		for range 2 {
			if err := c.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range c.shards {
			if n := len(c.shards[i].cells); n > 0 {
				t.Errorf("%d minutes are held after they were written", n)
			}
		}
		want(t, "when nothing is held", show(t, c, 1, 5), "-3: 2/1; -2: 2/1; all 4/2")
	})
}

func TestRun_WritesEveryTenSecondsAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		c := collector(s)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		c.Observe(1, true, 0, 0)
		time.Sleep(writeEvery + time.Millisecond)
		synctest.Wait()
		want(t, "after ten seconds", show(t, collector(s), 1, 1), "-0: 1/0; all 1/0")
		c.Observe(1, true, 0, 0)
		stop()
		<-done
		want(t, "after the end", show(t, collector(s), 1, 1), "-0: 2/0; all 2/0")
	})
}

func TestWrite_RetriesFailedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		c := collector(s)
		s.fail = errors.New("away")
		for i := range 500 {
			c.Observe(int64(i), true, 0, 0)
		}
		if err := c.Write(t.Context()); err == nil {
			t.Error("the failure is not told")
		}
		s.fail = nil
		if err := c.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.rows) != 500 {
			t.Errorf("%d of 500 accounts were written", len(s.rows))
		}
		// An outage does not fill the memory.
		s.fail = errors.New("away")
		for range 60 {
			c.Observe(1, true, 0, 0)
			time.Sleep(time.Minute)
			_ = c.Write(t.Context())
		}
		if n := len(c.shards[1].cells); n > held+2 {
			t.Errorf("%d minutes are held", n)
		}
	})
}

func TestPercentile_IsAccurateToATenth(t *testing.T) {
	t.Parallel()
	var h histogram
	if p := h.percentile(.5); !math.IsNaN(p) {
		t.Errorf("of nothing: %v", p)
	}
	for i := range 1000 {
		h[bucket(time.Duration(i+1)*time.Millisecond)]++
	}
	for share, want := range map[float64]float64{.5: 500, .99: 990, 1: 1000, .001: 1} {
		if got := h.percentile(share); math.Abs(got-want)/want > .1 {
			t.Errorf("percentile %v is %v, want about %v", share, got, want)
		}
	}
}

func TestBucket_OfEveryTime(t *testing.T) {
	t.Parallel()
	for i, end := range bounds {
		if got := bucket(end - 1); got != i {
			t.Errorf("just below %v: bucket %d, want %d", end, got, i)
		}
		if got := bucket(end); got != i+1 {
			t.Errorf("at %v: bucket %d, want %d", end, got, i+1)
		}
	}
	for d, want := range map[time.Duration]int{-time.Hour: 0, 0: 0, time.Nanosecond: 0, 1000 * time.Hour: buckets - 1,
		math.MaxInt64: buckets - 1} {
		if got := bucket(d); got != want {
			t.Errorf("%v: bucket %d, want %d", d, got, want)
		}
	}
	if last := bounds[len(bounds)-1]; last < 15*time.Minute {
		t.Errorf("the last bucket begins at %v, less than an attempt may take", last)
	}
}

func FuzzHistogramsAreReadAsWritten(f *testing.F) {
	f.Add([]byte{1, 5, 97, 200, 1}, uint16(3), uint32(9))
	f.Fuzz(func(t *testing.T, b []byte, i uint16, n uint32) {
		var any histogram
		any.addEncoded(b) // whatever it is
		var h, again histogram
		h[int(i)%buckets] = n
		h[3] += 1
		again.addEncoded(h.encode())
		if again != h {
			t.Errorf("%v was read as %v", h, again)
		}
	})
}

// BenchmarkObserve measures the cost of each attempt.
func BenchmarkObserve(b *testing.B) {
	c := collector(newTable())
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Observe(7, true, 3*time.Millisecond, 40*time.Millisecond)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.Observe(7, true, 3*time.Millisecond, 40*time.Millisecond)
			}
		})
	})
}

func TestRange_AddsUpMinutesAtMultiplesOfTheStep(t *testing.T) {
	s := newTable()
	now := time.Date(2026, 3, 8, 12, 34, 30, 0, time.UTC)
	c := collector(s)
	c.Now = func() time.Time { return now }
	count := func(at time.Time, succeeded bool) {
		now = at
		c.Observe(1, succeeded, time.Millisecond, time.Second)
		if err := c.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	end := now
	count(end.Add(-7*24*time.Hour-4*time.Hour), false)
	count(end.Add(-6*24*time.Hour), true)
	count(end.Add(-6*24*time.Hour+time.Minute), false)
	count(end.Add(-34*time.Minute), true)
	count(end, true)
	describe := func(from, to time.Time, per int) string {
		series, err := c.Range(t.Context(), 1, from, to, per)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%d from %s:", len(series.Points), series.Points[0].Minute.Format("02 15:04"))
		for _, p := range series.Points {
			if p.Runs() > 0 {
				text += fmt.Sprintf(" %s %d/%d", p.Minute.Format("02 15:04"), p.Runs(), p.Failed)
			}
		}
		return text
	}
	c.Observe(1, false, 0, 0) // not written yet
	want(t, "seven days", describe(end.Add(-7*24*time.Hour), end, 180), "57 from 01 12:00: 02 12:00 2/1 08 12:00 3/1")
	want(t, "an hour", describe(end.Add(-time.Hour), end, 5), "13 from 08 11:30: 08 12:00 1/0 08 12:30 2/1")
	want(t, "a range that ends before it begins", describe(end, end.Add(-time.Hour), 1), "1 from 08 11:34:")
	want(t, "more than is kept", describe(end.Add(-365*24*time.Hour), end, 180), "57 from 01 12:00: 02 12:00 2/1 08 12:00 3/1")
	if series, err := c.Range(t.Context(), 1, end.Add(-7*24*time.Hour), end, 1); err != nil || len(series.Points) != MaxSteps {
		t.Errorf("%d points, %v", len(series.Points), err)
	}
}
