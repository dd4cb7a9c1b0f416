package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var jobRoutes = []route{
	{"/jobs", forMembers, map[string]handler{"GET": (*Server).jobs}},
}

// jobList is what the list of jobs shows.
type jobList struct {
	jobs []*job.Job
}

func (s *Server) jobs(c *call) error {
	jobs, err := s.Store.JobList(c.r.Context(), c.owner(), store.JobQuery{ListQuery: store.ListQuery{Limit: 25}})
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, jobsPage(jobList{jobs}, c.notice()))
}
