package view

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// MostPassed is up to how many times of a schedule are counted that another due time passes over.
const MostPassed = 100

// Reschedule is another due time for a job, with what it changes.
type Reschedule struct {
	Job      *job.Job
	To       time.Time
	Expires  time.Time // when the job can't start any more; zero for never
	Schedule bool      // the job is a run
	Passed   int       // how many times of its schedule come until then, up to MostPassed
}

// difference says how the new due time differs from the old one.
func (m *Reschedule) difference(now time.Time) string {
	switch was := m.Job.ScheduledAt; {
	case !m.To.After(now):
		return "The time has come: the job starts at once."
	case m.To.Sub(was).Abs() < time.Second:
		return "This is when it is due already."
	case m.To.After(was):
		return "Later than planned by " + ui.Span(m.To.Sub(was)) + "."
	default:
		return "Earlier than planned by " + ui.Span(was.Sub(m.To)) + "."
	}
}

// following says what happens to the schedule of a run.
func (m *Reschedule) following() string {
	switch {
	case !m.Schedule:
		return ""
	case m.Passed == 0:
		return "Only this run is rescheduled: the schedule stays as it is."
	}
	count := strconv.Itoa(m.Passed)
	if m.Passed == MostPassed {
		count += " or more"
	}
	times := " further times of the schedule pass"
	if m.Passed == 1 {
		times = " further time of the schedule passes"
	}
	return "Only this run is rescheduled. Until then " + count + times + ": runs never overlap, so the next one follows after it."
}
