package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// cancelJob cancels one job.
func (s *Server) cancelJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	before, err := s.Store.JobGet(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	j, err := s.Manager.Cancel(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	done := "cancelled"
	if before.State.Final() {
		done = "final"
	}
	return c.redirect("/jobs/%d?done=%s", j.Number, done)
}

// maxPicked is how many jobs may be cancelled at once.
const maxPicked = 100

// cancelJobs cancels the jobs that were picked from a list.
func (s *Server) cancelJobs(c *call) error {
	picked := c.r.PostForm["job"]
	if len(picked) == 0 {
		return c.redirect("/jobs?done=none")
	}
	if len(picked) > maxPicked {
		return fault.New(fault.Invalid, "At most 100 jobs can be cancelled at once.")
	}
	ids := make([]store.JobID, len(picked))
	for i, text := range picked {
		var ok bool
		if ids[i], ok = job.ParseRef(text); !ok {
			return noJob
		}
	}
	if _, err := s.Manager.CancelMany(c.r.Context(), c.owner(), ids); err != nil {
		return err
	}
	return c.redirect("/jobs?done=picked")
}

// runJob makes a pending job's next attempt now.
func (s *Server) runJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	j, err := s.Manager.RunNow(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	return c.redirect("/jobs/%d?done=sooner", j.Number)
}

// rerunJob makes a new job with the same request.
func (s *Server) rerunJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	j, err := s.Manager.Rerun(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	return c.redirect("/jobs/%d?done=again", j.Number)
}

// retimeJob gives a job that waits another due time.
func (s *Server) retimeJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	text := c.r.PostFormValue("when")
	timing, why := readWhen(text, c.r.PostFormValue("zone"), s.Store.Now())
	switch {
	case why != "":
	case timing.Every != nil || timing.Cron != "":
		why = "is a recurrence; a job that exists can only get another time"
	default:
		members := timing.Members()
		if len(members) == 0 {
			members = []rawjson.Member{{Name: "schedule_in", Value: rawjson.Value(`0`)}}
		}
		j, err := s.Manager.Reschedule(c.r.Context(), c.owner(), id, rawjson.Object(members))
		if err == nil {
			return c.redirect("/jobs/%d?done=moved", j.Number)
		}
		if why = timingProblem(err); why == "" {
			return err
		}
	}
	d, err := s.readJob(c)
	if err != nil {
		return err
	}
	d.whenText, d.whenWhy = text, why
	return c.render(http.StatusUnprocessableEntity, jobPage(d))
}
