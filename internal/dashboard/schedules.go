package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

var scheduleRoutes = []route{
	{"/schedules", forMembers, map[string]handler{"GET": (*Server).schedules}},
	{"/schedules/{schedule_id}", forMembers, map[string]handler{"GET": (*Server).schedule}},
	{"/schedules/{schedule_id}/edit", forMembers, map[string]handler{"POST": (*Server).editSchedule}},
	{"/schedules/{schedule_id}/state", forMembers, map[string]handler{"GET": (*Server).rawState, "POST": (*Server).saveState}},
	{"/schedules/{schedule_id}/clear", forMembers, map[string]handler{"POST": (*Server).clearState}},
	{"/schedules/{schedule_id}/enable", forMembers, map[string]handler{"POST": (*Server).enableSchedule}},
	{"/schedules/{schedule_id}/disable", forMembers, map[string]handler{"POST": (*Server).disableSchedule}},
	{"/schedules/{schedule_id}/delete", forMembers, map[string]handler{"POST": (*Server).deleteSchedule}},
}

var noSchedule = fault.NoSuch("schedule")

const (
	schedulesShown = 20
	// stripShown is how many runs the strip of a list shows.
	stripShown = 14
)

// scheduleRow is a schedule with its last runs, the newest first.
type scheduleRow struct {
	*job.Schedule
	spec job.Spec
	runs []store.RunSummary
}

// words say how often it runs.
func (r *scheduleRow) words() string {
	frequency, err := r.spec.Frequency()
	if err != nil {
		return "a frequency that can't be read" // it was read once
	}
	return schedule.Describe(frequency)
}

// next gives the run that is pending; nil when there is none.
func (r *scheduleRow) next() *store.RunSummary {
	if len(r.runs) > 0 && !r.runs[0].State.Final() {
		return &r.runs[0]
	}
	return nil
}

// ended are the last runs that began, or were skipped: all but the one that
// waits for its time.
func (r *scheduleRow) ended() []store.RunSummary {
	if next := r.next(); next != nil && next.State == job.Available {
		return r.runs[1:]
	}
	return r.runs
}

// outcomes are the last runs as marks, oldest first.
func (r *scheduleRow) outcomes(most int) []ui.Outcome {
	runs := r.ended()
	runs = runs[:min(most, len(runs))]
	outcomes := make([]ui.Outcome, len(runs))
	for i, g := range runs {
		outcomes[len(runs)-1-i] = ui.Outcome{State: g.State, At: lastTime(&g)}
	}
	return outcomes
}

// lastTime is when something happened to a run last.
func lastTime(g *store.RunSummary) time.Time {
	for _, t := range []time.Time{g.EndedAt, g.AttemptedAt} {
		if !t.IsZero() {
			return t
		}
	}
	return g.ScheduledAt
}

// duration tells how long a run's last attempt took; false when it has not ended.
func duration(g *store.RunSummary) (time.Duration, bool) {
	if g.State != job.Completed && g.State != job.Discarded || g.AttemptedAt.IsZero() {
		return 0, false
	}
	return g.EndedAt.Sub(g.AttemptedAt), true
}

// scheduleList is what the list of schedules shows.
type scheduleList struct {
	rows        []*scheduleRow
	self        string
	live        bool
	first, next string
	notice      string
}

func (s *Server) schedules(c *call) error {
	ctx := c.r.Context()
	query := store.ListQuery{Limit: schedulesShown + 1}
	query.AfterID, _ = job.ParseID(c.param("after")) // nonsense is the first page
	found, err := s.Store.ScheduleList(ctx, c.owner(), store.ScheduleQuery{ListQuery: query})
	if err != nil {
		return err
	}
	list := &scheduleList{self: c.here("part", "list"), live: query.AfterID == uuid.Nil, notice: c.notice()}
	if !list.live {
		list.first = c.here("after", "")
	}
	found, more := store.Fit(found, schedulesShown, query.Budget(), store.ScheduleSize)
	if more {
		list.next = c.here("after", found[len(found)-1].ID.String())
	}
	ids := make([]uuid.UUID, len(found))
	for i, one := range found {
		ids[i] = one.ID
	}
	runs, err := s.Store.ScheduleRuns(ctx, c.owner(), ids, stripShown+1)
	if err != nil {
		return err
	}
	for _, one := range found {
		list.rows = append(list.rows, &scheduleRow{one, job.ReadSpec(one.Args), runs[one.ID]})
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, schedulesPart(list))
	}
	return c.render(http.StatusOK, schedulesPage(list))
}

// scheduleID reads the schedule an address names.
func (c *call) scheduleID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("schedule_id"))
	if !ok || id == uuid.Nil {
		return id, noSchedule
	}
	return id, nil
}

// backTo leads back to where a schedule was changed: the list or its page.
func (c *call) backTo(id uuid.UUID, done string) error {
	if c.r.PostForm.Get("from") == "list" {
		return c.redirect("/schedules?done=%s", done)
	}
	return c.redirect("/schedules/%s?done=%s", id, done)
}

func (s *Server) enableSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, err := s.Manager.Enable(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.backTo(id, "enabled")
}

func (s *Server) disableSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, err := s.Manager.Disable(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.backTo(id, "disabled")
}

func (s *Server) deleteSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if err := s.Manager.Delete(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.redirect("/schedules?done=deleted")
}

// firstScheduleCurl is a call that works as it stands, but for the key.
func firstScheduleCurl(v *ui.View) string {
	return fmt.Sprintf("curl %s/api/jobs \\\n  -H \"Authorization: Bearer $PUNCTUAL_KEY\" \\\n  -H \"Content-Type: application/json\" \\\n"+
		`  -d '{"url": "https://example.com/report", "cron": "0 9 * * 1-5", "timezone": "Europe/Berlin", "name": "Morning report"}'`, v.Origin)
}
