package storetest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var summaryTests = group{
	"RunsEqualModel":       glanceRuns,
	"DueSoonestFirst":      glanceDue,
	"DueLooksAtSoMany":     glanceDuePartly,
	"FailedEqualsModel":    glanceFailed,
	"FailedHasTheCause":    failuresCause,
	"SchedulesFailing":     schedulesFailing,
	"SchedulesNamed":       schedulesNamed,
	"ScheduleNames":        scheduleNames,
	"JobOrigins":           jobOrigins,
	"JobsAhead":            jobsAhead,
	"SchedulesDue":         schedulesDue,
	"SchedulesDuePartly":   schedulesDuePartly,
	"BeganIsTheFirstBegin": summaryStartedAt,
}

func showSummary(g job.RunSummary) string {
	return fmt.Sprintf("%d %s scheduled %s due %s began %s attempted %s ended %s", g.Number, g.State,
		moment(g.ScheduledAt), moment(g.DueAt), moment(g.StartedAt), moment(g.AttemptedAt), moment(g.EndedAt))
}

// formatSummaries formats the summaries of a schedule's runs.
func (m *model) formatSummaries(owner job.Owner, schedule uuid.UUID, limit int) []job.RunSummary {
	var formatSummaries []job.RunSummary
	for _, j := range slices.Backward(m.jobs) {
		if j.ScheduleID != schedule || j.Owner != owner || len(formatSummaries) == limit {
			continue
		}
		g := job.RunSummary{Number: j.Number, State: j.State, ScheduledAt: j.ScheduledAt, DueAt: j.DueAt, AttemptedAt: j.AttemptedAt}
		for _, end := range []time.Time{j.CompletedAt, j.CancelledAt, j.DiscardedAt} {
			if !end.IsZero() {
				g.EndedAt = end
			}
		}
		for _, l := range m.logs {
			if l.Job == j.Number && l.Event == job.EventRequest && (g.StartedAt.IsZero() || l.InsertedAt.Before(g.StartedAt)) {
				g.StartedAt = l.InsertedAt
			}
		}
		formatSummaries = append(formatSummaries, g)
	}
	return formatSummaries
}

func glanceRuns(w *world) {
	m := w.populate(120)
	ids := []uuid.UUID{uuid.New()}
	for _, s := range m.schedules {
		ids = append(ids, s.ID)
	}
	for _, limit := range []int{1, 3, 1000} {
		got, err := w.s.ScheduleRuns(w.ctx, w.owner, ids, limit)
		w.ok("ScheduleRuns", err)
		for _, id := range ids {
			w.same(fmt.Sprintf("the last %d runs", limit), show(got[id], showSummary),
				show(m.formatSummaries(w.owner, id, limit), showSummary))
		}
	}
	if got, err := w.s.ScheduleRuns(w.ctx, w.owner, nil, 3); err != nil || len(got) != 0 {
		w.Errorf("of no schedules: %v, %v", got, err)
	}
}

// summaryStartedAt: StartedAt is the start of the first attempt, also after a retry.
func summaryStartedAt(w *world) {
	j := w.insertOne(w.recurring(w.owner, w.past()))
	j = w.settle(j, w.retries(w.past()))
	second := w.claimOf(j, w.now)
	w.claim(second)
	got, err := w.s.ScheduleRuns(w.ctx, w.owner, []uuid.UUID{j.ScheduleID}, 1)
	w.ok("ScheduleRuns", err)
	if g := got[j.ScheduleID]; len(g) != 1 || !g[0].StartedAt.Equal(w.past()) || !g[0].AttemptedAt.Equal(second.StartAt) ||
		g[0].State != job.Executing {
		w.Errorf("the run is %s", show(g, showSummary))
	}
	ahead := w.insertOne(w.recurring(w.owner, w.past()))
	w.claim(w.claimOf(ahead, w.ahead()))
	got, err = w.s.ScheduleRuns(w.ctx, w.owner, []uuid.UUID{ahead.ScheduleID}, 1)
	w.ok("ScheduleRuns", err)
	if g := got[ahead.ScheduleID]; len(g) != 1 || !g[0].StartedAt.IsZero() || g[0].State != job.Available {
		w.Errorf("a run that is claimed ahead is %s", show(g, showSummary))
	}
}

func showDue(d *job.DueJobs) string {
	return fmt.Sprintf("%d, partly %v: %s", d.Count, d.Partly, numbers(d.Jobs))
}

func (w *world) due(limit, look int) string {
	w.Helper()
	due, err := w.s.JobsDue(w.ctx, w.owner, w.ahead(), limit, look)
	w.ok("JobsDue", err)
	return showDue(due)
}

func glanceDue(w *world) {
	in := func(owner job.Owner, minutes int) *job.Job {
		return w.insertOne(w.oneOff(owner, w.now.Add(time.Duration(minutes)*time.Minute)))
	}
	w.same("with nothing stored", w.due(10, 100), "0, partly false: ")
	late, soon, sooner := in(w.owner, 59), in(w.owner, 20), in(w.owner, 10)
	in(w.other, 5)
	in(w.owner, -5)
	in(w.owner, 61)
	w.change(in(w.owner, 15), cancel)
	again := w.settle(w.insertOne(w.oneOff(w.owner, w.past())), w.retries(w.now.Add(15*time.Minute)))
	for _, look := range []int{100, 7} { // with the latter, it is the pending jobs that are looked at
		w.same("what is due", w.due(10, look), "4, partly false: "+numbers([]*job.Job{sooner, again, soon, late}))
		w.same("the first two", w.due(2, look), "4, partly false: "+numbers([]*job.Job{sooner, again}))
	}
}

func glanceDuePartly(w *world) {
	var own []*job.Job
	for i := range 8 {
		own = append(own, w.insertOne(w.oneOff(w.owner, w.now.Add(time.Duration(10+i)*time.Minute))))
	}
	w.same("what is due, looking at 4 of 8", w.due(10, 4), "4, partly true: "+numbers(own[:4]))
	w.same("what is due, looking at 9", w.due(3, 9), "8, partly false: "+numbers(own[:3]))
}

func showFailed(f job.FailedJob) string {
	return fmt.Sprintf("%d %s of %s at %s, again %d, inserted %s, discarded %s", f.Number, text(f.Name), f.ScheduleID, f.Host, f.RerunOf,
		moment(f.InsertedAt), moment(f.DiscardedAt))
}

// failed returns what FailedJobs returns of a job.
func failed(j *job.Job) job.FailedJob {
	return job.FailedJob{
		Number: j.Number, Name: j.Name, ScheduleID: j.ScheduleID, Host: job.LabelsOf(j.Args).Host, RerunOf: j.RerunOf,
		InsertedAt: j.InsertedAt, DiscardedAt: j.DiscardedAt,
	}
}

func glanceFailed(w *world) {
	m := w.populate(120)
	for _, since := range []time.Time{w.past(), w.past().Add(3 * time.Microsecond), w.ahead()} {
		for _, limit := range []int{2, 1000} {
			var want []*job.Job
			for _, j := range m.jobs {
				if j.Owner == w.owner && j.State == job.Discarded && !j.DiscardedAt.Before(since) {
					want = append(want, j)
				}
			}
			slices.SortFunc(want, func(a, b *job.Job) int {
				return cmp.Or(b.DiscardedAt.Compare(a.DiscardedAt), cmp.Compare(b.Number, a.Number))
			})
			var all []job.FailedJob
			for _, j := range want[:min(limit, len(want))] {
				all = append(all, failed(j))
			}
			got, err := w.s.FailedJobs(w.ctx, w.owner, since, limit)
			w.ok("FailedJobs", err)
			w.same("what failed since "+moment(since), show(got, showFailed), show(all, showFailed))
		}
	}
}

// failuresCause: the cause is that of the job's last outcome.
func failuresCause(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	for i, text := range []string{`{"kind":"timeout","message":"late"}`, `{"status":503,"headers":{}}`} {
		l := w.log(j, []string{job.EventError, job.EventResponse}[i], w.ahead().Add(time.Duration(i)*time.Minute))
		l.Payload = rawjson.Value(text)
		w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{l}} })
	}
	w.settle(j, w.discards)
	got, err := w.s.JobFailures(w.ctx, w.owner, []int64{j.Number})
	w.ok("JobFailures", err)
	if f := got[j.Number]; f.Cause != "503" {
		w.Errorf("the failure is %+v", f)
	}
}

// jobOrigins: of the owner's jobs in any state, with what they repeat.
func jobOrigins(w *world) {
	j, theirs := w.insertOne(w.oneOff(w.owner, w.ahead())), w.insertOne(w.oneOff(w.other, w.ahead()))
	n := w.oneOff(w.owner, w.ahead())
	n.Job.RerunOf = j.Number
	again := w.insertOne(n)
	got, err := w.s.JobOrigins(w.ctx, w.owner, []int64{again.Number, theirs.Number, j.Number, 1 << 40})
	w.ok("JobOrigins", err)
	slices.SortFunc(got, func(a, b job.FailedJob) int { return cmp.Compare(a.Number, b.Number) })
	w.same("the origins", show(got, showFailed), show([]job.FailedJob{failed(j), failed(again)}, showFailed))
}

// schedulesFailing: enabled schedules with failures, those that fail longest first.
func schedulesFailing(w *world) {
	since := []int{30, 10, 0, 20, 5}
	var ids []uuid.UUID
	for i, minutes := range since {
		n := w.recurring(w.owner, w.ahead())
		w.insertOne(n)
		ids = append(ids, n.Schedule.ID)
		_, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
			s := *m.Schedule
			if minutes > 0 {
				s.Failures, s.FailingSince, s.Failure = int64(minutes), w.past().Add(time.Duration(minutes)*time.Minute), "500"
			}
			if i == 4 {
				s.DisabledAt = w.now
			}
			return &store.Changes{Schedule: &s}
		})
		w.ok("ScheduleChange", err)
	}
	format := func(f job.FailingSchedule) string {
		return fmt.Sprintf("%s %d since %s: %s", f.ID, f.Failures, moment(f.Since), f.Cause)
	}
	var want []job.FailingSchedule
	for _, i := range []int{1, 3, 0} {
		want = append(want, job.FailingSchedule{ID: ids[i], Failures: int64(since[i]),
			Since: w.past().Add(time.Duration(since[i]) * time.Minute), Cause: "500"})
	}
	for _, limit := range []int{2, 10} {
		got, err := w.s.SchedulesFailing(w.ctx, w.owner, limit)
		w.ok("SchedulesFailing", err)
		w.same("what fails", show(got, format), show(want[:min(limit, 3)], format))
	}
	if got, err := w.s.SchedulesFailing(w.ctx, w.other, 10); err != nil || len(got) != 0 {
		w.Errorf("another's schedules: %v, %v", got, err)
	}
}

func schedulesNamed(w *world) {
	insert := func(owner job.Owner, name string) uuid.UUID {
		n := w.recurring(owner, w.ahead())
		n.Job.Name, n.Schedule.Name = &name, &name
		return w.insertOne(n).ScheduleID
	}
	var ids []uuid.UUID
	for _, name := range []string{"a", "b", "a", "A"} {
		ids = append(ids, insert(w.owner, name))
	}
	theirs := insert(w.other, "a")
	wanted := []uuid.UUID{ids[0], ids[2]}
	slices.SortFunc(wanted, func(a, b uuid.UUID) int { return bytes.Compare(b[:], a[:]) })
	for _, limit := range []int{1, 10} {
		got, err := w.s.SchedulesNamed(w.ctx, w.owner, "a", limit)
		w.ok("SchedulesNamed", err)
		w.same("the schedules", show(got, uuid.UUID.String), show(wanted[:min(limit, 2)], uuid.UUID.String))
	}
	got, err := w.s.SchedulesNamed(w.ctx, w.other, "a", 10)
	w.ok("SchedulesNamed", err)
	w.same("another's schedules", show(got, uuid.UUID.String), show([]uuid.UUID{theirs}, uuid.UUID.String))
}

func scheduleNames(w *world) {
	insert := func(owner job.Owner, name *string) uuid.UUID {
		n := w.recurring(owner, w.ahead())
		n.Job.Name, n.Schedule.Name = name, name
		return w.insertOne(n).ScheduleID
	}
	one, none, theirs := insert(w.owner, new("one")), insert(w.owner, nil), insert(w.other, new("theirs"))
	names, err := w.s.ScheduleNames(w.ctx, w.owner, []uuid.UUID{none, theirs, one, uuid.New(), one})
	w.ok("ScheduleNames", err)
	w.same("schedules", strconv.Itoa(len(names)), "2")
	found, known := names[none]
	w.same("the schedule without a name", strconv.FormatBool(known && found == nil), "true")
	if found = names[one]; found == nil || *found != "one" {
		w.Errorf("the name is %v, want one", found)
	}
	names, err = w.s.ScheduleNames(w.ctx, w.owner, nil)
	w.ok("ScheduleNames of none", err)
	w.same("no schedules", strconv.Itoa(len(names)), "0")
}
