package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// AheadNamed is how many of the jobs that are due in an hour are read.
	AheadNamed = 6
	// aheadWords is how many jobs an hour may have whose names are shown.
	aheadWords = 4
	// aheadListed is how many jobs the list of the next ones has.
	aheadListed = 6
)

// Ahead is what is due in the next 24 hours.
type Ahead struct {
	// Start is when the first hour began.
	Start  time.Time
	Bounds []time.Time // one more than steps; the first is now, in the zone to show
	Steps  []job.DueStep
}

// total returns how many jobs are due: "12", "1,000+".
func (a *Ahead) total() string {
	n, partly := 0, false
	for _, s := range a.Steps {
		n, partly = n+s.Count, partly || s.Partly
	}
	return atLeast(n, partly)
}

func atLeast(n int, partly bool) string {
	text := ui.Count(int64(n))
	if partly {
		text += "+"
	}
	return text
}

// next returns the jobs that are due next.
func (a *Ahead) next() (next []job.DueJob) {
	for _, s := range a.Steps {
		next = append(next, s.First...)
		if len(next) >= aheadListed || s.Count > len(s.First) {
			break
		}
	}
	return next[:min(aheadListed, len(next))]
}

// plot returns the chart of the hours.
func (a *Ahead) plot() ui.Plot {
	p := ui.Plot{ID: "ahead", Title: "Due jobs per hour", Bars: true, Start: a.Start, Step: time.Hour, Summary: a.summary()}
	values := make([]float64, len(a.Steps))
	p.Notes = make([]string, len(a.Steps))
	for i := range a.Steps {
		values[i], p.Notes[i] = float64(a.Steps[i].Count), a.note(i)
	}
	p.Series = []ui.Series{{Name: "due", Values: values}}
	return p
}

// summary describes the hours, for screen readers.
func (a *Ahead) summary() string {
	busiest, most := -1, 0
	for i, s := range a.Steps {
		if s.Count > most {
			busiest, most = i, s.Count
		}
	}
	if busiest < 0 {
		return "no jobs are due in the next 24 hours."
	}
	return fmt.Sprintf("%s due in the next 24 hours; most, %s, at %s.", a.total(), atLeast(most, a.Steps[busiest].Partly), a.hour(busiest))
}

// hour returns the time of a step: "14:00–15:00 UTC".
func (a *Ahead) hour(i int) string { return Interval(a.Bounds[0], a.Bounds[i], a.Bounds[i+1]) }

// note names the jobs of an hour with few of them.
func (a *Ahead) note(i int) string {
	s := &a.Steps[i]
	if s.Partly {
		return "at least " + ui.Count(int64(s.Count))
	}
	if s.Count > aheadWords {
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
