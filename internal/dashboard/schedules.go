package dashboard

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
)

var scheduleRoutes = []route{
	{"/schedules", forMembers, map[string]handler{"GET": (*Server).schedules}},
	{"/schedules/{schedule_id}", forMembers, map[string]handler{"GET": (*Server).schedule}},
	{"/schedules/{schedule_id}/run", forMembers, map[string]handler{"POST": (*Server).runSchedule}},
	{"/schedules/{schedule_id}/state", forMembers, map[string]handler{"GET": (*Server).rawState, "POST": (*Server).saveState}},
	{"/schedules/{schedule_id}/clear", forMembers, map[string]handler{"POST": (*Server).clearState}},
	{"/schedules/{schedule_id}/enable", forMembers, map[string]handler{"POST": (*Server).enableSchedule}},
	{"/schedules/{schedule_id}/disable", forMembers, map[string]handler{"POST": (*Server).disableSchedule}},
	{"/schedules/{schedule_id}/mute", forMembers, map[string]handler{"POST": (*Server).muteSchedule}},
	{"/schedules/{schedule_id}/unmute", forMembers, map[string]handler{"POST": (*Server).unmuteSchedule}},
	{"/schedules/{schedule_id}/delete", forMembers, map[string]handler{"POST": (*Server).deleteSchedule}},
}

var noSchedule = fault.NoSuch("schedule")

// schedulesShown is how many schedules a page of the list has.
const schedulesShown = 20

func (s *Server) schedules(c *call) error {
	if c.r.URL.Query().Has(queryParameter) {
		return c.followScheduleQuery()
	}
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
	query.Tags = parameters.Filters(job.OfSchedules).Query.Tags
	filters := filterForm(job.OfSchedules, values, parameters.Problems)
	if len(parameters.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.SchedulesPage(&view.Schedules{Filters: filters}))
	}
	filters.Chips, filters.Clear = c.chips(job.OfSchedules, values, nil), c.clearFilters(job.OfSchedules)
	list := &view.Schedules{Self: c.here("part", "list"), Notice: c.notice(), Filters: filters,
		OnlyFailing: c.param("health") == "failing", Search: c.param("q"), Order: c.scheduleOrder()}
	if len(list.Search) > maxSearch {
		return fault.New(fault.Invalid, "A search may have at most 300 bytes.")
	}
	list.Query = scheduleQuery(list.Search, query.Tags)
	if list.Live = query.AfterID == uuid.Nil && c.scheduleOffset() == 0; !list.Live {
		list.First = c.here("after", "", "offset", "")
	}
	if err := s.readScheduleRows(c, list, query); err != nil {
		return err
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, view.SchedulesPart(list))
	}
	c.undoPause()
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

// backTo redirects to where the schedule was changed: the overview, the list or its page.
func (c *call) backTo(id uuid.UUID, done string) error {
	c.rememberUndo(done, id.String())
	switch c.r.PostForm.Get("from") {
	case "overview":
		return c.redirect("/?done=%s", done)
	case "list":
		return c.redirect("/schedules?done=%s", done)
	}
	return c.redirect("/schedules/%s?done=%s", id, done)
}

func (s *Server) enableSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, err := s.Service.Enable(c.r.Context(), c.owner(), id, service.Match{}); err != nil {
		return err
	}
	return c.backTo(id, "enabled")
}

func (s *Server) disableSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, err := s.Service.Disable(c.r.Context(), c.owner(), id, service.Match{}); err != nil {
		return err
	}
	return c.backTo(id, "disabled")
}

func (s *Server) deleteSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if err := s.Service.Delete(c.r.Context(), c.owner(), id, service.Match{}); err != nil {
		return err
	}
	return c.redirect("/schedules?done=deleted")
}
