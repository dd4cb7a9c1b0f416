package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// The codes of findings.
const (
	FindClockGap     = "clock_gap"
	FindClockDouble  = "clock_double"
	FindNeverRuns    = "never_runs"
	FindLeapDayOnly  = "leap_day_only"
	FindEitherDay    = "either_day"
	FindOverlap      = "overlap"
	FindMayOverlap   = "may_overlap"
	FindTimeout      = "timeout"
	FindExpired      = "expired"
	FindLimitStarves = "limit_starves"
	FindFailures     = "ends_by_failures"
	FindEndsSoon     = "ends_soon"
	FindBusyMinute   = "busy_minute"
)

const (
	// endsSoon is how long after the beginning an end is worth a finding.
	endsSoon = 31 * 24 * time.Hour
	// busyMinute is how many runs in a minute are worth one, and calmMinute to how many
	// the jitter that it suggests brings them.
	busyMinute = 100
	calmMinute = 10
	// maxFindings is how many findings of one code a result has.
	maxFindings = 100
)

// about is what a rule looks at.
type about struct {
	*Outcome
	actor    *actor
	grid     *schedule.Grid
	spec     *job.Spec
	from, to time.Time
	until    time.Time // the end of the rehearsal, if it were not cut
	all      []*actor
}

// rule finds one thing about an enabled schedule. It returns "" if there is nothing to
// tell.
type rule struct {
	code string
	look func(about) (at time.Time, message string)
}

// rules are the rules in the order in which their findings are listed, except that for
// busy minutes, which is about all schedules.
var rules = []rule{
	{FindClockGap, func(a about) (time.Time, string) { return a.clockChange("gap") }},
	{FindClockDouble, func(a about) (time.Time, string) { return a.clockChange("double") }},
	{FindNeverRuns, neverRuns},
	{FindLeapDayOnly, func(a about) (time.Time, string) {
		if !a.grid.LeapDayOnly() {
			return time.Time{}, ""
		}
		return a.grid.Next(time.Time{}, a.from), "It runs on 29 February only, so in leap years. " +
			"Use day L of month 2 for the last day of February, or another day."
	}},
	{FindEitherDay, func(a about) (time.Time, string) {
		if !a.grid.EitherDay() {
			return time.Time{}, ""
		}
		return time.Time{}, "The expression restricts the day of the month and the day of the week, and runs on days that match either. " +
			"Write * for one of them, or use MON#2 or 15W for a weekday within the month."
	}},
	{FindOverlap, func(a about) (time.Time, string) {
		if a.Overlaps == 0 {
			return time.Time{}, ""
		}
		return time.Time{}, fmt.Sprintf("%s passed while a run was under way and have no run of their own. "+
			"Run it less often, make its runs shorter, or set \"catch_up\": \"all\".", points(a.Overlaps))
	}},
	{FindMayOverlap, func(a about) (time.Time, string) {
		least := schedule.Distance(a.grid.Frequency, a.from)
		if a.actor.duration > 0 || a.spec.Completion.Within > 0 || a.spec.Timeout <= least {
			return time.Time{}, ""
		}
		return time.Time{}, fmt.Sprintf("A run may take up to its timeout of %s, which is longer than the %s between two points; points that pass meanwhile are skipped. "+
			"Set a shorter timeout, or run it less often.", words(a.spec.Timeout), words(least))
	}},
	{FindTimeout, func(a about) (time.Time, string) {
		if a.spec.Completion.Within > 0 {
			if a.actor.duration > a.spec.Completion.Within {
				return time.Time{}, fmt.Sprintf("A run takes %s, but must report its outcome within %s: it would be abandoned. Raise within.", words(a.actor.duration), words(a.spec.Completion.Within))
			}
			return time.Time{}, ""
		}
		if a.actor.duration <= a.spec.Timeout {
			return time.Time{}, ""
		}
		return time.Time{}, fmt.Sprintf("A run takes %s, but its timeout is %s: each attempt would fail. "+
			"Raise timeout (to %s at most), or let the target respond with 202 and report the outcome with completion.",
			words(a.actor.duration), words(a.spec.Timeout), words(job.MaxTimeout))
	}},
	{FindExpired, func(a about) (time.Time, string) {
		if a.Expired == 0 {
			return time.Time{}, ""
		}
		return time.Time{}, fmt.Sprintf("%d runs could not start in time and are discarded as expired. "+
			"Raise expires_in, or leave out \"catch_up\": \"none\".", a.Expired)
	}},
	{FindLimitStarves, limitStarves},
	{FindFailures, func(a about) (time.Time, string) {
		if a.Ends == nil || a.Ends.Reason != job.EndedFailures {
			return time.Time{}, ""
		}
		return a.Ends.At, fmt.Sprintf("It is disabled after %d failed runs in a row. Raise disable_after, or repair the target and enable it.", a.spec.DisableAfter)
	}},
	{FindEndsSoon, func(a about) (time.Time, string) {
		if a.Ends == nil && a.to.Before(a.until) && !a.grid.Until.IsZero() { // after the cut
			a.Outcome = &Outcome{Ends: &Ends{a.grid.Until, job.EndedAt}}
		}
		if a.Ends == nil || a.Ends.Reason == job.EndedFailures || a.Ends.At.After(a.from.Add(endsSoon)) {
			return time.Time{}, ""
		}
		return a.Ends.At, fmt.Sprintf("It ends within a month, by %s. Raise or remove %s if it is to go on.", a.Ends.Reason, a.Ends.Reason)
	}},
}

// Codes returns the codes of all findings.
func Codes() []string {
	codes := make([]string, 0, len(rules)+1)
	for _, r := range rules {
		codes = append(codes, r.code)
	}
	return append(codes, FindBusyMinute)
}

func findings(r *rehearsal, result *Result, end time.Time) []Finding {
	var found []Finding
	for _, rule := range rules {
		n := 0
		for i, a := range r.actors {
			if a.out.Disabled || a.course == nil || n == maxFindings {
				continue
			}
			at, message := rule.look(about{&result.Schedules[i], a, a.course.Grid(), a.course.Spec(), r.From, end, r.To, r.actors})
			if message != "" {
				found = append(found, Finding{rule.code, a.out.Key, a.out.ID, a.out.Name, at, message})
				n++
			}
		}
	}
	if len(result.Busiest) > 0 && result.Busiest[0].Runs >= busyMinute {
		most := result.Busiest[0]
		found = append(found, Finding{Code: FindBusyMinute, At: most.At, Message: fmt.Sprintf(
			"%d runs start in one minute. \"jitter\": [%d, \"minutes\"] on their schedules would leave about %d in each.",
			most.Runs, (most.Runs+calmMinute-1)/calmMinute, calmMinute)})
	}
	return found
}

// clockChange is the rule for changes of the clock. Points that go on every hour are not
// disturbed by one.
func (a about) clockChange(kind string) (time.Time, string) {
	clock, ok := a.grid.Clock()
	changes := a.actor.clockChanges(a.from, a.until)
	i := slices.IndexFunc(changes, func(c ClockChange) bool { return c.Kind == kind })
	if !ok || i < 0 || clock.Watched && clock.AllHours || !clock.Watched && kind == "double" {
		return time.Time{}, ""
	}
	at := changes[i].At
	local := at.In(clock.Zone)
	_, offset := at.Add(-1).In(clock.Zone).Zone()
	before := at.In(time.FixedZone("", offset))
	span := fmt.Sprintf("On %s the clock of %s changes from %s to %s", local.Format("2 January 2006"), clock.Zone, before.Format("15:04"),
		local.Format("15:04"))
	const fix = " Choose a time outside the hours that change, or a timezone without changes, such as UTC."
	switch {
	case kind == "double":
		return at, span + ", so its times in between come twice, and it runs twice." + fix
	case clock.Watched:
		return at, span + ", so its times in between don't come, and have no run." + fix
	default:
		return at, span + ", so its time does not come, and it runs at " + local.Format("15:04") + "." + fix
	}
}

func neverRuns(a about) (time.Time, string) {
	if a.Runs > 0 || a.Expired > 0 || a.Limited.Count > 0 {
		return time.Time{}, ""
	}
	next := a.grid.Next(time.Time{}, a.to.Add(-1))
	if next.IsZero() || a.Ends != nil {
		return time.Time{}, "It does not run in this time, nor later. Change its times, ends_at or except, or remove it."
	}
	if a.to.Sub(a.from) < 366*24*time.Hour && next.Before(a.from.AddDate(1, 0, 1)) {
		return time.Time{}, ""
	}
	return next, fmt.Sprintf("It does not run in this time; its next run is on %s. Check its expression and except.",
		next.Format("2 January 2006"))
}

// limitStarves finds schedules of which points are lost, or runs wait at the end,
// because of a limit.
func limitStarves(a about) (time.Time, string) {
	if a.byLimit == 0 && (a.actor.line == nil || a.to.Sub(a.actor.limitedSince) < time.Minute) {
		return time.Time{}, ""
	}
	var others []string
	for _, other := range a.all {
		if other != a.actor && other.out.Key != nil &&
			slices.ContainsFunc(other.keys, func(key string) bool { return slices.Contains(a.actor.keys, key) }) {
			others = append(others, *other.out.Key)
		}
		if len(others) == 3 {
			break
		}
	}
	shared := ""
	if len(others) > 0 {
		shared = ", which it shares with " + strings.Join(others, ", ")
	}
	return time.Time{}, fmt.Sprintf("The limit %s%s delays it for up to %s; %s have no run of their own because of it. "+
		"Raise the limit's rate or parallel, resume it if it is paused, or run its schedules less often or at other times.",
		strings.Join(a.actor.keys, ", "), shared, words(a.Limited.Longest), points(a.byLimit))
}

func points(n int64) string {
	if n == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%d points", n)
}

// words writes a length without units that are 0: "1h30m", "25m", "10s".
func words(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
