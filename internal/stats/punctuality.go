package stats

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// punctualityFor is how long a Punctuality is returned again before it is
	// computed anew.
	punctualityFor = 10 * time.Second
	// settle is how many minutes after the end of an hour its counts can't change
	// any more: longer than a process holds counts that it can't write.
	settle = held + 5

	perHour  = 60
	dayHours = 24
	// weekHours is as far as the stored counts reach back.
	weekHours = 7 * dayHours
)

// Punctuality is how late the attempts of all accounts' jobs began, on all nodes.
type Punctuality struct {
	At              time.Time // when it was computed
	Hour, Day, Week Lateness
}

// Lateness is the lateness of attempts that ended since a time: how long after their
// due times they began.
type Lateness struct {
	Since    time.Time // the beginning of a minute
	Attempts uint64
	// In milliseconds; NaN if there were no attempts. The percentiles are accurate to
	// about a tenth, the worst is exact.
	P50, P99, P999, Worst float64
}

// cache has the last Punctuality, and the sums that the next one is computed from.
type cache struct {
	latest atomic.Pointer[Punctuality]
	turn   chan struct{}  // who has its one element computes and uses hours
	hours  map[int64]*sum // past hours whose counts can't change, by hours since 1970
}

func newCache() cache { return cache{turn: make(chan struct{}, 1), hours: map[int64]*sum{}} }

// sum is the lateness of many minutes. A cell's counts would overflow.
type sum struct {
	lateness [buckets]uint64
	worst    time.Duration
}

func (s *sum) add(other *sum) {
	for i, n := range other.lateness {
		s.lateness[i] += n
	}
	s.worst = max(s.worst, other.worst)
}

func (s *sum) addStored(stored *store.Stat) {
	addEncoded(&s.lateness, stored.Lateness)
	s.worst = max(s.worst, stored.Worst)
}

func (s *sum) addCell(c *cell) {
	for i, n := range c.lateness {
		s.lateness[i] += uint64(n)
	}
	s.worst = max(s.worst, c.worst)
}

// since returns what s has counted since a minute.
func (s *sum) since(minute int64) Lateness {
	l := Lateness{Since: time.Unix(minute*60, 0).UTC(), Worst: math.NaN()}
	for _, n := range s.lateness {
		l.Attempts += n
	}
	if l.Attempts > 0 {
		l.Worst = float64(s.worst) / float64(time.Millisecond)
	}
	of := func(share float64) float64 {
		// The middle of a bucket may be above all that the bucket holds.
		return math.Min(percentile(s.lateness[:], l.Attempts, share), l.Worst)
	}
	l.P50, l.P99, l.P999 = of(.5), of(.99), of(.999)
	return l
}

// Punctuality returns the lateness of the last hour, to the minute, and of the last
// day and week, which begin on a whole hour and are up to an hour shorter. However
// often it is called, it reads the store only once in ten seconds.
func (c *Collector) Punctuality(ctx context.Context) (*Punctuality, error) {
	if p := c.recent(); p != nil {
		return p, nil
	}
	select {
	case c.punctuality.turn <- struct{}{}:
		defer func() { <-c.punctuality.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p := c.recent(); p != nil {
		return p, nil
	}
	p, err := c.compute(ctx)
	if err == nil {
		c.punctuality.latest.Store(p)
	}
	return p, err
}

// recent returns the last Punctuality unless it is too old.
func (c *Collector) recent() *Punctuality {
	p := c.punctuality.latest.Load()
	if p == nil {
		return nil
	}
	if age := c.Now().Sub(p.At); age < 0 || age >= punctualityFor {
		return nil
	}
	return p
}

// compute reads the minutes of the last two hours or so, and of each earlier hour
// that it has not read before.
func (c *Collector) compute(ctx context.Context) (*Punctuality, error) {
	now := c.Now()
	to := minuteOf(now)
	begin := to - perHour + 1
	open := floorHour(to - settle) // the first hour that may still change
	var hour, rest sum
	err := c.eachMinute(ctx, min(begin, open*perHour), to, func(minute int64, one *sum) {
		if minute >= begin {
			hour.add(one)
		}
		if minute >= open*perHour {
			rest.add(one)
		}
	})
	if err != nil {
		return nil, err
	}
	dayFrom, weekFrom := firstHour(to, dayHours), firstHour(to, weekHours)
	for h := range c.punctuality.hours {
		if h < weekFrom || h >= open {
			delete(c.punctuality.hours, h)
		}
	}
	day, week := rest, rest
	for h := weekFrom; h < open; h++ {
		one, err := c.settled(ctx, h)
		if err != nil {
			return nil, err
		}
		week.add(one)
		if h >= dayFrom {
			day.add(one)
		}
	}
	return &Punctuality{At: now, Hour: hour.since(begin), Day: day.since(dayFrom * perHour), Week: week.since(weekFrom * perHour)}, nil
}

// settled returns the sum of an hour that can't change any more.
func (c *Collector) settled(ctx context.Context, hour int64) (*sum, error) {
	if one := c.punctuality.hours[hour]; one != nil {
		return one, nil
	}
	all := new(sum)
	err := c.eachMinute(ctx, hour*perHour, hour*perHour+perHour-1, func(_ int64, one *sum) { all.add(one) })
	if err != nil {
		return nil, err
	}
	c.punctuality.hours[hour] = all
	return all, nil
}

// eachMinute calls add with what all accounts' attempts add to a minute, once or
// several times for each minute.
func (c *Collector) eachMinute(ctx context.Context, from, to int64, add func(minute int64, one *sum)) error {
	stored, here, err := c.read(ctx, store.EveryAccount, from, to)
	if err != nil {
		return err
	}
	for i := range stored {
		var one sum
		one.addStored(&stored[i])
		add(stored[i].Minute, &one)
	}
	for minute, counts := range here {
		var one sum
		one.addCell(counts)
		add(minute, &one)
	}
	return nil
}

// floorHour returns the hour that a minute is in.
func floorHour(minute int64) int64 { return minute / perHour }

// firstHour returns the first whole hour of the last hours that end with a minute.
func firstHour(to int64, hours int64) int64 { return floorHour(to-hours*perHour) + 1 }
