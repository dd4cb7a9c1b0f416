package stats

import (
	"slices"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// MonthsKept is how many months are kept: the current one and those before it.
	MonthsKept = 13
	// LateAfter is the lateness above which a run counts as late: what alerts take for
	// late_by if it is not given.
	LateAfter = time.Minute
	// MaxOutages is how many outages of a schedule are kept for a month: the longest.
	MaxOutages = 20
)

// The reasons of outages.
const (
	// OutageService: runs were due and did not start; the service was down or overloaded.
	OutageService = "service"
	// OutageTarget: runs failed, one after the other.
	OutageTarget = "target"
)

// Outage is a time without successful runs.
type Outage struct {
	Reason   string
	From, To time.Time
	Runs     int64 // that were late or failed, or points without a run
}

// MissedReasons are the reasons why points of a grid have no run, as the logs of the event
// job.EventSkipped have them. The order is stored. The last one is no miss: the run before
// asked for a later time.
var MissedReasons = [...]string{"down", "overlap", "limit", "expired", "next"}

// Month counts the runs of a schedule that were due in a month.
type Month struct {
	Completed, Failed, Cancelled int64
	// Unmade is how many of these were never attempted, Late how many began more than
	// LateAfter after their due time.
	Unmade, Late int64
	Missed       [len(MissedReasons)]int64 // points without a run, by MissedReasons
	Outages      []Outage                  // in order of their first runs
	Omitted      int64                     // shorter outages
	lateness     sum
	open         bool // the last outage of the target may go on
}

// Due returns how many runs were due.
func (m *Month) Due() int64 {
	due := m.Completed + m.Failed + m.Cancelled
	for _, n := range m.Missed[:len(m.Missed)-1] {
		due += n
	}
	return due
}

// Made returns how many runs were attempted.
func (m *Month) Made() int64 { return m.Completed + m.Failed + m.Cancelled - m.Unmade }

// Lateness returns how late the runs that were made began; Since is zero.
func (m *Month) Lateness() Lateness {
	l := m.lateness.since(0)
	l.Since = time.Time{}
	return l
}

// MonthOf returns the month that a time is in, in UTC: months since the year 0.
func MonthOf(t time.Time) int64 {
	t = t.UTC()
	return int64(t.Year())*12 + int64(t.Month()) - 1
}

// FirstOf returns when a month begins.
func FirstOf(month int64) time.Time {
	return time.Date(int(month/12), time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// CountRuns counts the runs of a schedule that are not counted, and returns the months that
// change. It counts none of months that are not kept at a time, but notes that it has seen
// them.
func CountRuns(of *store.RunMonths, now time.Time) []*store.ScheduleMonth {
	if len(of.Runs) == 0 {
		return nil
	}
	c := counting{of: of, oldest: MonthOf(now) - MonthsKept + 1, current: MonthOf(now), months: map[int64]*Month{}}
	for i := range of.Runs {
		c.count(&of.Runs[i])
	}
	through := of.Runs[len(of.Runs)-1].Number
	if len(c.months) == 0 {
		c.month(c.current)
	}
	var changed []*store.ScheduleMonth
	for number, m := range c.months {
		changed = append(changed, &store.ScheduleMonth{ScheduleKey: of.ScheduleKey, Month: number, Through: through, Counts: m.Encode()})
	}
	slices.SortFunc(changed, func(a, b *store.ScheduleMonth) int { return int(a.Month - b.Month) })
	return changed
}

// counting counts runs of a schedule.
type counting struct {
	of              *store.RunMonths
	oldest, current int64
	months          map[int64]*Month // that change
}

// month returns the counts of a month; nil if it is not kept.
func (c *counting) month(number int64) *Month {
	if number < c.oldest || number > c.current {
		return nil
	}
	if m := c.months[number]; m != nil {
		return m
	}
	m := &Month{}
	for _, stored := range c.of.Months {
		if stored.Month == number {
			m = DecodeMonth(stored.Counts)
		}
	}
	c.months[number] = m
	return m
}

func (c *counting) count(run *store.EndedRun) {
	for _, payload := range run.Skips {
		if missed, ok := readMissed(payload); ok {
			if m := c.month(MonthOf(missed.from)); m != nil {
				m.miss(missed)
			}
		}
	}
	start := startOf(run)
	due := latest(run.ScheduledAt, c.of.Created)
	switch {
	case !start.IsZero() && start.Before(due): // it was made before its time, because someone asked for that
		due = start
	case start.IsZero() && run.EndedAt.Before(due):
		return // cancelled before it was due
	}
	if m := c.month(MonthOf(due)); m != nil {
		m.add(run, due, start)
	}
}

// startOf returns when the first attempt of a run began; zero if there was none.
func startOf(run *store.EndedRun) time.Time {
	if run.Requests > 1 && run.FirstAt.Before(run.AttemptedAt) {
		return run.FirstAt
	}
	return run.AttemptedAt
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// waited returns how long limits held a run back: its due time in the queue is when they
// let it go. It is not known of a run that was retried, whose due time is that of the retry.
func waited(run *store.EndedRun, ready, start time.Time) time.Duration {
	if run.Requests > 1 || run.DueAt.After(start) {
		return 0
	}
	return max(0, run.DueAt.Sub(ready))
}

func (m *Month) add(run *store.EndedRun, due, start time.Time) {
	switch run.State {
	case job.Completed:
		m.Completed++
	case job.Discarded:
		m.Failed++
	default:
		m.Cancelled++
	}
	ready := latest(due, run.InsertedAt)
	if start.IsZero() {
		m.Unmade++
		if _, held := store.OwnDue(run.DueAt); run.State == job.Discarded && !held { // expired
			m.fails(Outage{OutageService, ready, run.EndedAt, 1})
		}
		return
	}
	if start.Before(ready) {
		ready = start
	}
	wait := waited(run, ready, start)
	late := max(0, start.Sub(due)-wait)
	m.lateness.lateness[bucket(late)]++
	m.lateness.worst = max(m.lateness.worst, late)
	if late > LateAfter {
		m.Late++
	}
	if ready = ready.Add(wait); start.Sub(ready) > LateAfter {
		m.fails(Outage{OutageService, ready, start, 1})
	}
	switch run.State {
	case job.Completed:
		m.recovers(start)
	case job.Discarded:
		m.fails(Outage{OutageTarget, start, run.EndedAt, 1})
	}
}

// fails adds an outage to those of its reason that it continues: one of the service that it
// touches, or one of the target that has not ended.
func (m *Month) fails(o Outage) {
	for i := len(m.Outages) - 1; i >= 0; i-- {
		before := &m.Outages[i]
		if before.Reason != o.Reason {
			continue
		}
		if goesOn := o.Reason == OutageTarget && m.open || o.Reason == OutageService && !o.From.After(before.To); goesOn {
			if o.From.Before(before.From) {
				before.From = o.From
			}
			before.To = latest(before.To, o.To)
			before.Runs += o.Runs
			return
		}
		break
	}
	m.Outages = append(m.Outages, o)
	m.open = m.open || o.Reason == OutageTarget
	if len(m.Outages) <= MaxOutages {
		return
	}
	shortest := 0
	for i := range MaxOutages { // not the new one, which may go on
		if m.Outages[i].length() < m.Outages[shortest].length() && !(m.open && i == m.last(OutageTarget)) {
			shortest = i
		}
	}
	m.Outages = slices.Delete(m.Outages, shortest, shortest+1)
	m.Omitted++
}

func (o *Outage) length() time.Duration { return o.To.Sub(o.From) }

// last returns the place of the last outage with a reason; -1 if there is none.
func (m *Month) last(reason string) int {
	for i := len(m.Outages) - 1; i >= 0; i-- {
		if m.Outages[i].Reason == reason {
			return i
		}
	}
	return -1
}

// recovers ends an outage of the target with a run that succeeded and began at a time.
func (m *Month) recovers(start time.Time) {
	if i := m.last(OutageTarget); m.open && i >= 0 {
		m.Outages[i].To = latest(m.Outages[i].To, start)
	}
	m.open = false
}

// missed is points of the grid without a run.
type missed struct {
	reason   int
	count    int64
	from, to time.Time
}

// readMissed reads the payload of a log of skipped points.
func readMissed(payload rawjson.Value) (p missed, ok bool) {
	p.reason = slices.Index(MissedReasons[:], rawjson.Text(rawjson.Get(payload, "reason")))
	count, err := strconv.ParseInt(string(rawjson.Get(payload, "count")), 10, 64)
	from, err2 := time.Parse(time.RFC3339, rawjson.Text(rawjson.Get(payload, "from")))
	to, err3 := time.Parse(time.RFC3339, rawjson.Text(rawjson.Get(payload, "to")))
	p.count, p.from, p.to = count, from, to
	return p, p.reason >= 0 && count > 0 && err == nil && err2 == nil && err3 == nil
}

func (m *Month) miss(p missed) {
	m.Missed[p.reason] += p.count
	if MissedReasons[p.reason] == "down" {
		m.fails(Outage{OutageService, p.from, p.to, p.count})
	}
}
