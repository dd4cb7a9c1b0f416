package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// cancelJob cancels one job.
func (s *Server) cancelJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	before, err := s.Service.Job(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	j, err := s.Service.Cancel(c.r.Context(), c.owner(), id, service.Match{})
	if err != nil {
		return err
	}
	c.rememberCancelled(before, j)
	done := "cancelled"
	if before.State.Final() {
		done = "final"
	}
	return c.redirect("/jobs/%d?done=%s", j.Number, done)
}

const (
	// maxSelected is the maximum number of jobs that one request cancels.
	maxSelected = 100
	// clockTolerance is how far the clock of a transaction may be behind this node's
	// view of it, when what a request has cancelled is counted.
	clockTolerance = time.Second
)

// cancelJobs cancels the jobs that were selected in the list.
func (s *Server) cancelJobs(c *call) error {
	selected := c.r.PostForm["job"]
	if len(selected) == 0 {
		return c.backToJobs("none")
	}
	if len(selected) > maxSelected {
		return fault.New(fault.Invalid, "At most 100 jobs can be cancelled at once.")
	}
	ids := make([]job.Ref, len(selected))
	for i, text := range selected {
		var ok bool
		if ids[i], ok = job.ParseRef(text); !ok {
			return noJob
		}
	}
	n, err := s.cancelAll(c, ids)
	if err != nil {
		return err
	}
	return c.backToJobs("selected", "count", strconv.Itoa(n))
}

// cancelAll cancels jobs and returns how many were unfinished.
func (s *Server) cancelAll(c *call, ids []job.Ref) (int, error) {
	since := s.Service.Now().Add(-clockTolerance)
	jobs, err := s.Service.CancelMany(c.r.Context(), c.owner(), ids)
	if err != nil {
		return 0, err
	}
	cancelled := map[int64]bool{}
	for _, j := range jobs {
		if j.State == job.Cancelled && j.CancelledAt.After(since) {
			cancelled[j.Number] = true
		}
	}
	return len(cancelled), nil
}

// backToJobs redirects to the list with the filters that it had, and with further
// parameters.
func (c *call) backToJobs(done string, more ...string) error {
	values, _ := tidy(c.r.URL.Query())
	values.Del("after")
	values.Set("done", done)
	for i := 0; i+1 < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return c.redirect("%s", "/jobs?"+values.Encode())
}

// runJob starts a pending job's next attempt now.
func (s *Server) runJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	j, err := s.Service.RunNow(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	return c.redirect("/jobs/%d?done=sooner", j.Number)
}

// rerunJob creates a new job with the same request, due now or at the time given.
func (s *Server) rerunJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	body, done := rawjson.Value(`{}`), "again"
	if at := c.r.PostFormValue("at"); at != "" {
		body, done = rawjson.Object([]rawjson.Member{{Name: "scheduled_at", Value: rawjson.Quote(at)}}), "recreated"
	}
	j, _, err := s.Service.Rerun(c.r.Context(), c.owner(), id, body, nil)
	if err != nil {
		return err
	}
	return c.redirect("/jobs/%d?done=%s", j.Number, done)
}

// rescheduleJob changes the due time of a pending job.
func (s *Server) rescheduleJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	text := c.r.PostFormValue("when")
	timing, problem := c.readDueTime(text, s.Service.Now())
	if problem == "" {
		members := timing.Members()
		if len(members) == 0 {
			members = []rawjson.Member{{Name: "schedule_in", Value: rawjson.Value(`0`)}}
		}
		was, err := s.Service.Job(c.r.Context(), c.owner(), id)
		if err != nil {
			return err
		}
		undo := job.FormatTime(was.ScheduledAt)
		j, err := s.Service.EditJob(c.r.Context(), c.owner(), id, rawjson.Object(members), service.Match{})
		if err == nil {
			c.rememberUndo("rescheduled", strconv.FormatInt(j.Number, 10), undo)
			return c.redirect("/jobs/%d?done=rescheduled", j.Number)
		}
		if fault.CodeOf(err) != fault.Invalid {
			return err
		}
		if problem = timingProblem(err); problem == "" {
			problem = "can't be changed: " + err.Error()
		}
	}
	d, err := s.readJob(c)
	if err != nil {
		return err
	}
	d.When, d.WhenProblem = text, problem
	return c.render(http.StatusUnprocessableEntity, view.JobPage(d))
}
