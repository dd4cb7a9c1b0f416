package why

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// ReadJob reads a job's details, as GET /api/jobs/{id}/details has them. get returns the
// data of a path of the API, of which it reads the limits that hold the job back; one that
// can't be read is explained without its use.
func ReadJob(details []byte, get func(path string) ([]byte, error)) (*Job, error) {
	var d jobDetails
	if err := json.Unmarshal(details, &d); err != nil {
		return nil, fmt.Errorf("reading a job's details: %w", err)
	}
	j := &Job{Number: d.Job.Number, State: d.Job.Job.State, Due: d.Job.Job.Scheduled, Next: d.Next, Attempts: len(d.Attempts)}
	for _, t := range []*time.Time{d.Job.Job.Completed, d.Job.Job.Cancelled, d.Job.Job.Discarded} {
		if t != nil && d.Job.Job.State != job.Retryable.String() { // a retryable job has the time of its last failure
			j.Ended = *t
		}
	}
	if n := len(d.Attempts); n > 0 {
		j.last(&d.Attempts[n-1])
	}
	if d.Completion != nil && d.Completion.Awaiting {
		j.Deadline = d.Completion.Deadline
	}
	j.Blocks = BlocksOf(d.WaitingFor, func(key string) *Use {
		record, err := get("/api/limits/" + url.PathEscape(key))
		if err != nil {
			return nil
		}
		use, err := readUse(record)
		if err != nil {
			return nil
		}
		return use
	})
	return j, nil
}

// last takes the last attempt over.
func (j *Job) last(a *attempt) {
	j.Began = a.Started
	switch {
	case j.State == job.Completed.String():
	case a.Error != nil:
		j.Failure = &Failure{Kind: a.Error.Kind, Message: a.Error.Message}
		if a.Status != nil {
			j.Failure.Status = *a.Status
		}
	case a.Status != nil && j.State != job.Executing.String():
		j.Failure = &Failure{Status: *a.Status}
	}
}

type jobDetails struct {
	Job struct {
		Number int64 `json:"job_id"`
		Job    struct {
			State     string     `json:"state"`
			Scheduled time.Time  `json:"scheduled_at"`
			Completed *time.Time `json:"completed_at"`
			Cancelled *time.Time `json:"cancelled_at"`
			Discarded *time.Time `json:"discarded_at"`
		} `json:"job"`
	} `json:"job"`
	Attempts   []attempt `json:"attempts"`
	Next       time.Time `json:"next_attempt_at"`
	WaitingFor []string  `json:"waiting_for"`
	Completion *struct {
		Awaiting bool      `json:"awaiting"`
		Deadline time.Time `json:"deadline"`
	} `json:"completion"`
}

type attempt struct {
	Started time.Time `json:"started_at"`
	Status  *int      `json:"status"`
	Error   *struct {
		Kind    job.Kind `json:"kind"`
		Message string   `json:"message"`
	} `json:"error"`
}

// ReadSchedule reads a schedule's details, as GET /api/schedules/{id}/details has them.
func ReadSchedule(details []byte) (*Schedule, error) {
	var d struct {
		Schedule struct {
			ID       string   `json:"id"`
			Disabled zoneless `json:"disabled_at"`
		} `json:"schedule"`
		Next    time.Time `json:"next_run_at"`
		LastRun *struct {
			Number int64 `json:"job_id"`
			Job    struct {
				State string `json:"state"`
			} `json:"job"`
		} `json:"last_run"`
		Failures int `json:"failures_in_a_row"`
	}
	if err := json.Unmarshal(details, &d); err != nil {
		return nil, fmt.Errorf("reading a schedule's details: %w", err)
	}
	s := &Schedule{ID: d.Schedule.ID, Disabled: time.Time(d.Schedule.Disabled), Next: d.Next, Failures: d.Failures}
	if d.LastRun != nil {
		s.LastRun, s.State = d.LastRun.Number, d.LastRun.Job.State
	}
	return s, nil
}

// zoneless is a time that the API writes with or without a zone, and then means UTC.
type zoneless time.Time

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *zoneless) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", string(text))
	}
	*z = zoneless(t)
	return err
}

// readUse reads a limit with its use, as GET /api/limits/{key} has it.
func readUse(record []byte) (*Use, error) {
	var l struct {
		Key      string `json:"key"`
		Parallel *int   `json:"parallel"`
		Paused   bool   `json:"paused"`
		Ordered  bool   `json:"ordered"`
		Rate     *struct {
			Calls   int     `json:"calls"`
			Seconds float64 `json:"per"`
		} `json:"rate"`
		Waiting  int       `json:"waiting"`
		InFlight int       `json:"in_flight"`
		NextAt   time.Time `json:"next_at"`
		First    *struct {
			Job int64 `json:"job_id"`
		} `json:"first"`
	}
	if err := json.Unmarshal(record, &l); err != nil {
		return nil, fmt.Errorf("reading a limit: %w", err)
	}
	use := &Use{Waiting: l.Waiting, InFlight: l.InFlight, NextAt: l.NextAt}
	use.Key, use.Paused, use.Ordered = l.Key, l.Paused, l.Ordered
	if l.Parallel != nil {
		use.Parallel = *l.Parallel
	}
	if l.Rate != nil {
		use.Calls, use.Per = l.Rate.Calls, time.Duration(l.Rate.Seconds*float64(time.Second))
	}
	if l.First != nil {
		use.First = l.First.Job
	}
	return use, nil
}
