package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// AheadNamed is how many of the jobs that are due in a step are read and named.
const AheadNamed = 4

// Ahead is what is planned in the steps between bounds.
type Ahead struct {
	Bounds []time.Time // one more than steps; the first is now, in the zone to show
	Steps  []job.DueStep
	// Runs are further runs of schedules, whose pending runs are in Steps. RunsPartly is
	// set if not all schedules were read.
	Runs       []int64
	RunsPartly bool
}

// Planned returns how many jobs and runs are planned in a step.
func (a *Ahead) Planned(i int) int64 { return int64(a.Steps[i].Count) + a.Runs[i] }

// partly reports whether a step may have more.
func (a *Ahead) partly(i int) bool { return a.Steps[i].Partly || a.RunsPartly }

func atLeast(n int64, partly bool) string {
	text := ui.Count(n)
	if partly {
		text += "+"
	}
	return text
}

// Summary describes what is planned, for screen readers.
func (a *Ahead) Summary() string {
	busiest, most, all, partly := -1, int64(0), int64(0), false
	for i := range a.Steps {
		n := a.Planned(i)
		if all, partly = all+n, partly || a.partly(i); n > most {
			busiest, most = i, n
		}
	}
	until := a.Bounds[len(a.Bounds)-1].In(a.Bounds[0].Location()).Format("15:04 MST")
	if busiest < 0 {
		return "Nothing is planned until " + until + "."
	}
	return fmt.Sprintf("%s planned until %s; most, %s, at %s.", atLeast(all, partly), until, atLeast(most, a.partly(busiest)),
		Interval(a.Bounds[0], a.Bounds[busiest], a.Bounds[busiest+1]))
}

// Note names the jobs of a step with few of them.
func (a *Ahead) Note(i int) string {
	s := &a.Steps[i]
	if a.partly(i) {
		return "at least " + ui.Count(a.Planned(i))
	}
	if s.Count > AheadNamed || a.Runs[i] > 0 {
		return ""
	}
	names := make([]string, len(s.First))
	for k := range s.First {
		names[k] = dueTitle(&s.First[k])
	}
	return strings.Join(names, ", ")
}

// dueTitle returns what a due job is called.
func dueTitle(j *job.DueJob) string {
	switch {
	case j.Name != nil && *j.Name != "":
		return ui.Shorten(*j.Name, 60)
	case j.ScheduleID != uuid.Nil:
		return "Schedule " + j.ScheduleID.String()[:8]
	case j.Host != "":
		return ui.Shorten(j.Host, 60)
	}
	return fmt.Sprintf("Job %d", j.Number)
}

// Interval formats the time between two instants, with the date unless it begins
// within a day of now: "14:00–15:00 UTC", "15 Nov 14:00–15:00 UTC". The zone is that of
// now.
func Interval(now, from, to time.Time) string {
	const day, clock = "2 Jan", "15:04"
	from, to = from.In(now.Location()), to.In(now.Location())
	begin, end := from.Format(clock), to.Format(clock)
	if now.Sub(from) > 24*time.Hour || to.Sub(from) >= 24*time.Hour {
		begin = from.Format(day) + " " + begin
		y, m, d := from.Date()
		if midnight := time.Date(y, m, d+1, 0, 0, 0, 0, from.Location()); to.After(midnight) {
			end = to.Format(day) + " " + end
		}
	}
	return begin + "–" + end + to.Format(" MST")
}
