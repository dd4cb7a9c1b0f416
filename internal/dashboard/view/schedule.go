package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// PlottedRuns is how many runs the plots of a schedule go back.
const PlottedRuns = 60

// Schedule is the page of a schedule.
type Schedule struct {
	ScheduleRow
	Listed []job.RunSummary // the runs in the list, newest first
	Newest string           // the address of the list's first page; "" if this is it
	Older  string
	Notice string
	Begun  bool // the notice is about an action without a result yet
	Hidden Hidden
	// Part is the address of a live part without its name.
	Part string
	// StateText is the $state in the editor, "" if it is too large for it;
	// StateVersion identifies the $state that the editor shows.
	StateText, StateVersion string
	StateProblem            string // why the new $state was refused
	StateOpen               bool   // the editor is open
}

// part returns the address of a live part.
func (d *Schedule) part(name string) string { return d.Part + name }

// firstRun returns when the schedule's first run is due: the beginning of a cron's grid is
// no tick of it. It returns zero if there is none.
func (r *ScheduleRow) firstRun() time.Time {
	grid, _ := r.Grid()
	if grid == nil {
		return r.FirstDue
	}
	return grid.First(grid.Begin)
}

// lateness returns how late a run started; false if it has not started, or if it
// was due before the schedule was created.
func (r *ScheduleRow) lateness(run *job.RunSummary) (time.Duration, bool) {
	if run.StartedAt.IsZero() || run.ScheduledAt.Before(r.InsertedAt.Truncate(time.Second)) {
		return 0, false
	}
	return max(0, run.StartedAt.Sub(run.ScheduledAt)), true
}

// late returns the lateness of the last runs.
func (r *ScheduleRow) late(most int) *ui.Lateness {
	l := &ui.Lateness{ID: "late", Of: [2]string{"run", "runs"}}
	runs := r.past()
	for _, run := range slices.Backward(runs[:min(most, len(runs))]) {
		if late, ok := r.lateness(&run); ok {
			l.Dots = append(l.Dots, ui.LateDot{Late: late, Text: "Job " + strconv.FormatInt(run.Number, 10)})
		}
	}
	return l
}

// durations returns the durations of the last runs.
func (d *Schedule) durations() ui.Plot {
	runs := d.past()
	runs = runs[:min(PlottedRuns, len(runs))]
	took := make([]float64, len(runs))
	for i := range runs {
		place := len(runs) - 1 - i
		took[place] = math.NaN()
		if t, ok := duration(&runs[i]); ok {
			took[place] = toMillis(t)
		}
	}
	from, to := "", "latest run"
	if len(runs) > 1 {
		from = ui.Plural(len(runs)-1, "run before", "runs before")
	}
	return ui.Plot{ID: "took", Title: "Duration", From: from, To: to, Series: []ui.Series{{Name: "duration", Values: took}},
		Summary: summarize(took, "took %s to %s in their last attempt")}
}

func toMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// summarize describes values in milliseconds in a sentence; the format takes the
// smallest and the largest.
func summarize(values []float64, format string) string {
	n, least, most, last := 0, math.Inf(1), math.Inf(-1), math.NaN()
	for _, v := range values {
		if !math.IsNaN(v) {
			n, least, most, last = n+1, min(least, v), max(most, v), v
		}
	}
	if n == 0 {
		return "no runs yet."
	}
	return fmt.Sprintf("%s "+format+"; the latest %s.", ui.Plural(n, "run", "runs"), Millis(least), Millis(most), Millis(last))
}

// Millis formats milliseconds.
func Millis(v float64) string { return ui.Millis(time.Duration(v * float64(time.Millisecond))) }

// Frequency returns the frequency of a schedule in the form that the field "How
// often" takes.
func Frequency(spec *job.Spec) string {
	if spec.Cron != "" {
		return spec.Cron
	}
	amount, unit := spec.RepeatEvery, "second"
	if pair := rawjson.Elements(spec.RepeatEvery); len(pair) == 2 {
		amount, unit = pair[0], strings.TrimSuffix(strings.ToLower(rawjson.Text(pair[1])), "s")
	}
	if string(amount) != "1" {
		unit += "s"
	}
	return "every " + string(amount) + " " + unit
}

// Zone returns the name of a schedule's time zone.
func Zone(spec *job.Spec) string {
	if spec.Timezone == "" {
		return "UTC"
	}
	return spec.Timezone
}
