package view

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// lateAfter is how long after its due time a pending run makes its schedule late.
const lateAfter = time.Minute

// Health is how a schedule does.
type Health struct {
	Tone, Icon, Label string
	Detail            string // "14 in a row since 22:18 UTC, HTTP 500"; "" for none
}

// brief returns the detail in the space of a list: "14 × HTTP 500".
func (h Health) brief() string {
	count, rest, several := strings.Cut(h.Detail, " in a row since ")
	if _, cause, ok := strings.Cut(rest, ", "); several && ok {
		return count + " × " + cause
	}
	return h.Detail
}

// health returns how the schedule does at a time: Paused, Failing, Late, Healthy, or
// New if no run has completed or failed.
func (r *ScheduleRow) health(now time.Time) Health {
	next := r.next()
	switch {
	case r.Ended != "":
		return Health{"calm", "minus", "Ended", string(r.Ended)}
	case !r.Live():
		return Health{"calm", "pause", "Paused", "since " + ui.Clock(now, r.DisabledAt)}
	case r.Failures > 0:
		return Health{"bad", "cross", "Failing", failing(now, r.Failures, r.FailingSince, r.Failure)}
	case next != nil && next.State != job.Executing && next.DueAt.Before(now.Add(-lateAfter)):
		return Health{"warn", "clock", "Late", "due " + ui.Relative(now, next.DueAt)}
	case !slices.ContainsFunc(r.Runs, func(run job.RunSummary) bool { return run.State == job.Completed }):
		return Health{"calm", "clock", "New", "no completed runs yet"}
	}
	return Health{"good", "check", "Healthy", ""}
}

// failing describes failures in a row: how many, since when and why.
func failing(now time.Time, failures int64, since time.Time, cause string) string {
	if failures == 1 {
		return "Last run failed at " + ui.Clock(now, since) + ", " + ui.Cause(cause)
	}
	return ui.Count(failures) + " in a row since " + ui.Clock(now, since) + ", " + ui.Cause(cause)
}

// Failing are the schedules that fail, those that fail longest first.
type Failing struct {
	Schedules []job.FailingSchedule
	More      bool // there are more than these
}

// FailureTitle names what a failed job is listed under: its schedule, or the host of a
// one-off job.
func FailureTitle(f *job.FailedJob) string {
	switch {
	case f.ScheduleID == uuid.Nil:
		return f.Host
	case f.Name != nil && *f.Name != "":
		return ui.Shorten(*f.Name, 60)
	}
	return "Schedule " + f.ScheduleID.String()[:8]
}
