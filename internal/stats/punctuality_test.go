package stats

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// counted counts the reads of a table.
type counted struct {
	*table
	reads int
}

func (c *counted) StatsRead(ctx context.Context, account, from, to int64) ([]store.Stat, error) {
	c.reads++
	return c.table.StatsRead(ctx, account, from, to)
}

func punctuality(t *testing.T, c *Collector) *Punctuality {
	t.Helper()
	p, err := c.Punctuality(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// summary returns the numbers of attempts of a Punctuality, and the worst lateness.
func summary(p *Punctuality) string {
	return fmt.Sprintf("%d %d %d, worst %g %g %g", p.Hour.Attempts, p.Day.Attempts, p.Week.Attempts, p.Hour.Worst, p.Day.Worst,
		p.Week.Worst)
}

func TestPunctuality_CoversAllAccountsAndProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		here, there := collector(s), collector(s)
		want(t, "before the first attempt", summary(punctuality(t, here)), "0 0 0, worst NaN NaN NaN")
		for account := range int64(3) {
			here.Observe(account+1, true, time.Millisecond, time.Second)
		}
		there.Observe(9, false, 3*time.Hour, time.Second)
		if err := there.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(punctualityFor)
		for range 2 { // before and after this process has written
			p := punctuality(t, here)
			want(t, "the attempts", summary(p), "4 4 4, worst 1.08e+07 1.08e+07 1.08e+07")
			if h := p.Hour; h.P50 < .9 || h.P50 > 1.1 || h.P99 < 1e6 || h.P999 < 1e6 {
				t.Errorf("the percentiles are %v, %v and %v", h.P50, h.P99, h.P999)
			}
			if err := here.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(punctualityFor)
		}
		want(t, "as another process reads it", summary(punctuality(t, collector(s))), "4 4 4, worst 1.08e+07 1.08e+07 1.08e+07")
		want(t, "of an account", show(t, here, 1, 5), "-0: 1/0; all 1/0")
	})
}

// TestPunctuality_ForgetsWhatIsTooOld verifies the windows: an attempt is counted
// every hour for eight days, and each has its own lateness.
func TestPunctuality_ForgetsWhatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		c := collector(s)
		time.Sleep(30 * time.Minute) // synctest begins at midnight
		for hour := range 8 * 24 {
			c.Observe(1, true, time.Duration(hour)*time.Second, 0)
			if err := c.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
			if hour%7 == 0 {
				punctuality(t, c)
			}
			time.Sleep(time.Hour)
		}
		want(t, "an hour after the last", summary(punctuality(t, c)), "0 23 167, worst NaN 191000 191000")
		if n := len(c.punctuality.hours); n > weekHours {
			t.Errorf("%d hours are kept", n)
		}
		want(t, "as a new process reads it", summary(punctuality(t, collector(s))), "0 23 167, worst NaN 191000 191000")
		p := punctuality(t, c)
		now := time.Now().UTC()
		for what, got := range map[string][2]time.Time{
			"hour": {p.Hour.Since, now.Truncate(time.Minute).Add(-59 * time.Minute)},
			"day":  {p.Day.Since, now.Truncate(time.Hour).Add(-23 * time.Hour)},
			"week": {p.Week.Since, now.Truncate(time.Hour).Add(-167 * time.Hour)},
		} {
			if !got[0].Equal(got[1]) {
				t.Errorf("the %s begins at %s, want %s", what, got[0], got[1])
			}
		}
	})
}

func TestPunctuality_ReadsTheStoreOnceInTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{table: newTable()}
		c := collector(s)
		punctuality(t, c)
		if first := s.reads; first > weekHours+2 {
			t.Errorf("%d reads at first", first)
		}
		s.reads = 0
		for range 1000 {
			punctuality(t, c)
		}
		if s.reads != 0 {
			t.Errorf("%d reads within ten seconds", s.reads)
		}
		time.Sleep(punctualityFor)
		done := make(chan struct{})
		for range 100 {
			go func() { punctuality(t, c); done <- struct{}{} }()
		}
		for range 100 {
			<-done
		}
		if s.reads != 1 {
			t.Errorf("%d reads of 100 calls at once, want 1", s.reads)
		}
	})
}

func TestPunctuality_ReportsFailuresAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		c := collector(s)
		s.fail = errors.New("away")
		if _, err := c.Punctuality(t.Context()); !errors.Is(err, s.fail) {
			t.Errorf("the error is %v", err)
		}
		s.fail = nil
		want(t, "afterwards", summary(punctuality(t, c)), "0 0 0, worst NaN NaN NaN")
		// A caller that leaves while another computes gets its own error.
		time.Sleep(punctualityFor)
		c.punctuality.turn <- struct{}{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Punctuality(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left got %v", err)
		}
	})
}

// TestPunctuality_PercentilesStayBelowTheWorst: a bucket's middle may be above what it
// holds, and counts of a week need more than 32 bits.
func TestPunctuality_PercentilesStayBelowTheWorst(t *testing.T) {
	t.Parallel()
	var s sum
	s.lateness[bucket(200*time.Microsecond)] = 9_000_000_000
	s.worst = 200 * time.Microsecond
	l := s.since(0)
	if l.Attempts != 9_000_000_000 || l.P50 != .2 || l.P99 != .2 || l.P999 != .2 || l.Worst != .2 {
		t.Errorf("%+v", l)
	}
}
