package httpapi

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// readMask reads the parameter mask of calls that show records. With mask=true,
// the values of headers that are credentials are shown as "***".
func (c *call) readMask(route route, method string) error {
	if route.access != forJobs || method != http.MethodGet {
		return nil
	}
	q := &query{values: c.r.URL.Query()}
	switch text, given := q.one("mask"); {
	case !given, text == "false":
	case text == "true":
		c.mask = true
	default:
		q.refuse("mask", "must be true or false")
	}
	return fault.Refuse(q.problems)
}

func (c *call) appendJob(b []byte, j *job.Job) []byte {
	if c.mask {
		shown := *j
		shown.Args = job.MaskCredentials(j.Args)
		j = &shown
	}
	return job.AppendJob(b, j, false)
}

func (c *call) appendSchedule(b []byte, s *job.Schedule) []byte {
	if c.mask {
		shown := *s
		shown.Args = job.MaskCredentials(s.Args)
		s = &shown
	}
	return job.AppendSchedule(b, s)
}

func (c *call) appendLog(b []byte, l *job.Log) []byte {
	return job.AppendLog(b, c.masked(l))
}

// masked returns a log as the call shows it.
func (c *call) masked(l *job.Log) *job.Log {
	if !c.mask {
		return l
	}
	shown := *l
	shown.Payload = job.MaskCredentials(l.Payload)
	return &shown
}

// maskedLogs returns logs as the call shows them.
func (c *call) maskedLogs(logs []*job.Log) []*job.Log {
	if !c.mask {
		return logs
	}
	shown := make([]*job.Log, len(logs))
	for i, l := range logs {
		shown[i] = c.masked(l)
	}
	return shown
}
