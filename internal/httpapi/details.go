package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

func (s *Server) jobDetails(c *call) error {
	id, err := s.jobID(c)
	if err != nil {
		return err
	}
	d, err := s.Service.JobDetails(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return c.appendJobDetails(b, d) })
}

func (c *call) appendJobDetails(b []byte, d *service.JobDetails) []byte {
	b = c.appendJob(append(b, `{"job":`...), d.Job)
	b = strconv.AppendInt(append(b, `,"revision":`...), d.Job.Revision, 10)
	b = appendEach(append(b, `,"attempts":`...), d.Attempts, appendAttempt)
	b = appendInstant(append(b, `,"next_attempt_at":`...), d.NextAttemptAt)
	b = appendEach(append(b, `,"waiting_for":`...), d.WaitingFor, func(b []byte, key string) []byte { return rawjson.AppendText(b, key) })
	b = append(b, `,"rerun_of":`...)
	if d.Job.RerunOf == 0 {
		b = append(b, `null`...)
	} else {
		b = strconv.AppendInt(b, d.Job.RerunOf, 10)
	}
	b = appendEach(append(b, `,"reruns":`...), d.Reruns, func(b []byte, number int64) []byte { return strconv.AppendInt(b, number, 10) })
	b = job.AppendCompletion(append(b, `,"completion":`...), d.Completion)
	b = append(b, `,"points":`...)
	if d.Points == nil {
		b = append(b, `null`...)
	} else {
		b = strconv.AppendInt(append(b, `{"count":`...), d.Points.Count, 10)
		b = appendInstant(append(b, `,"from":`...), d.Points.From)
		b = append(appendInstant(append(b, `,"to":`...), d.Points.To), '}')
	}
	b = strconv.AppendInt(append(b, `,"deliveries":{"pending":`...), int64(d.Pending), 10)
	b = strconv.AppendInt(append(b, `,"failed":`...), int64(d.Failed), 10)
	b = appendEach(append(b, `},"children":`...), d.Children,
		func(b []byte, number int64) []byte { return strconv.AppendInt(b, number, 10) })
	b = append(b, `,"parent":`...)
	if d.Job.Parent == 0 {
		return append(b, `null}`...)
	}
	return append(strconv.AppendInt(b, d.Job.Parent, 10), '}')
}

func appendAttempt(b []byte, a job.AttemptSummary) []byte {
	b = strconv.AppendInt(append(b, `{"attempt":`...), int64(a.Number), 10)
	b = appendInstant(append(b, `,"started_at":`...), a.StartedAt)
	b = append(b, `,"duration_ms":`...)
	if a.Duration < 0 {
		b = append(b, `null`...)
	} else {
		b = job.AppendMillis(b, a.Duration)
	}
	b = append(b, `,"status":`...)
	if a.Status == 0 {
		b = append(b, `null`...)
	} else {
		b = strconv.AppendInt(b, int64(a.Status), 10)
	}
	b = append(b, `,"error":`...)
	if a.Failure == nil {
		b = append(b, `null`...)
	} else {
		b = append(job.AppendFailure(append(b, '{'), a.Failure), '}')
	}
	return append(appendInstant(append(b, `,"retry_at":`...), a.RetryAt), '}')
}

func (s *Server) scheduleDetails(c *call) error {
	id, err := s.scheduleID(c)
	if err != nil {
		return err
	}
	q := c.query()
	included := q.includes(muteKey)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	d, err := s.Service.ScheduleDetails(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		if b = c.appendScheduleDetails(b, d); included {
			b = append(job.AppendMute(append(b[:len(b)-1], `,"`+muteKey+`":`...), d.Mute), '}')
		}
		return b
	})
}

// muteKey is the key that include adds to a schedule's details.
const muteKey = "mute"

func (c *call) appendScheduleDetails(b []byte, d *service.ScheduleDetails) []byte {
	b = c.appendSchedule(append(b, `{"schedule":`...), d.Schedule)
	b = strconv.AppendInt(append(b, `,"revision":`...), d.Schedule.Revision, 10)
	var first time.Time
	if len(d.Next) > 0 {
		first = d.Next[0]
	}
	b = appendInstant(append(b, `,"next_run_at":`...), first)
	b = appendEach(append(b, `,"next":`...), d.Next, appendInstant)
	b = append(b, `,"last_run":`...)
	if d.LastRun == nil {
		b = append(b, `null`...)
	} else {
		b = c.appendJob(b, d.LastRun)
	}
	b = strconv.AppendInt(append(b, `,"failures_in_a_row":`...), int64(d.FailuresInRow), 10)
	b = append(b, `,"runs_left":`...)
	if d.RunsLeft == nil {
		b = append(b, `null`...)
	} else {
		b = strconv.AppendInt(b, *d.RunsLeft, 10)
	}
	return append(b, '}')
}

func (s *Server) jobRevisions(c *call) error {
	id, err := s.jobID(c)
	if err != nil {
		return err
	}
	revisions, err := s.Service.JobRevisions(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return writeList(c, revisions, job.AppendRevision)
}

func (s *Server) scheduleRevisions(c *call) error {
	id, err := s.scheduleID(c)
	if err != nil {
		return err
	}
	revisions, err := s.Service.ScheduleRevisions(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return writeList(c, revisions, job.AppendRevision)
}

// appendEach appends a list.
func appendEach[T any](b []byte, all []T, add func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, one := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, one)
	}
	return append(b, ']')
}
