package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

func showDueSchedule(d job.DueSchedule) string {
	return fmt.Sprintf("%s %s due %s", d.ID, text(d.Name), moment(d.DueAt))
}

// dueSchedule creates a schedule whose first run is due in so many minutes.
func (w *world) dueSchedule(owner job.Owner, minutes int) job.DueSchedule {
	w.Helper()
	n := w.recurring(owner, w.now.Add(time.Duration(minutes)*time.Minute))
	j := w.insertOne(n)
	return job.DueSchedule{ID: j.ScheduleID, Name: n.Schedule.Name, DueAt: j.DueAt}
}

func (w *world) wantSchedulesDue(limit, look int, partly bool, want ...job.DueSchedule) {
	w.Helper()
	got, err := w.s.SchedulesDue(w.ctx, w.owner, limit, look)
	w.ok("SchedulesDue", err)
	w.same(fmt.Sprintf("%d of %d", limit, look), show(got.Schedules, showDueSchedule), show(want, showDueSchedule))
	if got.Partly != partly {
		w.Errorf("%d of %d: partly is %v", limit, look, got.Partly)
	}
}

// holdSchedule makes the run of a schedule wait for a limit.
func (w *world) holdSchedule(d job.DueSchedule) job.DueSchedule {
	w.Helper()
	w.limit("slow", limit.Limit{Paused: true})
	runs, err := w.s.ScheduleRuns(w.ctx, w.owner, []uuid.UUID{d.ID}, 1)
	w.ok("ScheduleRuns", err)
	j, err := w.s.JobGet(w.ctx, w.owner, job.Ref{Number: runs[d.ID][0].Number})
	w.ok("JobGet", err)
	w.ok("LimitHold", w.s.LimitHold(w.ctx, []store.HeldItem{{QueueKey: *w.queued(j), Keys: []string{"slow"}}}))
	runs, err = w.s.ScheduleRuns(w.ctx, w.owner, []uuid.UUID{d.ID}, 1)
	w.ok("ScheduleRuns", err)
	w.same("the due time of a held run", moment(runs[d.ID][0].DueAt), moment(d.DueAt))
	return d
}

// schedulesDue: enabled schedules with an unfinished run, the earliest due first.
func schedulesDue(w *world) {
	w.wantSchedulesDue(10, 100, false)
	later, late, soon := w.dueSchedule(w.owner, 500), w.dueSchedule(w.owner, -5), w.dueSchedule(w.owner, 3)
	w.dueSchedule(w.other, 1)
	held := w.holdSchedule(w.dueSchedule(w.owner, 30))
	disabled, ended := w.dueSchedule(w.owner, 2), w.dueSchedule(w.owner, 4)
	_, err := w.s.ScheduleChange(w.ctx, w.owner, disabled.ID, func(m *store.Snapshot) *store.Changes {
		s := *m.Schedule
		s.DisabledAt = w.now
		return &store.Changes{Schedule: &s}
	})
	w.ok("ScheduleChange", err)
	runs, err := w.s.ScheduleRuns(w.ctx, w.owner, []uuid.UUID{ended.ID}, 1)
	w.ok("ScheduleRuns", err)
	j, err := w.s.JobGet(w.ctx, w.owner, job.Ref{Number: runs[ended.ID][0].Number})
	w.ok("JobGet", err)
	w.change(j, cancel)
	w.wantSchedulesDue(10, 100, false, late, soon, held, later)
	w.wantSchedulesDue(2, 100, false, late, soon)
}

// schedulesDuePartly: of more schedules than it reads, it finds those whose runs are
// at the front of the queue.
func schedulesDuePartly(w *world) {
	w.dueSchedule(w.other, 1)
	w.insertOne(w.oneOff(w.owner, w.now.Add(2*time.Minute)))
	first := w.dueSchedule(w.owner, 3)
	for i := range 12 {
		w.dueSchedule(w.owner, 100+i)
	}
	w.dueSchedule(w.owner, 50)
	second := w.dueSchedule(w.owner, 4)
	w.wantSchedulesDue(2, 4, true, first, second)
	if got, err := w.s.SchedulesDue(w.ctx, w.owner, 100, 4); err != nil || len(got.Schedules) < 4 || len(got.Schedules) > 6 {
		w.Errorf("%d schedules were found, %v", len(got.Schedules), err)
	}
}
