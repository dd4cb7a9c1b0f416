package dashboard

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
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
	query.Tags = parameters.Filters(job.OfSchedules).Query.Tags
	filters := filterForm(job.OfSchedules, values, parameters.Problems)
	if len(parameters.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.SchedulesPage(&view.Schedules{Filters: filters}))
	}
	filters.Chips, filters.Clear = c.chips(job.OfSchedules, values, nil), c.clearFilters(job.OfSchedules)
	list := &view.Schedules{Self: c.here("part", "list"), Live: query.AfterID == uuid.Nil, Notice: c.notice(), Filters: filters,
		OnlyFailing: c.param("health") == "failing"}
	if !list.Live {
		list.First = c.here("after", "")
	}
	schedules, err := s.listSchedules(c, list, query)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(schedules))
	for i, one := range schedules {
		ids[i] = one.ID
	}
	runs, err := s.Service.Runs(ctx, c.owner(), ids, view.StripShown+1)
	if err != nil {
		return err
	}
	mutes, err := s.Service.Mutes(ctx, c.owner(), ids)
	if err != nil {
		return err
	}
	for _, one := range schedules {
		list.Rows = append(list.Rows, &view.ScheduleRow{Schedule: one, Spec: job.ReadSpec(one.Args), Runs: runs[one.ID],
			Mute: mutes[one.ID]})
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, view.SchedulesPart(list))
	}
	c.undoPause()
	return c.render(http.StatusOK, view.SchedulesPage(list))
}

// listSchedules reads a page of the list and its tabs. The first page begins with the
// schedules that fail, which later pages omit.
func (s *Server) listSchedules(c *call, list *view.Schedules, query job.ScheduleQuery) ([]*job.Schedule, error) {
	failing, err := s.failing(c)
	if err != nil {
		return nil, err
	}
	count := ui.Count(int64(len(failing.Schedules)))
	if failing.More {
		count += "+"
	}
	list.Tabs = []ui.Tab{
		{Label: "All", Href: c.here("health", "", "after", ""), Current: !list.OnlyFailing},
		{Label: "Failing", Count: count, Href: c.here("health", "failing", "after", ""), Current: list.OnlyFailing},
	}
	if list.OnlyFailing {
		return s.failingPage(c, list, failing.Schedules, query.AfterID)
	}
	page, err := s.Service.Schedules(c.r.Context(), c.owner(), query)
	if err != nil {
		return nil, err
	}
	if page.Next != nil {
		list.Next = c.here("after", page.Next.AfterID.String())
	}
	if len(failing.Schedules) > schedulesShown || len(query.Tags) > 0 {
		// They are too many to be omitted from later pages, or may not match.
		return failingFirst(page.Items), nil
	}
	rest := slices.DeleteFunc(page.Items, func(one *job.Schedule) bool { return one.Live() && one.Failures > 0 })
	if !list.Live {
		return rest, nil
	}
	first, err := s.readSchedules(c, failing.Schedules)
	return append(first, rest...), err
}

// failingFirst moves the schedules that fail to the front.
func failingFirst(schedules []*job.Schedule) []*job.Schedule {
	slices.SortStableFunc(schedules, func(a, b *job.Schedule) int {
		rank := func(one *job.Schedule) int {
			if one.Live() && one.Failures > 0 {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return schedules
}

// failingPage reads a page of the schedules that fail.
func (s *Server) failingPage(c *call, list *view.Schedules, failing []job.FailingSchedule, after uuid.UUID) ([]*job.Schedule, error) {
	if i := slices.IndexFunc(failing, func(f job.FailingSchedule) bool { return f.ID == after }); i >= 0 {
		failing = failing[i+1:]
	}
	if len(failing) > schedulesShown {
		failing = failing[:schedulesShown]
		list.Next = c.here("after", failing[schedulesShown-1].ID.String())
	}
	return s.readSchedules(c, failing)
}

// readSchedules reads schedules that fail. Those that were deleted meanwhile are
// missing.
func (s *Server) readSchedules(c *call, failing []job.FailingSchedule) ([]*job.Schedule, error) {
	var found []*job.Schedule
	for _, f := range failing {
		one, err := s.Service.Schedule(c.r.Context(), c.owner(), f.ID)
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
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
