package httpapi

import (
	"slices"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// maskParameter is the parameter that hides credentials.
const maskParameter = "mask"

// readMask reads the parameter mask of calls that show records. With mask=true,
// the values of headers that are credentials, and the paths of receivers of alerts in logs,
// are shown as "***"; to sessions they always are.
func (c *call) readMask(route route, method string) {
	if !slices.Contains(parameters[method+" "+route.path], maskParameter) {
		return
	}
	q := c.query()
	switch text, given := q.One(maskParameter); {
	case !given, text == "false": // leaves what a session's calls have
	case text == "true":
		c.mask = true
	default:
		q.Refuse(maskParameter, "must be true or false")
	}
	c.problems = q.Problems
}

func (c *call) appendJob(b []byte, j *job.Job) []byte { return c.appendJobAs(b, j, false) }

// appendJobAs appends a job's record. conflict is true if the call found the job by its
// key.
func (c *call) appendJobAs(b []byte, j *job.Job, conflict bool) []byte {
	shown := *j
	shown.Args = c.maskedArgs(j.Args)
	return job.AppendJob(b, &shown, conflict)
}

func (c *call) appendSchedule(b []byte, s *job.Schedule) []byte {
	shown := *s
	shown.Args = c.maskedArgs(s.Args)
	return job.AppendSchedule(b, &shown)
}

// maskedArgs returns args as the call shows them.
func (c *call) maskedArgs(args rawjson.Value) rawjson.Value {
	if c.mask {
		return job.MaskCredentials(args)
	}
	return args
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
	shown.Payload = job.MaskLog(l.Event, l.Payload)
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
