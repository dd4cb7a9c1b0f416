package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// StripShown is how many runs the list of schedules shows of each schedule.
const StripShown = 14

// Schedules is the list of schedules.
type Schedules struct {
	Rows        []*ScheduleRow
	Self        string // the address of the list alone
	Live        bool
	First, Next string
	Notice      string
	Tabs        []ui.Tab
	OnlyFailing bool
	Query       string   // as it was typed
	Search      string   // the text that is searched for
	Order       string   // "" for those that fail first
	Orders      []ui.Tab // none where the list has but one
	Partly      bool     // there may be more that were not sorted
	Filters
}

// ScheduleRow is a schedule with its last runs, newest first.
type ScheduleRow struct {
	*job.Schedule
	Spec job.Spec
	Runs []job.RunSummary
	Mute *job.Mute // nil if it is not muted
}

// words returns the frequency of a schedule in words.
func (r *ScheduleRow) words() string {
	frequency, err := r.Spec.Frequency()
	if err != nil {
		return "an unknown frequency" // it was valid when the schedule was created
	}
	return schedule.Describe(frequency)
}

// next returns the pending run; nil if there is none.
func (r *ScheduleRow) next() *job.RunSummary {
	if len(r.Runs) > 0 && !r.Runs[0].State.Final() {
		return &r.Runs[0]
	}
	return nil
}

// partly says which schedules an order has.
func (list *Schedules) partly() string {
	switch {
	case list.Search != "":
		return "The first 100 that were found."
	case list.Filtered():
		return "Of the newest 100 that match."
	case list.Order == "next":
		return "The next 100 at most; there may be more."
	}
	return "Of the newest 100 schedules."
}

// CompareNext compares the schedules by their next run; those without one are last.
func (r *ScheduleRow) CompareNext(other *ScheduleRow) int {
	a, b := r.next(), other.next()
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil || !r.Live() && other.Live():
		return 1
	case b == nil || r.Live() && !other.Live():
		return -1
	}
	return a.DueAt.Compare(b.DueAt)
}

// MedianLateness returns the median lateness of the last runs; -1 if none has started.
func (r *ScheduleRow) MedianLateness() time.Duration {
	dots := r.late(StripShown).Dots
	if len(dots) == 0 {
		return -1
	}
	all := make([]time.Duration, len(dots))
	for i, dot := range dots {
		all[i] = dot.Late
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// past returns the last runs without those that have not been due: the one to come, and
// those that were cancelled before, as when the schedule was paused.
func (r *ScheduleRow) past() []job.RunSummary {
	return slices.DeleteFunc(slices.Clone(r.Runs), func(run job.RunSummary) bool {
		early := run.State == job.Cancelled && run.AttemptedAt.IsZero() && run.EndedAt.Before(run.ScheduledAt)
		return early || run.State == job.Available && run.Number == r.Runs[0].Number
	})
}

// lastFailed returns the number of the latest run that has failed; 0 if there is none.
func (r *ScheduleRow) lastFailed() int64 {
	for i := range r.Runs {
		if s := r.Runs[i].State; s == job.Discarded || s == job.Retryable {
			return r.Runs[i].Number
		}
	}
	return 0
}

// outcomes returns at most so many of the last runs as marks, oldest first.
func (r *ScheduleRow) outcomes(most int) []ui.Outcome {
	runs := r.past()
	runs = runs[:min(most, len(runs))]
	outcomes := make([]ui.Outcome, len(runs))
	for i, run := range runs {
		outcomes[len(runs)-1-i] = ui.Outcome{State: run.State, At: changedAt(&run)}
	}
	return outcomes
}

// changedAt returns when a run last ended or started.
func changedAt(r *job.RunSummary) time.Time {
	for _, t := range []time.Time{r.EndedAt, r.AttemptedAt} {
		if !t.IsZero() {
			return t
		}
	}
	return r.ScheduledAt
}

// duration returns how long a run's last attempt took; false if it has not ended.
func duration(r *job.RunSummary) (time.Duration, bool) {
	if r.State != job.Completed && r.State != job.Discarded || r.AttemptedAt.IsZero() {
		return 0, false
	}
	return r.EndedAt.Sub(r.AttemptedAt), true
}

func deleteQuestion(s *job.Schedule) string {
	return "Delete " + ScheduleTitle(s) + "? This also deletes its next run and its $state. Past runs and their logs stay."
}

// firstScheduleCurl returns a call of the API that works as it is, except for the
// key.
func firstScheduleCurl(v *ui.View) string {
	return fmt.Sprintf("curl %s/api/jobs \\\n  -H \"Authorization: Bearer %s\" \\\n  -H \"Content-Type: application/json\" \\\n"+
		`  -d '{"url": "https://example.com/report", "cron": "0 9 * * 1-5", "timezone": "Europe/Berlin", "name": "Morning report"}'`,
		v.Origin, v.Key())
}

// newSchedule is the address of the form for a job, filled in for one that recurs.
const newSchedule = "/jobs/new?when=every+day+at+9:00"
