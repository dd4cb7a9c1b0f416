package demo

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/schedule"
)

// verdict returns every promise that was not kept, each as a clause without a
// full stop; nothing when all was well.
func verdict(e *evidence) (broken []string) {
	for _, judge := range []func(*evidence) []string{
		judgeTimes, judgeOneOff, judgeRecurring, judgeRetry, judgeDeliveries, judgeRecords,
	} {
		broken = append(broken, judge(e)...)
	}
	return broken
}

func complain(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }

// judgeTimes checks that every run reached the target, and none before it was due.
func judgeTimes(e *evidence) (broken []string) {
	for _, r := range e.runs {
		switch {
		case r.fired.IsZero():
			broken = append(broken, fmt.Sprintf("a run of %s did not reach the target (%s)", r.role.spoken(), r.failure))
		case r.fired.Before(r.due):
			broken = append(broken, fmt.Sprintf("a run of %s fired %s early", r.role.spoken(), milliseconds(r.due.Sub(r.fired))))
		case r.began.Before(r.due):
			broken = append(broken, fmt.Sprintf("a run of %s is recorded as %s early", r.role.spoken(), milliseconds(r.due.Sub(r.began))))
		}
	}
	return broken
}

func judgeOneOff(e *evidence) []string {
	runs := e.runsOf(oneOff)
	switch {
	case len(runs) == 0:
		return complain("%s did not run", oneOff.spoken())
	case len(runs) > 1:
		return complain("%s ran %d times, not once", oneOff.spoken(), len(runs))
	case runs[0].state != "completed":
		return complain("%s ended as %s, not completed", oneOff.spoken(), runs[0].state)
	}
	return nil
}

// judgeRecurring checks for runs on the grid, none left out, and a count that goes
// 1, 2, 3.
func judgeRecurring(e *evidence) (broken []string) {
	runs := e.runsOf(recurring)
	if len(runs) < enough {
		broken = complain("%s ran %d times, not %d", recurring.spoken(), len(runs), enough)
	}
	for i, r := range runs {
		if r.state != "completed" {
			broken = append(broken, fmt.Sprintf("run %d of %s ended as %s, not completed", i+1, recurring.spoken(), r.state))
		}
		if r.count != i+1 {
			broken = append(broken, fmt.Sprintf("run %d of %s was counted as %d", i+1, recurring.spoken(), r.count))
		}
		if i == 0 {
			continue
		}
		before := runs[i-1]
		switch step := r.due.Sub(before.due); {
		case step <= 0 || step%interval != 0:
			broken = append(broken, fmt.Sprintf("run %d of %s was due %s after the one before, not whole intervals of %s", i+1,
				recurring.spoken(), step, interval))
		// A run that took long makes up for the points it covered; any other
		// is followed by the very next point.
		case r.due.After(schedule.Later(before.due, before.ended).Add(interval)):
			broken = append(broken, fmt.Sprintf("a run of %s is missing before run %d", recurring.spoken(), i+1))
		}
	}
	return broken
}

// judgeRetry checks for one failure, one retry after the back-off, and success.
func judgeRetry(e *evidence) []string {
	runs := e.runsOf(failsOnce)
	if len(runs) == 0 {
		return complain("%s did not run", failsOnce.spoken())
	}
	first := runs[0]
	switch wait := first.retryAt.Sub(first.ended); {
	case first.status != 503 || first.state != "retryable":
		return complain("%s was %s after status %d, not retryable after 503", failsOnce.spoken(), first.state, first.status)
	// Timestamps are cut to microseconds, each on its own.
	case wait < shortestBackOff-time.Microsecond || wait > longestBackOff+time.Microsecond:
		return complain("the retry of %s was planned after %s, not after %s to %s", failsOnce.spoken(), wait, shortestBackOff,
			longestBackOff)
	case len(runs) == 1:
		return complain("the retry of %s was not made", failsOnce.spoken())
	case len(runs) > 2:
		return complain("%s was attempted %d times, not twice", failsOnce.spoken(), len(runs))
	case runs[1].status != 200 || runs[1].state != "completed":
		return complain("the retry of %s ended as %s with status %d, not completed with 200", failsOnce.spoken(), runs[1].state,
			runs[1].status)
	}
	return nil
}

// judgeDeliveries checks that each request at the target is one run, and each run one request.
func judgeDeliveries(e *evidence) (broken []string) {
	type attempt struct {
		job    int64
		number int
	}
	times := map[attempt]int{}
	for _, h := range e.hits {
		times[attempt{h.job, h.attempt}]++
	}
	for _, r := range e.runs {
		a := attempt{r.job, r.attempt}
		if times[a] > 1 {
			broken = append(broken, fmt.Sprintf("the target had a run of %s %d times", r.role.spoken(), times[a]))
		}
		delete(times, a)
	}
	if len(times) > 0 {
		broken = append(broken, fmt.Sprintf("the target had %d requests that no log tells of", len(times)))
	}
	return broken
}

// judgeRecords checks that the store has what happened, no more and no less.
func judgeRecords(e *evidence) (broken []string) {
	want := map[string]int{"completed": 2 + len(e.runsOf(recurring))}
	got := map[string]int{}
	for _, t := range e.jobsByState() {
		got[t.what] = t.times
	}
	// Disabling the schedule cancels its next run, unless that had begun.
	if got["cancelled"] == 1 {
		want["cancelled"] = 1
	}
	if !maps.Equal(got, want) {
		broken = complain("the jobs stored are %s, not %s", listed(e.jobsByState()), listed(sorted(want)))
	}
	if len(e.schedules) != 1 || e.schedules[0].DisabledAt == nil {
		broken = append(broken, fmt.Sprintf("the schedules stored are %d, not one that is disabled", len(e.schedules)))
	}
	wantLogs := map[string]int{eventRequest: len(e.runs), eventResponse: len(e.runs)}
	gotLogs := map[string]int{}
	for _, t := range e.logsByEvent() {
		gotLogs[t.what] = t.times
	}
	if !maps.Equal(gotLogs, wantLogs) {
		broken = append(broken, fmt.Sprintf("the logs stored are %s, not %s", listed(e.logsByEvent()), listed(sorted(wantLogs))))
	}
	return broken
}

// sorted returns the tallies of a map, by name.
func sorted(times map[string]int) (tallies []tally) {
	for _, what := range slices.Sorted(maps.Keys(times)) {
		tallies = append(tallies, tally{what, times[what]})
	}
	return tallies
}
