package dashboard

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// failedWithin is how far back the overview lists failures.
	failedWithin = 24 * time.Hour
	// failedCounted is how many failures are counted at most.
	failedCounted = 2000
	// alertsScanned is how many states of alerts are read at most.
	alertsScanned = 1000
)

// triage collects what fails.
type triage struct {
	*view.Triage
	call   *call
	mutes  map[uuid.UUID]*job.Mute
	failed map[subject]*tally
	alerts map[uuid.UUID][]string
	runs   map[uuid.UUID][]job.RunSummary
}

// subject is what failures are counted for: a schedule, or the host of one-off jobs.
type subject struct {
	schedule uuid.UUID
	host     string
}

// tally has the failures of a subject in the last day, the latest first.
type tally struct {
	title  string
	count  int
	partly bool
	last   time.Time
	since  time.Time // when the first of the jobs was created
	latest []int64
	sample int64 // the latest that is no rerun, if there is one
}

// readTriage reads what fails. Grid has the last runs of schedules.
func (s *Server) readTriage(c *call, failing view.Failing, grid *view.Grid) (*view.Triage, error) {
	t := &triage{Triage: &view.Triage{}, call: c, runs: map[uuid.UUID][]job.RunSummary{}}
	var err error
	if t.mutes, err = s.Service.Mutes(c.r.Context(), c.owner(), nil); err != nil {
		return nil, err
	}
	if err := t.readFailed(); err != nil {
		return nil, err
	}
	if err := t.readAlerts(); err != nil {
		return nil, err
	}
	t.addFailing(failing)
	t.addOthers()
	if t.Hidden = max(0, len(t.Rows)-view.TriageShown); t.Hidden > 0 {
		t.Rows = t.Rows[:view.TriageShown]
	}
	if err := t.addMuted(); err != nil {
		return nil, err
	}
	for _, r := range grid.Rows {
		t.runs[r.ID] = r.Runs
	}
	if err := t.readRuns(); err != nil {
		return nil, err
	}
	return t.Triage, t.readCauses()
}

// readFailed counts the failures of the last day.
func (t *triage) readFailed() error {
	s, c := t.call.server, t.call
	failed, err := s.Service.FailedJobs(c.r.Context(), c.owner(), s.Service.Now().Add(-failedWithin), failedCounted+1)
	if err != nil {
		return err
	}
	partly := len(failed) > failedCounted
	t.failed = map[subject]*tally{}
	for i := range failed[:min(failedCounted, len(failed))] {
		j := &failed[i]
		of := subject{schedule: j.ScheduleID}
		if of.schedule == uuid.Nil {
			of.host = j.Host
		}
		f := t.failed[of]
		if f == nil {
			f = &tally{title: view.FailureTitle(j), last: j.DiscardedAt, since: j.InsertedAt, partly: partly}
			t.failed[of] = f
		}
		f.count++
		if j.InsertedAt.Before(f.since) {
			f.since = j.InsertedAt
		}
		if f.sample == 0 && j.RerunOf == 0 {
			f.sample = j.Number
		}
		if len(f.latest) < view.TriageCauses {
			f.latest = append(f.latest, j.Number)
		}
	}
	return nil
}

// readAlerts reads which alerts have reported failures that last. Their page is not
// public, and neither are they.
func (t *triage) readAlerts() error {
	if t.call.viewer.public {
		return nil
	}
	open, err := t.call.server.Alerts.Open(t.call.r.Context(), t.call.owner(), alertsScanned)
	t.alerts = map[uuid.UUID][]string{}
	for _, o := range open {
		t.alerts[o.Schedule] = append(t.alerts[o.Schedule], o.Name)
	}
	return err
}

// addFailing adds the schedules that fail.
func (t *triage) addFailing(failing view.Failing) {
	t.More = failing.More
	for i := range failing.Schedules {
		f := &failing.Schedules[i]
		r := t.row(subject{schedule: f.ID})
		r.Title = view.ScheduleTitle(&job.Schedule{ID: f.ID, Name: f.Name})
		r.Failing, r.Since, r.Causes, r.Alerts = f.Failures, f.Since, []string{ui.Cause(f.Cause)}, t.alerts[f.ID]
		if r.Mute != nil {
			t.Muted = append(t.Muted, r)
			continue
		}
		if t.Failing++; t.Failing == 1 {
			t.Oldest = f.Since
		}
		t.Rows, t.Schedules = append(t.Rows, r), append(t.Schedules, *f)
	}
}

// addOthers adds what else has failed: one-off jobs by host, then schedules whose latest
// run did not fail.
func (t *triage) addOthers() {
	var others []*view.TriageRow
	failing := map[uuid.UUID]bool{}
	for _, r := range slices.Concat(t.Rows, t.Muted) {
		failing[r.Schedule] = true
	}
	for of := range t.failed {
		if r := t.row(of); r.Mute == nil && !failing[of.schedule] {
			if of.schedule == uuid.Nil {
				r.Alerts = t.alerts[uuid.Nil] // they tell of all one-off jobs together
			}
			others = append(others, r)
		}
	}
	recovered := func(r *view.TriageRow) int {
		if r.Schedule != uuid.Nil {
			return 1
		}
		return 0
	}
	slices.SortFunc(others, func(a, b *view.TriageRow) int {
		return cmp.Or(recovered(a)-recovered(b), b.Last.Compare(a.Last), cmp.Compare(a.Title, b.Title))
	})
	t.Rows = append(t.Rows, others...)
}

// addMuted adds the muted schedules that don't fail to those that do.
func (t *triage) addMuted() error {
	shown := map[uuid.UUID]bool{}
	for _, r := range t.Muted {
		shown[r.Schedule] = true
	}
	t.HiddenMuted = max(0, len(t.Muted)-view.TriageMuted)
	t.Muted = t.Muted[:min(view.TriageMuted, len(t.Muted))]
	for id := range t.mutes {
		if shown[id] {
			continue
		}
		if len(t.Muted) == view.TriageMuted {
			t.HiddenMuted++
			continue
		}
		found, err := t.call.server.Service.Schedule(t.call.r.Context(), t.call.owner(), id)
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		r := t.row(subject{schedule: id})
		r.Title = view.ScheduleTitle(found)
		t.Muted = append(t.Muted, r)
	}
	slices.SortStableFunc(t.Muted, func(a, b *view.TriageRow) int {
		return cmp.Or(cmp.Compare(min(1, b.Failing), min(1, a.Failing)), a.Mute.MutedAt.Compare(b.Mute.MutedAt))
	})
	return nil
}

// row returns the row of a subject with its failures of the last day.
func (t *triage) row(of subject) *view.TriageRow {
	r := &view.TriageRow{Schedule: of.schedule, Host: of.host, Mute: t.mutes[of.schedule]}
	f := t.failed[of]
	if f == nil {
		return r
	}
	r.Title, r.Count, r.Partly, r.Last, r.Sample = f.title, f.count, f.partly, f.last, cmp.Or(f.sample, f.latest[0])
	if !t.call.viewer.public {
		name, value := "schedule_id", of.schedule.String()
		if of.schedule == uuid.Nil {
			name, value = "host", of.host
		}
		r.Rerun = [][2]string{
			{"action", string(job.RerunJobs)}, {"state", job.Discarded.String()}, {name, value}, {"since", job.FormatTime(f.since)},
			{"zone", "UTC"},
		}
	}
	return r
}

// each calls do for every row that is shown.
func (t *triage) each(do func(*view.TriageRow)) {
	for _, rows := range [][]*view.TriageRow{t.Rows, t.Muted} {
		for _, r := range rows {
			do(r)
		}
	}
}

// readRuns reads when the next runs are due, and the latest runs that failed.
func (t *triage) readRuns() error {
	var missing []uuid.UUID
	t.each(func(r *view.TriageRow) {
		if _, known := t.runs[r.Schedule]; !known && r.Schedule != uuid.Nil {
			missing = append(missing, r.Schedule)
		}
	})
	if len(missing) > 0 {
		found, err := t.call.server.Service.Runs(t.call.r.Context(), t.call.owner(), missing, 2)
		if err != nil {
			return err
		}
		for id, runs := range found {
			t.runs[id] = runs
		}
	}
	t.each(func(r *view.TriageRow) {
		for i, run := range t.runs[r.Schedule] {
			switch {
			case i == 0 && run.State == job.Executing:
				r.Running = true
			case i == 0 && !run.State.Final():
				r.Next = run.DueAt
			case run.State == job.Discarded && r.Sample == 0 && r.Failing > 0:
				r.Sample = run.Number
			}
		}
	})
	return nil
}

// readCauses reads why the latest jobs failed.
func (t *triage) readCauses() error {
	var numbers []int64
	t.each(func(r *view.TriageRow) {
		if r.Sample > 0 {
			numbers = append(numbers, r.Sample)
		}
		if f := t.failed[subject{r.Schedule, r.Host}]; f != nil && r.Failing == 0 {
			numbers = append(numbers, f.latest...)
		}
	})
	if len(numbers) == 0 {
		return nil
	}
	found, err := t.call.server.Service.JobFailures(t.call.r.Context(), t.call.owner(), numbers)
	t.each(func(r *view.TriageRow) {
		if last := found[r.Sample]; !ui.IsStatus(last.Cause) { // the cause says it all
			r.Message = last.Message
		}
		if f := t.failed[subject{r.Schedule, r.Host}]; f != nil && r.Failing == 0 {
			r.Causes = causesOf(f.latest, found)
		}
	})
	return err
}

// causesOf returns the causes of jobs in words, the most frequent first.
func causesOf(numbers []int64, found map[int64]job.LastFailure) []string {
	counts := map[string]int{}
	var causes []string
	for _, n := range numbers {
		words := ui.Cause(found[n].Cause)
		if counts[words]++; counts[words] == 1 {
			causes = append(causes, words)
		}
	}
	slices.SortStableFunc(causes, func(a, b string) int { return counts[b] - counts[a] })
	return causes
}
