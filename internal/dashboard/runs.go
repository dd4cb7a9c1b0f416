package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

var runRoutes = []route{
	{"/runs", forSignedIn, map[string]handler{"GET": (*Server).runs}},
	{"/runs/{run_id}", forSignedIn, map[string]handler{"GET": (*Server).run}},
	{"/runs/{run_id}/cancel", forSignedIn, map[string]handler{"POST": (*Server).cancelRun}},
}

const (
	// runsListed is how many runs a page of the list has.
	runsListed = 50
	// runRecords is how many records of a run its page reads, without their bodies.
	runRecords = 1000
	// maxLabel is the greatest length of a label to filter by, in bytes.
	maxLabel = 300
)

func (s *Server) runs(c *call) error {
	list := &view.WorkflowRuns{State: c.param("state"), Label: strings.TrimSpace(c.param("label")), Now: s.Service.Now()}
	state := workflow.StateNamed(list.State)
	if list.State != "" && state == 0 {
		return fault.New(fault.Invalid, "The state must be started, waiting, succeeded, failed or cancelled.")
	}
	if len(list.Label) > maxLabel || !utf8.ValidString(list.Label) {
		return fault.New(fault.Invalid, "The label may have at most 300 bytes.")
	}
	after, ok := service.ReadRunCursor(c.param("after")) // anything else is the first page
	selection := workflow.Selection{State: state, Label: list.Label, Now: list.Now}
	runs, next, err := s.Service.FindRuns(c.r.Context(), c.owner(), after, runsListed, selection.Has)
	if err != nil {
		return err
	}
	list.Runs = runs
	if ok {
		list.First = c.here("after", "")
	}
	if next != nil {
		list.Next = c.here("after", next.String())
	}
	return c.render(http.StatusOK, view.WorkflowRunsPage(list))
}

func (s *Server) run(c *call) error {
	id := c.r.PathValue("run_id")
	r, err := s.Service.Run(c.r.Context(), c.owner(), id)
	if err != nil {
		return noSuchRun(err)
	}
	steps, err := s.Service.RunSteps(c.r.Context(), c.owner(), id, 0, runRecords, workflow.NoBodies)
	if err != nil {
		return err
	}
	d := &view.WorkflowRun{Run: r, Now: s.Service.Now(), Steps: view.NewWaterfall(r, steps, s.Service.Now()), Notice: c.notice()}
	if d.Steps.Next != uuid.Nil {
		next, err := s.Service.Job(c.r.Context(), c.owner(), job.Ref{UUID: d.Steps.Next})
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err == nil {
			d.Steps.Begin(next)
		}
	}
	d.Self = c.href("/runs/%s?part=run", url.PathEscape(id))
	if c.part() == "run" {
		return c.render(http.StatusOK, view.WorkflowRunPart(d))
	}
	return c.render(http.StatusOK, view.WorkflowRunPage(d))
}

func (s *Server) cancelRun(c *call) error {
	id := c.r.PathValue("run_id")
	cancelled, err := s.Service.CancelRun(c.r.Context(), c.owner(), id)
	if err != nil {
		return noSuchRun(err)
	}
	done := "runended"
	if cancelled {
		done = "runcancelled"
	}
	return c.redirect("/runs/%s?done=%s", url.PathEscape(id), done)
}

// noSuchRun returns the error for a page whose run does not exist.
func noSuchRun(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return fault.NoSuch("workflow run")
	}
	return err
}
