package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// schedulesSorted is how many schedules are sorted by what no index has, and
// schedulesLooked how many are read for those that are due next.
const schedulesSorted, schedulesLooked = 100, 500

// The orders of the list, by the values of the parameter order. Without one the
// schedules that fail come first.
const (
	byNextRun  = "next"
	byLateness = "late"
	byName     = "name"
)

// followScheduleQuery leads from what was typed to the list: words that begin with tag:
// are tags, the others are searched for.
func (c *call) followScheduleQuery() error {
	values := url.Values{}
	var texts []string
	for _, word := range strings.Fields(c.param(queryParameter)) {
		if tag, ok := strings.CutPrefix(word, "tag:"); ok {
			values.Add("tag", tag)
		} else {
			texts = append(texts, word)
		}
	}
	if len(texts) > 0 {
		values.Set("q", strings.Join(texts, " "))
	}
	if order := c.scheduleOrder(); order != "" {
		values.Set("order", order)
	}
	http.Redirect(c, c.r, (&url.URL{Path: c.r.URL.Path, RawQuery: values.Encode()}).String(), http.StatusSeeOther)
	return nil
}

// scheduleQuery returns what followScheduleQuery reads.
func scheduleQuery(search string, tags []string) string {
	var words []string
	for _, tag := range tags {
		words = append(words, "tag:"+tag)
	}
	return strings.TrimSpace(strings.Join(words, " ") + " " + search)
}

// scheduleOrder returns the order that the page asks for.
func (c *call) scheduleOrder() string {
	if order := c.param("order"); order == byNextRun || order == byLateness || order == byName {
		return order
	}
	return ""
}

// scheduleOffset returns how many schedules of a sorted list come before the page.
func (c *call) scheduleOffset() int {
	n, _ := strconv.Atoi(c.param("offset")) // anything else is the first page
	return min(max(n, 0), 1_000_000)
}

// scheduleOrders returns the links to the orders of the list.
func (c *call) scheduleOrders(list *view.Schedules) (orders []ui.Tab) {
	for _, o := range [][2]string{{"", "Failing first"}, {byNextRun, "Next run"}, {byLateness, "Lateness"}, {byName, "Name"}} {
		orders = append(orders, ui.Tab{Label: o[1], Href: c.here("order", o[0], "after", "", "offset", ""), Current: list.Order == o[0]})
	}
	return orders
}

// readScheduleRows reads a page of the list.
func (s *Server) readScheduleRows(c *call, list *view.Schedules, query job.ScheduleQuery) error {
	schedules, err := s.listSchedules(c, list, query)
	if err != nil {
		return err
	}
	order := list.Order
	sorted := !list.OnlyFailing && (list.Search != "" || order == byLateness || order == byNextRun && len(query.Tags) > 0)
	rows, err := s.scheduleRows(c, schedules)
	if err != nil {
		return err
	}
	if sorted {
		sortRows(rows, order)
		rows = c.schedulePage(list, rows)
	}
	ids := make([]uuid.UUID, len(rows))
	for i, one := range rows {
		ids[i] = one.ID
	}
	mutes, err := s.Service.Mutes(c.r.Context(), c.owner(), ids)
	for _, one := range rows {
		one.Mute = mutes[one.ID]
	}
	list.Rows = rows
	return err
}

// scheduleRows reads the last runs of schedules.
func (s *Server) scheduleRows(c *call, schedules []*job.Schedule) (rows []*view.ScheduleRow, err error) {
	ids := make([]uuid.UUID, len(schedules))
	for i, one := range schedules {
		ids[i] = one.ID
	}
	runs, err := s.Service.Runs(c.r.Context(), c.owner(), ids, view.StripShown+1)
	for _, one := range schedules {
		rows = append(rows, &view.ScheduleRow{Schedule: one, Spec: job.ReadSpec(one.Args), Runs: runs[one.ID]})
	}
	return rows, err
}

// sortRows sorts schedules that were read together.
func sortRows(rows []*view.ScheduleRow, order string) {
	slices.SortStableFunc(rows, func(a, b *view.ScheduleRow) int {
		switch order {
		case byNextRun:
			return a.CompareNext(b)
		case byLateness:
			return cmp.Compare(b.MedianLateness(), a.MedianLateness())
		case byName:
			return strings.Compare(strings.ToLower(view.ScheduleTitle(a.Schedule)), strings.ToLower(view.ScheduleTitle(b.Schedule)))
		}
		return cmp.Compare(failingRank(a.Schedule), failingRank(b.Schedule))
	})
}

// schedulePage returns a page of schedules that were sorted together.
func (c *call) schedulePage(list *view.Schedules, rows []*view.ScheduleRow) []*view.ScheduleRow {
	at := min(c.scheduleOffset(), len(rows))
	rows = rows[at:]
	if len(rows) > schedulesShown {
		rows = rows[:schedulesShown]
		list.Next = c.here("offset", strconv.Itoa(at+schedulesShown))
	}
	return rows
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
		{Label: "All", Href: c.here("health", "", "after", "", "offset", ""), Current: !list.OnlyFailing},
		{Label: "Failing", Count: count, Current: list.OnlyFailing,
			Href: c.here("health", "failing", "after", "", "offset", "", "order", "", "q", "", "tag", "")},
	}
	if list.OnlyFailing {
		return s.failingPage(c, list, failing.Schedules, query.AfterID)
	}
	list.Orders = c.scheduleOrders(list)
	if list.Search != "" || list.Order != "" {
		return s.orderedSchedules(c, list, query)
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
	slices.SortStableFunc(schedules, func(a, b *job.Schedule) int { return failingRank(a) - failingRank(b) })
	return schedules
}

// failingRank is lower for schedules that fail.
func failingRank(one *job.Schedule) int {
	if one.Live() && one.Failures > 0 {
		return 0
	}
	return 1
}

// orderedSchedules reads the schedules of a search or an order: a page of those that an
// index has in order, else up to 100 that remain to be sorted.
func (s *Server) orderedSchedules(c *call, list *view.Schedules, query job.ScheduleQuery) ([]*job.Schedule, error) {
	ctx, order := c.r.Context(), list.Order
	switch {
	case list.Search != "":
		found, err := s.Service.FindSchedules(ctx, c.owner(), list.Search, schedulesSorted)
		list.Partly = len(found) == schedulesSorted
		return slices.DeleteFunc(found, func(one *job.Schedule) bool {
			has := job.LabelsOf(one.Args).Tags
			return slices.ContainsFunc(query.Tags, func(tag string) bool { return !slices.Contains(has, tag) })
		}), err
	case order == byNextRun && len(query.Tags) == 0:
		return s.dueSchedules(c, list)
	case order == byName:
		query.AfterID, query.Order, query.Offset = uuid.Nil, job.Order{Field: "name"}, c.scheduleOffset()
	default:
		query.AfterID, query.Limit = uuid.Nil, schedulesSorted
	}
	page, err := s.Service.Schedules(ctx, c.owner(), query)
	switch {
	case page.Next == nil:
	case order == byName:
		list.Next = c.here("offset", strconv.Itoa(query.Offset+len(page.Items)))
	default:
		list.Partly = true
	}
	return page.Items, err
}

// dueSchedules reads a page of the schedules that run next, the earliest first.
func (s *Server) dueSchedules(c *call, list *view.Schedules) ([]*job.Schedule, error) {
	due, err := s.Service.SchedulesDue(c.r.Context(), c.owner(), schedulesSorted, schedulesLooked)
	if err != nil {
		return nil, err
	}
	list.Partly = due.Partly || len(due.Schedules) == schedulesSorted
	at := min(c.scheduleOffset(), len(due.Schedules))
	page := due.Schedules[at:]
	if len(page) > schedulesShown {
		page = page[:schedulesShown]
		list.Next = c.here("offset", strconv.Itoa(at+schedulesShown))
	}
	ids := make([]uuid.UUID, len(page))
	for i, one := range page {
		ids[i] = one.ID
	}
	return s.schedulesByID(c, ids)
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

// readSchedules reads schedules that fail.
func (s *Server) readSchedules(c *call, failing []job.FailingSchedule) ([]*job.Schedule, error) {
	ids := make([]uuid.UUID, len(failing))
	for i, one := range failing {
		ids[i] = one.ID
	}
	return s.schedulesByID(c, ids)
}

// schedulesByID reads schedules. Those that were deleted meanwhile are missing.
func (s *Server) schedulesByID(c *call, ids []uuid.UUID) ([]*job.Schedule, error) {
	var found []*job.Schedule
	for _, id := range ids {
		one, err := s.Service.Schedule(c.r.Context(), c.owner(), id)
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
