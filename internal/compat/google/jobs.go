package google

import (
	"strconv"
	"strings"

	"cloud.google.com/go/scheduler/apiv1/schedulerpb"
	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
)

const (
	noJob      = "Job not found."
	alreadyJob = "Job already exists."
)

// jobKey returns the idempotency key of the schedule that is a job.
func jobKey(name string) string { return shortened("cloud-scheduler:" + name) }

// findJob returns the schedule that is a job.
func (c *call) findJob(name string) (*job.Schedule, *schedulerpb.Job, error) {
	if !isJob(name) {
		return nil, nil, invalid("name", jobFormat)
	}
	found, err := c.api.Service.ScheduleHolding(c.ctx, c.Owner, jobKey(name))
	if isNotFound(err) {
		return nil, nil, notFound(noJob)
	}
	if err != nil {
		return nil, nil, err
	}
	j, ok := readJob(found)
	if !ok || j.GetName() != name {
		return nil, nil, notFound(noJob)
	}
	return found, j, nil
}

// latestRuns is how many runs of a schedule are read to show the latest that was
// attempted.
const latestRuns = 2

// completed adds to jobs what their runs say.
func (c *call) completed(schedules []*job.Schedule, jobs []*schedulerpb.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	next, err := c.api.Service.NextRuns(c.ctx, c.Owner, schedules)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(schedules))
	for i, s := range schedules {
		ids[i] = s.ID
	}
	runs, err := c.api.Service.Runs(c.ctx, c.Owner, ids, latestRuns)
	if err != nil {
		return err
	}
	for i, s := range schedules {
		jobs[i].ScheduleTime = stamp(next[i])
		for k := range runs[s.ID] {
			run := &runs[s.ID][k]
			if run.AttemptedAt.IsZero() {
				continue
			}
			jobs[i].LastAttemptTime = stamp(run.AttemptedAt)
			jobs[i].Status = &status.Status{}
			if s.Failures > 0 {
				jobs[i].Status = failureStatus(s.Failure)
			}
			break
		}
	}
	return nil
}

// failureStatus returns why the last run of a schedule failed.
func failureStatus(cause string) *status.Status {
	name := job.FailureName(&job.Failure{Kind: job.Kind(cause)})
	if found, err := strconv.Atoi(cause); err == nil {
		name, cause = job.RPCName(found), "HTTP status code "+cause
	}
	return &status.Status{Code: code.Code_value[name], Message: cause}
}

func (c *call) shownJob(s *job.Schedule) (*schedulerpb.Job, error) {
	j, ok := readJob(s)
	if !ok {
		return nil, notFound(noJob)
	}
	return j, c.completed([]*job.Schedule{s}, []*schedulerpb.Job{j})
}

func (c *call) getJob(r *schedulerpb.GetJobRequest) (*schedulerpb.Job, error) {
	s, _, err := c.findJob(r.GetName())
	if err != nil {
		return nil, err
	}
	return c.shownJob(s)
}

func (c *call) createJob(r *schedulerpb.CreateJobRequest) (*schedulerpb.Job, error) {
	if !isLocation(r.GetParent()) {
		return nil, invalid("parent", locationFormat)
	}
	if r.GetJob() == nil {
		return nil, invalid("job", "job is required")
	}
	given := proto.Clone(r.GetJob()).(*schedulerpb.Job)
	switch name := given.GetName(); {
	case name == "":
		given.Name = r.GetParent() + "/jobs/" + strings.ReplaceAll(uuid.NewString(), "-", "")
	case !isJob(name):
		return nil, invalid("job.name", jobFormat)
	case parentOf(name) != r.GetParent():
		return nil, invalid("job.name", "The job's name must begin with the parent "+r.GetParent())
	}
	body, err := c.api.createJob(given)
	if err != nil {
		return nil, err
	}
	put, err := c.api.Service.PutSchedule(c.ctx, c.Owner, jobKey(given.GetName()), body, service.Match{None: true})
	if err != nil {
		if fault.CodeOf(err) == fault.Stale {
			return nil, exists(alreadyJob)
		}
		return nil, translated(err, jobFields)
	}
	return c.shownJob(put.Schedule)
}

func (c *call) updateJob(r *schedulerpb.UpdateJobRequest) (*schedulerpb.Job, error) {
	if r.GetJob() == nil {
		return nil, invalid("job", "job is required")
	}
	s, changed, err := c.findJob(r.GetJob().GetName())
	if err != nil {
		return nil, err
	}
	err = masked(changed, r.GetJob(), r.GetUpdateMask(), "name", "state", "status", "user_update_time", "schedule_time",
		"last_attempt_time", "satisfies_pzs")
	if err != nil {
		return nil, err
	}
	body, err := c.api.createJob(changed)
	if err != nil {
		return nil, err
	}
	updated, err := c.api.Service.ReplaceSchedule(c.ctx, c.Owner, s.ID, body, service.Match{Given: true, Revisions: []int64{s.Revision}})
	if err != nil {
		return nil, translated(err, jobFields)
	}
	return c.shownJob(updated)
}

func (c *call) deleteJob(r *schedulerpb.DeleteJobRequest) (*emptypb.Empty, error) {
	s, _, err := c.findJob(r.GetName())
	if err != nil {
		return nil, err
	}
	err = c.api.Service.Delete(c.ctx, c.Owner, s.ID, service.Match{})
	if isNotFound(err) {
		return nil, notFound(noJob)
	}
	return &emptypb.Empty{}, err
}

func (c *call) pauseJob(r *schedulerpb.PauseJobRequest) (*schedulerpb.Job, error) {
	s, j, err := c.findJob(r.GetName())
	if err != nil {
		return nil, err
	}
	if j.GetState() != schedulerpb.Job_ENABLED {
		return nil, precondition("Job.state must be ENABLED for PauseJob.")
	}
	if s, err = c.api.Service.Disable(c.ctx, c.Owner, s.ID, service.Match{}); err != nil {
		return nil, err
	}
	return c.shownJob(s)
}

func (c *call) resumeJob(r *schedulerpb.ResumeJobRequest) (*schedulerpb.Job, error) {
	s, j, err := c.findJob(r.GetName())
	if err != nil {
		return nil, err
	}
	if j.GetState() != schedulerpb.Job_PAUSED {
		return nil, precondition("Job.state must be PAUSED for ResumeJob.")
	}
	if s, err = c.api.Service.Enable(c.ctx, c.Owner, s.ID, service.Match{}); err != nil {
		return nil, err
	}
	return c.shownJob(s)
}

func (c *call) runJob(r *schedulerpb.RunJobRequest) (*schedulerpb.Job, error) {
	s, _, err := c.findJob(r.GetName())
	if err != nil {
		return nil, err
	}
	if _, _, err := c.api.Service.RunSchedule(c.ctx, c.Owner, s.ID); err != nil {
		return nil, err
	}
	if s, err = c.api.Service.Schedule(c.ctx, c.Owner, s.ID); err != nil {
		return nil, err
	}
	return c.shownJob(s)
}

// looked is how many schedules one call of listJobs reads at most: others of the account
// are among them.
const looked = 5000

func (c *call) listJobs(r *schedulerpb.ListJobsRequest) (*schedulerpb.ListJobsResponse, error) {
	if !isLocation(r.GetParent()) {
		return nil, invalid("parent", locationFormat)
	}
	n, err := pageSize(r.GetPageSize(), maxJobs)
	if err != nil {
		return nil, err
	}
	scope := "jobs " + r.GetParent()
	after, err := readToken(r.GetPageToken(), scope)
	if err != nil {
		return nil, err
	}
	q := job.ScheduleQuery{ListQuery: job.ListQuery{Limit: 100}}
	if after != "" {
		if q.AfterID, err = uuid.Parse(after); err != nil {
			return nil, invalid("page_token", "page_token is not one of this list")
		}
	}
	var schedules []*job.Schedule
	response := &schedulerpb.ListJobsResponse{}
	for read := 0; read < looked; read += q.Limit {
		found, err := c.api.Service.Schedules(c.ctx, c.Owner, q)
		if err != nil {
			return nil, err
		}
		for i, s := range found.Items {
			if j, ok := readJob(s); ok && parentOf(j.GetName()) == r.GetParent() {
				schedules, response.Jobs = append(schedules, s), append(response.Jobs, j)
			}
			if len(schedules) == n && (found.Next != nil || i < len(found.Items)-1) {
				response.NextPageToken = tokenOf(s.ID.String(), scope)
				return response, c.completed(schedules, response.Jobs)
			}
		}
		if found.Next == nil {
			return response, c.completed(schedules, response.Jobs)
		}
		q.ListQuery = *found.Next
	}
	response.NextPageToken = tokenOf(q.AfterID.String(), scope)
	return response, c.completed(schedules, response.Jobs)
}
