package dashboard

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// readDueTime reads another due time for a job. problem completes "When …".
func (c *call) readDueTime(text string, now time.Time) (timing naturaltime.Timing, problem string) {
	timing, problem = readWhen(text, c.r.PostFormValue("zone"), now)
	if problem == "" && (timing.Every != nil || timing.Cron != "") {
		problem = "is a recurrence; an existing job can only get another due time"
	}
	return timing, problem
}

// previewReschedule shows what another due time for a job changes, and changes nothing.
func (s *Server) previewReschedule(c *call) error {
	d := &view.Job{When: c.r.PostFormValue("when")}
	live := c.r.Header.Get("HX-Request") != ""
	if !live {
		whole, err := s.readJob(c)
		if err != nil {
			return err
		}
		whole.When = d.When
		d = whole
	}
	d.Live = live
	if err := s.readRescheduled(c, d); err != nil {
		return err
	}
	if live {
		return c.render(http.StatusOK, view.ReschedulePart(d))
	}
	status := http.StatusOK
	if d.WhenProblem != "" {
		status = http.StatusUnprocessableEntity
	}
	return c.render(status, view.JobPage(d))
}

// readRescheduled finds out what the time that was entered changes.
func (s *Server) readRescheduled(c *call, d *view.Job) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	j, err := s.Service.Job(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	now := s.Service.Now()
	timing, problem := c.readDueTime(d.When, now)
	to, ok := timing.Once(now)
	switch {
	case d.When == "" && d.Live:
		return nil
	case problem != "":
		d.WhenProblem = problem
		return nil
	case !ok || to.Sub(now) > job.MaxAhead:
		d.WhenProblem = "is too far away"
		return nil
	}
	d.Reschedule = &view.Reschedule{Job: j, To: to.Truncate(time.Microsecond), Schedule: j.ScheduleID != uuid.Nil}
	if spec := job.ReadSpec(j.Args); spec.ExpiresIn != nil {
		d.Reschedule.Expires = d.Reschedule.To.Add(*spec.ExpiresIn)
	}
	if !d.Reschedule.Schedule {
		return nil
	}
	one, err := s.Service.Schedule(c.r.Context(), c.owner(), j.ScheduleID)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		d.Reschedule.Schedule = false
		return nil
	case err != nil:
		return err
	}
	grid, spec := one.Grid()
	if grid != nil && to.After(j.ScheduledAt) {
		d.Reschedule.Passed = int(min(grid.Count(j.ScheduledAt, to), view.MostPassed))
	}
	if grid != nil && spec.CatchUp == job.CatchUpNone {
		next, expires := grid.Next(time.Time{}, schedule.Later(d.Reschedule.To, now)), d.Reschedule.Expires
		if !next.IsZero() && (expires.IsZero() || next.Before(expires)) {
			d.Reschedule.Expires = next
		}
	}
	return nil
}
