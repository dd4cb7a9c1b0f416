package dashboard

import (
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

var scheduleRoutes = []route{
	{"/schedules", forMembers, map[string]handler{"GET": (*Server).schedules}},
	{"/schedules/{schedule_id}", forMembers, map[string]handler{"GET": (*Server).schedule}},
	{"/schedules/{schedule_id}/run", forMembers, map[string]handler{"POST": (*Server).runSchedule}},
	{"/schedules/{schedule_id}/state", forMembers, map[string]handler{"GET": (*Server).rawState, "POST": (*Server).saveState}},
	{"/schedules/{schedule_id}/clear", forMembers, map[string]handler{"POST": (*Server).clearState}},
	{"/schedules/{schedule_id}/enable", forMembers, map[string]handler{"POST": (*Server).enableSchedule}},
	{"/schedules/{schedule_id}/disable", forMembers, map[string]handler{"POST": (*Server).disableSchedule}},
	{"/schedules/{schedule_id}/delete", forMembers, map[string]handler{"POST": (*Server).deleteSchedule}},
}

var noSchedule = fault.NoSuch("schedule")

// schedulesShown is how many schedules a page of the list has.
const schedulesShown = 20

func (s *Server) schedules(c *call) error {
	ctx := c.r.Context()
	query := job.ScheduleQuery{ListQuery: job.ListQuery{Limit: schedulesShown}}
	query.AfterID, _ = job.ParseID(c.param("after")) // anything else is the first page
	values, changed := tidy(c.r.URL.Query())
	if len(values.Encode()) > maxFilters {
		return fault.New(fault.Invalid, "The filters may have at most 1,500 bytes.")
	}
	if changed && c.part() == "" {
		return c.redirectHere(values)
	}
	parameters := job.Parameters{Values: values}
	query.Tags = parameters.Tags()
	filters := filterForm(url.Values{"tag": values["tag"]}, parameters.Problems)
	if len(parameters.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.SchedulesPage(&view.Schedules{Filters: filters}))
	}
	filters.Chips, filters.Clear = c.chips(url.Values{"tag": values["tag"]}, nil), c.clearFilters()
	page, err := s.Service.Schedules(ctx, c.owner(), query)
	if err != nil {
		return err
	}
	list := &view.Schedules{Self: c.here("part", "list"), Live: query.AfterID == uuid.Nil, Notice: c.notice(), Filters: filters}
	if !list.Live {
		list.First = c.here("after", "")
	}
	if page.Next != nil {
		list.Next = c.here("after", page.Next.AfterID.String())
	}
	ids := make([]uuid.UUID, len(page.Items))
	for i, one := range page.Items {
		ids[i] = one.ID
	}
	runs, err := s.Service.Runs(ctx, c.owner(), ids, view.StripShown+1)
	if err != nil {
		return err
	}
	for _, one := range page.Items {
		list.Rows = append(list.Rows, &view.ScheduleRow{Schedule: one, Spec: job.ReadSpec(one.Args), Runs: runs[one.ID]})
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, view.SchedulesPart(list))
	}
	return c.render(http.StatusOK, view.SchedulesPage(list))
}

// scheduleID parses the schedule in the path.
func (c *call) scheduleID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("schedule_id"))
	if !ok || id == uuid.Nil {
		return id, noSchedule
	}
	return id, nil
}

// backTo redirects to where the schedule was changed: the list or its page.
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
	if _, err := s.Service.Enable(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.backTo(id, "enabled")
}

func (s *Server) disableSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, err := s.Service.Disable(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.backTo(id, "disabled")
}

func (s *Server) deleteSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if err := s.Service.Delete(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.redirect("/schedules?done=deleted")
}
