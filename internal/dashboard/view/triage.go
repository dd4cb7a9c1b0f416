package view

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// TriageShown is how many rows the list of what fails has, TriageMuted how many muted
	// ones.
	TriageShown, TriageMuted = 10, 20
	// TriageCauses is of how many failures of a row the causes are read.
	TriageCauses = 20
	// triageCounted is the highest number of failures that a row names.
	triageCounted = 1000
	// maxCauses is how many causes a row names.
	maxCauses = 3
)

// Triage is what needs attention: the schedules that fail, those that fail longest first,
// and what else has failed in the last day.
type Triage struct {
	Rows, Muted []*TriageRow
	// Failing is how many schedules fail that are not muted, and Oldest since when the
	// first of them does. More is set if there are more than were read.
	Failing int
	More    bool
	Oldest  time.Time
	// Schedules are those that fail and are not muted.
	Schedules []job.FailingSchedule
	// Hidden is how many rows are not shown.
	Hidden, HiddenMuted int
	// Retrying is how many jobs are retried; "" if none.
	Retrying string
	// FailedAttempts is how many attempts failed in the period of the charts.
	FailedAttempts int64
}

// TriageRow is a schedule that fails or has failed, or a host that one-off jobs failed at.
type TriageRow struct {
	Title    string
	Schedule uuid.UUID // uuid.Nil for one-off jobs
	Host     string
	// Failing is how many of the schedule's runs failed in a row, Since the first of
	// them; 0 if its latest run did not fail, and for a host.
	Failing int64
	Since   time.Time
	// Count is how many failures there were in the last day, at least if Partly is set, and
	// Last the latest.
	Count  int
	Partly bool
	Last   time.Time
	// Causes are why they failed, in words, the most frequent first. Message is the
	// latest reason in a sentence, and Sample that job; 0 if it is not known.
	Causes  []string
	Message string
	Sample  int64
	// Next is when the next run is due, zero if none is; Running is set if it has begun.
	Next    time.Time
	Running bool
	Mute    *job.Mute
	Alerts  []string // that have reported the failures
	// Rerun are the fields of the operation that reruns the failures; nil for none.
	Rerun [][2]string
}

// id returns the id of the row's element.
func (r *TriageRow) id() string {
	if r.Schedule != uuid.Nil {
		return "triage-" + r.Schedule.String()
	}
	return "triage-" + r.Host
}

// tone returns how urgent the row is.
func (r *TriageRow) tone() string {
	switch {
	case r.Mute != nil:
		return "calm"
	case r.Failing > 0:
		return "bad"
	case r.Schedule == uuid.Nil:
		return "warn"
	}
	return "calm" // the schedule's latest run did not fail
}

// count says how many failures there were.
func (r *TriageRow) count() string {
	n := ui.Count(int64(r.Count))
	switch {
	case r.Failing > 0:
		return ui.Count(r.Failing) + " in a row"
	case r.Count == 0:
		return ""
	case r.Count >= triageCounted:
		n = ui.Count(triageCounted) + "+"
	case r.Partly:
		n += "+"
	}
	return n + " in the last day"
}

// when says since when it fails, or when it last failed.
func (r *TriageRow) when(now time.Time) string {
	switch {
	case r.Failing > 0:
		return "since " + ui.Clock(now, r.Since)
	case r.Last.IsZero():
		return "not failing"
	case r.Schedule != uuid.Nil:
		return "last " + ui.Clock(now, r.Last) + ", not failing now"
	}
	return "last " + ui.Clock(now, r.Last)
}

// causes returns the causes in words.
func (r *TriageRow) causes() string {
	if len(r.Causes) > maxCauses {
		return strings.Join(r.Causes[:maxCauses], ", ") + " and others"
	}
	return strings.Join(r.Causes, ", ")
}

// title says how many schedules fail and since when.
func (t *Triage) title(now time.Time) string {
	if t.Failing == 0 {
		return "No schedule is failing"
	}
	n := ui.Plural(t.Failing, "schedule", "schedules")
	if t.More {
		n = "More than " + n
	}
	return n + " failing · oldest since " + ui.Clock(now, t.Oldest)
}

// muted says how many schedules are muted.
func (t *Triage) muted() string {
	return ui.Plural(len(t.Muted)+t.HiddenMuted, "muted schedule", "muted schedules")
}

// noneFailed says that nothing was discarded, and whether attempts failed.
func (t *Triage) noneFailed() string {
	if t.FailedAttempts == 0 {
		return "Nothing has failed in the last day."
	}
	return ui.Plural(int(t.FailedAttempts), "attempt", "attempts") + " failed, but every job has retries left or succeeded."
}

func failingTitle(s *job.FailingSchedule) string {
	return ScheduleTitle(&job.Schedule{ID: s.ID, Name: s.Name})
}
