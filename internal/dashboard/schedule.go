package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"html"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// runsShown is how many runs a page of a schedule lists.
const runsShown = 12

func (s *Server) schedule(c *call) error {
	d, err := s.readSchedule(c)
	if err != nil {
		return err
	}
	switch c.part() {
	case "peek":
		return c.render(http.StatusOK, view.SchedulePeek(d))
	case "head":
		return c.render(http.StatusOK, view.ScheduleHead(d))
	case "runs":
		return c.render(http.StatusOK, view.ScheduleRuns(d))
	case "state":
		return c.render(http.StatusOK, view.ScheduleState(d))
	}
	c.undoPause()
	return c.render(http.StatusOK, view.SchedulePage(d))
}

func (s *Server) readSchedule(c *call) (*view.Schedule, error) {
	ctx := c.r.Context()
	id, err := c.scheduleID()
	if err != nil {
		return nil, err
	}
	found, err := s.Service.Schedule(ctx, c.owner(), id)
	if err != nil {
		return nil, err
	}
	runs, err := s.Service.Runs(ctx, c.owner(), []uuid.UUID{id}, view.PlottedRuns+1)
	if err != nil {
		return nil, err
	}
	mutes, err := s.Service.Mutes(ctx, c.owner(), []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	row := view.ScheduleRow{Schedule: found, Spec: job.ReadSpec(found.Args), Runs: runs[id], Mute: mutes[id]}
	hidden := c.newHidden(c.href("/schedules/%s", id))
	found.Args = c.show(found.Args, &hidden)
	d := &view.Schedule{Hidden: hidden, ScheduleRow: row, Notice: c.notice(), Begun: c.begun(), StateVersion: stateVersion(found)}
	d.Part = c.href("/schedules/%s?part=", id)
	if text := stateText(found); len(html.EscapeString(text)) <= maxEdited {
		d.StateText = text
	}
	return d, s.listRuns(c, d)
}

// listRuns reads the runs that are listed: the newest, or those before one.
func (s *Server) listRuns(c *call, d *view.Schedule) error {
	before, _ := strconv.ParseInt(c.param("before"), 10, 64) // anything else is the first page
	more := len(d.Runs) > runsShown
	if before <= 0 {
		d.Listed = d.Runs[:min(runsShown, len(d.Runs))]
	} else {
		d.Newest = c.here("before", "")
		query := job.Query{Schedule: d.ID, ListQuery: job.ListQuery{Limit: runsShown, After: before}}
		page, err := s.Service.Jobs(c.r.Context(), c.owner(), query)
		if err != nil {
			return err
		}
		more = page.Next != nil
		service.ShowOwnDue(page.Items...)
		for _, j := range page.Items {
			d.Listed = append(d.Listed, summaryOf(j))
		}
	}
	if more {
		d.Older = c.href("/schedules/%s?before=%d", d.ID, d.Listed[len(d.Listed)-1].Number)
	}
	return nil
}

// summaryOf returns the summary of a run from its job.
func summaryOf(j *job.Job) job.RunSummary {
	r := job.RunSummary{Number: j.Number, State: j.State, ScheduledAt: j.ScheduledAt, DueAt: j.DueAt, StartedAt: j.AttemptedAt,
		AttemptedAt: j.AttemptedAt}
	for _, end := range []time.Time{j.CompletedAt, j.CancelledAt, j.DiscardedAt} {
		if !end.IsZero() {
			r.EndedAt = end
		}
	}
	return r
}

// runSchedule makes the pending run now, or one run of a disabled schedule.
func (s *Server) runSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, _, err := s.Service.RunSchedule(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.redirect("/schedules/%s?done=sooner", id)
}

// stateText returns a schedule's $state for the editor.
func stateText(s *job.Schedule) string {
	if s.State == nil {
		return "{}"
	}
	return ui.Pretty(s.State)
}

// stateVersion identifies a $state, so that saving the form does not overwrite what a
// run has set since the form was loaded.
func stateVersion(s *job.Schedule) string {
	sum := sha256.Sum256(s.State)
	return hex.EncodeToString(sum[:8])
}

// maxEdited is the maximum size of a $state, as escaped text, that can be edited in
// the page.
const maxEdited = 24 << 10

// rawState returns a schedule's complete $state, $previous or args as text.
func (s *Server) rawState(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	found, err := s.Service.Schedule(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	text := stateText(found)
	switch c.param("of") {
	case "previous":
		text = ui.Pretty(found.Previous)
	case "args":
		text = ui.Pretty(c.show(found.Args, &view.Hidden{}))
	}
	return c.text(text)
}

func (s *Server) saveState(c *call) error {
	d, err := s.readSchedule(c)
	if err != nil {
		return err
	}
	d.StateText, d.StateOpen = c.r.PostForm.Get("state"), true
	body, err := rawjson.Read([]byte(d.StateText))
	switch {
	case err != nil:
		d.StateProblem = "is not valid JSON: " + err.Error()
	case c.r.PostForm.Get("was") != d.StateVersion:
		d.StateProblem = "has been changed by a run since you opened this page; the current one is shown above. Save again to replace it."
	default:
		_, err = s.Service.SetState(c.r.Context(), c.owner(), d.ID, body, service.Match{})
		if err == nil {
			return c.redirect("/schedules/%s?done=state", d.ID)
		}
		if fault.CodeOf(err) != fault.Invalid {
			return err
		}
		d.StateProblem = view.ProblemAt(err, "#")
	}
	return c.render(http.StatusUnprocessableEntity, view.SchedulePage(d))
}

func (s *Server) clearState(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, err := s.Service.ClearState(c.r.Context(), c.owner(), id, service.Match{}); err != nil {
		return err
	}
	return c.redirect("/schedules/%s?done=cleared", id)
}
