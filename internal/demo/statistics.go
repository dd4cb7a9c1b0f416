package demo

import (
	"cmp"
	"slices"
	"time"
)

// evidence is all that is known at the end.
type evidence struct {
	runs      []*run // in the order they ended
	hits      []hit  // in the order they arrived
	jobs      []jobRecord
	schedules []scheduleRecord
	logs      []logRecord
}

// lateness returns the median and the worst lateness of the runs that reached the
// target.
func lateness(runs []*run) (median, worst time.Duration) {
	var all []time.Duration
	for _, r := range runs {
		if !r.fired.IsZero() {
			all = append(all, r.late())
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	middle := len(all) / 2
	median = all[middle]
	if len(all)%2 == 0 {
		median = (all[middle-1] + all[middle]) / 2
	}
	return median, all[len(all)-1]
}

// tally is how often something occurs.
type tally struct {
	what  string
	times int
}

// count returns how often each key occurs: the most frequent first, then by name.
func count[T any](all []T, key func(T) string) []tally {
	times := map[string]int{}
	for _, one := range all {
		times[key(one)]++
	}
	var tallies []tally
	for what, n := range times {
		tallies = append(tallies, tally{what, n})
	}
	slices.SortFunc(tallies, func(a, b tally) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.what, b.what))
	})
	return tallies
}

func (e *evidence) jobsByState() []tally {
	return count(e.jobs, func(j jobRecord) string { return j.Job.State })
}

func (e *evidence) logsByEvent() []tally {
	return count(e.logs, func(l logRecord) string { return l.Event })
}

func (e *evidence) runsOf(wanted role) (runs []*run) {
	for _, r := range e.runs {
		if r.role == wanted {
			runs = append(runs, r)
		}
	}
	return runs
}
