package stats

import (
	"context"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// MaxMinutes is the longest series: a day.
	MaxMinutes = 24 * 60
	// MaxRange is the longest range, in minutes: as long as statistics are kept.
	MaxRange = 7 * 24 * 60
	// MaxSteps is how many points a range has at most.
	MaxSteps = 1000
	// chunk is how many minutes are read at a time.
	chunk = 24 * 60
)

// Point is the statistics of one or several minutes, or of a whole series.
type Point struct {
	Minute    time.Time // the first minute; zero for a total
	Succeeded int64
	Failed    int64
	// Percentiles in milliseconds; NaN if there were no attempts.
	LatenessP50, LatenessP99, DurationP50, DurationP99 float64
}

// Runs returns how many attempts there were.
func (p *Point) Runs() int64 { return p.Succeeded + p.Failed }

// Series is an account's statistics.
type Series struct {
	Points []Point // oldest first; the last is the current minute's
	Total  Point
}

// Series returns an account's statistics of the last minutes, at most
// MaxMinutes.
func (c *Collector) Series(ctx context.Context, account int64, minutes int) (*Series, error) {
	to := minuteOf(c.Now()) + 1
	return c.collect(ctx, account, to-int64(min(max(minutes, 1), MaxMinutes)), to, 1)
}

// Range returns an account's statistics from a minute to another, in points of per
// minutes that begin at multiples of per: the first contains from, the last ends at
// or after to. It returns at most the last MaxRange minutes and MaxSteps points.
func (c *Collector) Range(ctx context.Context, account int64, from, to time.Time, per int) (*Series, error) {
	step := int64(max(per, 1))
	begin, end := minuteOf(from)/step*step, (minuteOf(to.Add(time.Minute-1))+step-1)/step*step
	most := min(MaxRange/step+1, MaxSteps) * step
	begin = max(min(begin, end-step), end-most)
	return c.collect(ctx, account, begin, end, step)
}

// collect returns the statistics of the minutes from one up to another.
func (c *Collector) collect(ctx context.Context, account, from, to, per int64) (*Series, error) {
	if c.Enter != nil {
		leave, err := c.Enter(ctx, account)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	step := func(minute int64) int64 { return (minute - from) / per }
	cells := make([]cell, (to-from)/per)
	last := min(to-1, minuteOf(c.Now()))
	for begin := from; begin <= last; begin += chunk {
		stored, here, err := c.read(ctx, account, begin, min(begin+chunk-1, last))
		if err != nil {
			return nil, err
		}
		for i := range stored {
			cells[step(stored[i].Minute)].addStored(&stored[i])
		}
		for minute, one := range here {
			cells[step(minute)].merge(one)
		}
	}
	series := &Series{Points: make([]Point, len(cells))}
	var all cell
	for i := range cells {
		all.merge(&cells[i])
		series.Points[i] = cells[i].point()
		series.Points[i].Minute = time.Unix((from+int64(i)*per)*60, 0).UTC()
	}
	series.Total = all.point()
	return series, nil
}

// read returns the counts of an account in the minutes from to to: what is stored,
// and the minutes that this process has newer counts of, which stored lacks.
func (c *Collector) read(ctx context.Context, account, from, to int64) (stored []store.Stat, here map[int64]*cell, err error) {
	c.writing.RLock()
	defer c.writing.RUnlock()
	if stored, err = c.Store.StatsRead(ctx, account, from, to); err != nil {
		return nil, nil, err
	}
	here = c.own(account, from, to)
	return slices.DeleteFunc(stored, func(s store.Stat) bool { return s.Source == c.source && here[s.Minute] != nil }), here, nil
}

// own returns copies of the cells in memory of an account, by minute.
func (c *Collector) own(account, from, to int64) map[int64]*cell {
	found := map[int64]*cell{}
	s := &c.shards[uint64(account)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	for minute := max(from, to-held); minute <= to; minute++ {
		if one := s.cells[cellKey{account, minute}]; one != nil {
			held := *one
			found[minute] = &held
		}
	}
	return found
}

func (c *cell) merge(other *cell) {
	c.succeeded += other.succeeded
	c.failed += other.failed
	c.lateness.merge(&other.lateness)
	c.duration.merge(&other.duration)
}

func (c *cell) addStored(s *store.Stat) {
	c.succeeded += s.Succeeded
	c.failed += s.Failed
	c.lateness.addEncoded(s.Lateness)
	c.duration.addEncoded(s.Duration)
}

func (c *cell) point() Point {
	return Point{
		Succeeded: c.succeeded, Failed: c.failed,
		LatenessP50: c.lateness.percentile(.5), LatenessP99: c.lateness.percentile(.99),
		DurationP50: c.duration.percentile(.5), DurationP99: c.duration.percentile(.99),
	}
}
