package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
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
	after, ok := readRunMark(c.param("after")) // anything else is the first page
	runs, next, err := s.Service.FindRuns(c.r.Context(), c.owner(), after, runsListed, func(r *workflow.Run) bool {
		return (state == 0 || r.Shown(list.Now) == state) && (list.Label == "" || slices.Contains(r.LabelList(), list.Label))
	})
	if err != nil {
		return err
	}
	list.Runs = runs
	if ok {
		list.First = c.here("after", "")
	}
	if next != nil {
		list.Next = c.here("after", strconv.FormatInt(next.CreatedAt.UnixMicro(), 10)+"-"+next.ID)
	}
	return c.render(http.StatusOK, view.WorkflowRunsPage(list))
}

// readRunMark reads where a page of the list goes on.
func readRunMark(text string) (mark service.RunMark, ok bool) {
	micros, id, ok := strings.Cut(text, "-")
	n, err := strconv.ParseInt(micros, 10, 64)
	if !ok || err != nil || n < 1 || !workflow.ValidID(id) {
		return service.RunMark{}, false
	}
	return service.RunMark{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, true
}

// runID returns the id of the run in the path.
func (c *call) runID() (string, error) {
	id := c.r.PathValue("run_id")
	if !workflow.ValidID(id) {
		return "", fault.NoSuch("workflow run")
	}
	return id, nil
}

func (s *Server) run(c *call) error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	r, err := s.Service.Run(c.r.Context(), c.owner(), id)
	if err != nil {
		return noSuchRun(err)
	}
	steps, err := s.Service.RunSteps(c.r.Context(), c.owner(), id, 0, runRecords, workflow.NoBodies)
	if err != nil {
		return err
	}
	d := &view.WorkflowRun{Run: r, Now: s.Service.Now(), Steps: view.NewWaterfall(r, steps, s.Service.Now()), Notice: c.notice()}
	d.Self = c.href("/runs/%s?part=run", url.PathEscape(id))
	if c.part() == "run" {
		return c.render(http.StatusOK, view.WorkflowRunPart(d))
	}
	return c.render(http.StatusOK, view.WorkflowRunPage(d))
}

func (s *Server) cancelRun(c *call) error {
	id, err := c.runID()
	if err != nil {
		return err
	}
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
