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

// maxCauses is how many causes the band of the overview names.
const maxCauses = 4

// Failing are the schedules that fail, those that fail longest first.
type Failing struct {
	Schedules []job.FailingSchedule
	More      bool // there are more than these
	// Last has the numbers of the latest runs that failed, as far as they are known.
	Last map[uuid.UUID]int64
}

// Link adds the latest runs that failed, of the schedules of a grid.
func (f *Failing) Link(g *Grid) {
	f.Last = map[uuid.UUID]int64{}
	for _, r := range g.Rows {
		f.Last[r.ID] = r.lastFailed()
	}
}

// title says how many schedules fail, since when and why.
func (f *Failing) title(now time.Time) string {
	n := ui.Plural(len(f.Schedules), "schedule", "schedules")
	if f.More {
		n = "More than " + n
	}
	return n + " failing · oldest since " + ui.Clock(now, f.Schedules[0].Since) + " · " + strings.Join(f.causes(), ", ")
}

// causes returns the causes in words, the most frequent first.
func (f *Failing) causes() []string {
	counts := map[string]int{}
	var causes []string
	for _, s := range f.Schedules {
		words := ui.Cause(s.Cause)
		if counts[words] == 0 {
			causes = append(causes, words)
		}
		counts[words]++
	}
	slices.SortStableFunc(causes, func(a, b string) int { return counts[b] - counts[a] })
	if len(causes) > maxCauses {
		causes = append(causes[:maxCauses], "and others")
	}
	return causes
}

// FailureGroup are failed jobs of one schedule, or of one host, with one cause.
type FailureGroup struct {
	Title       string
	Schedule    uuid.UUID // uuid.Nil for one-off jobs
	Host        string
	Cause       string
	Count       int
	First, Last time.Time
	Sample      int64 // the latest job
}

// GroupFailures groups failed jobs, latest first.
func GroupFailures(failed []job.FailedJob) []FailureGroup {
	type key struct {
		schedule    uuid.UUID
		host, cause string
	}
	var groups []FailureGroup
	places := map[key]int{}
	for _, f := range failed {
		k := key{schedule: f.ScheduleID, cause: ui.Cause(f.Cause)}
		if f.ScheduleID == uuid.Nil {
			k.host = f.Host
		}
		i, known := places[k]
		if !known {
			i = len(groups)
			places[k] = i
			groups = append(groups, FailureGroup{Title: failureTitle(&f), Schedule: f.ScheduleID, Host: k.host, Cause: k.cause, Last: f.DiscardedAt, Sample: f.Number})
		}
		groups[i].Count++
		groups[i].First = f.DiscardedAt
	}
	return groups
}

func failureTitle(f *job.FailedJob) string {
	switch {
	case f.ScheduleID == uuid.Nil:
		return f.Host
	case f.Name != nil && *f.Name != "":
		return ui.Shorten(*f.Name, 60)
	}
	return "Schedule " + f.ScheduleID.String()[:8]
}

func failingTitle(s *job.FailingSchedule) string {
	return ScheduleTitle(&job.Schedule{ID: s.ID, Name: s.Name})
}
