package dashboard

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var (
	noJob = fault.NoSuch("job")
	noLog = fault.NoSuch("log")
)

// The page of a job shows its newest logs and deliveries. Only a job that was
// interrupted dozens of times has more.
const (
	logsShown       = 100
	deliveriesShown = 30
)

func (s *Server) job(c *call) error {
	d, err := s.readJob(c)
	if err != nil {
		return err
	}
	switch c.part() {
	case "job":
		return c.render(http.StatusOK, view.JobPart(d))
	case "peek":
		return c.render(http.StatusOK, view.JobPeek(d))
	}
	c.undoCancel(d.Job)
	c.undoReschedule(d.Job)
	return c.render(http.StatusOK, view.JobPage(d))
}

func (s *Server) readJob(c *call) (*view.Job, error) {
	ctx := c.r.Context()
	id, err := c.jobID()
	if err != nil {
		return nil, err
	}
	d := &view.Job{Now: s.Service.Now(), Notice: c.notice(), Begun: c.begun()}
	if d.Job, err = s.Service.Job(ctx, c.owner(), id); err != nil {
		return nil, err
	}
	service.ShowOwnDue(d.Job)
	page := c.href("/jobs/%d", d.Job.Number)
	d.Self, d.Hidden = c.partOf(page, "job"), c.newHidden(page)
	d.Job.Args = c.show(d.Job.Args, &d.Hidden)
	d.Spec = job.ReadSpec(d.Job.Args)
	if d.Logs, err = s.jobLogs(c, d.Job.Number, logsShown); err != nil {
		return nil, err
	}
	slices.Reverse(d.Logs)
	for _, l := range d.Logs {
		c.showLog(l, &d.Hidden)
	}
	if d.Deliveries, err = s.Service.Deliveries(ctx, c.owner(), d.Job.Number, deliveriesShown); err != nil {
		return nil, err
	}
	if d.Job.ScheduleID != uuid.Nil {
		d.Schedule, err = s.Service.Schedule(ctx, c.owner(), d.Job.ScheduleID)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	if err := s.readRelations(c, d); err != nil {
		return nil, err
	}
	d.Attempts = view.AttemptsOf(d.Logs)
	d.Because, d.Remedy = s.because(c, d)
	readRequest(d)
	return d, nil
}

// runsAround is how many other runs of a schedule a run is compared with.
const runsAround = 30

// readRelations reads what is derived from other records: what the job waits for, the jobs
// that it repeats or became and that repeat it, and other runs of its schedule.
func (s *Server) readRelations(c *call, d *view.Job) error {
	ctx := c.r.Context()
	details, err := s.Service.JobDetails(ctx, c.owner(), job.Ref{Number: d.Job.Number})
	if err != nil {
		return err
	}
	d.WaitingFor, d.Reruns, d.Children = details.WaitingFor, details.Reruns, details.Children
	if !d.Job.State.Final() {
		d.Completion = details.Completion
	}
	for origin := d.Job.RerunOf; origin != 0 && len(d.Origins) < view.Linked; {
		d.Origins = append(d.Origins, origin)
		before, err := s.Service.Job(ctx, c.owner(), job.Ref{Number: origin})
		if fault.CodeOf(err) == fault.NotFound {
			break
		}
		if err != nil {
			return err
		}
		origin = before.RerunOf
	}
	if d.Group = job.GroupNamed(d.Job.Args); d.Group == "" && d.Job.Parent != 0 {
		run, err := s.Service.Job(ctx, c.owner(), job.Ref{Number: d.Job.Parent})
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err == nil {
			d.Group = job.GroupNamed(run.Args)
		}
	}
	if d.Schedule == nil {
		return nil
	}
	runs, err := s.Service.Runs(ctx, c.owner(), []uuid.UUID{d.Schedule.ID}, runsAround+1)
	d.Around = view.RunLateness(d.Schedule, runs[d.Schedule.ID], d.Job.Number)
	return err
}

// compareAttempts shows two attempts of a job side by side: those at the places a and b,
// or the last one and the one before it.
func (s *Server) compareAttempts(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	d := &view.Comparison{}
	if d.Job, err = s.Service.Job(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	d.Hidden = c.newHidden(c.href("/jobs/%d/compare", d.Job.Number))
	logs, err := s.jobLogs(c, d.Job.Number, logsShown)
	if err != nil {
		return err
	}
	slices.Reverse(logs)
	for _, l := range logs {
		c.showLog(l, &d.Hidden)
	}
	if d.Attempts = view.AttemptsOf(logs); len(d.Attempts) < 2 {
		return fault.New(fault.NotFound, "The job has no two attempts to compare.")
	}
	place := func(name string, usual int) int {
		n, err := strconv.Atoi(c.param(name))
		if err != nil || n < 1 || n > len(d.Attempts) {
			return usual
		}
		return n - 1
	}
	d.Right = place("b", len(d.Attempts)-1)
	d.Left = place("a", max(0, d.Right-1))
	return c.render(http.StatusOK, view.ComparePage(d))
}

// jobLogs returns up to limit logs of a job, newest first.
func (s *Server) jobLogs(c *call, number int64, limit int) ([]*job.Log, error) {
	query := job.LogQuery{Job: &job.Ref{Number: number}, ListQuery: job.ListQuery{Limit: limit}}
	page, err := s.Service.Logs(c.r.Context(), c.owner(), uuid.Nil, query)
	return page.Items, err
}

// readRequest sets the fields of the request: as it was sent last, or as it would
// be sent now.
func readRequest(d *view.Job) {
	o, err := outgoing(d)
	d.Body, d.Curl = o.Body, requestCurl(o)
	if err != nil {
		d.TooLarge = err.Error()
	}
}

// asBytes makes a request that was read from its log one of bytes, if it was.
func asBytes(sent *job.Spec, log *job.Log, spec *job.Spec) {
	switch {
	case rawjson.Get(log.Payload, "encoding") != nil:
		sent.Body, sent.BodyBase64 = nil, sent.Body
	case spec.BodyBase64 != nil && sent.Body.Kind() == '"': // shown as text
		sent.Body, sent.BodyBase64 = nil, rawjson.Quote(base64.StdEncoding.EncodeToString([]byte(rawjson.Text(sent.Body))))
	}
}

// outgoing returns the request and, if it is too large to be sent, an error.
func outgoing(d *view.Job) (*job.Outgoing, error) {
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		if log := d.Attempts[i].Request; log != nil {
			sent := job.ReadSpec(log.Payload)
			sent.Method, sent.Metadata = d.Spec.Method, false
			if rawjson.IsNull(sent.Body) {
				sent.Body = nil
			}
			asBytes(&sent, log, &d.Spec)
			return job.Render(&sent, job.Dynamic{})
		}
	}
	return job.Render(&d.Spec, job.NewDynamic(d.Job.Number, d.Schedule))
}
