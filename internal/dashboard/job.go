package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var (
	noJob = fault.NoSuch("job")
	noLog = fault.NoSuch("log")
)

// The detail of a job shows its newest logs and messages, which are all there
// are for any job that was not interrupted dozens of times.
const (
	logsShown     = 100
	messagesShown = 30
)

// jobDetail is what the page of a job shows.
type jobDetail struct {
	job      *job.Job
	spec     job.Spec
	schedule *job.Schedule // nil for a one-off, and when it is deleted
	logs     []*job.Log    // oldest first
	messages []*job.Delivery
	attempts []attempt
	now      time.Time
	notice   string
	self     string
	whenText string // what was typed to change the due time
	whenWhy  string // and why it was refused
}

func (s *Server) job(c *call) error {
	d, err := s.readJob(c)
	if err != nil {
		return err
	}
	if c.part() == "job" {
		return c.render(http.StatusOK, jobPart(d))
	}
	return c.render(http.StatusOK, jobPage(d))
}

func (s *Server) readJob(c *call) (*jobDetail, error) {
	ctx := c.r.Context()
	id, err := c.jobID()
	if err != nil {
		return nil, err
	}
	d := &jobDetail{now: s.Store.Now(), notice: c.notice()}
	if d.job, err = s.Store.JobGet(ctx, c.owner(), id); err != nil {
		return nil, err
	}
	d.self = c.href("/jobs/%d?part=job", d.job.Number)
	d.spec = job.ReadSpec(d.job.Args)
	query := store.LogQuery{Job: &store.JobID{Number: d.job.Number}, ListQuery: store.ListQuery{Limit: logsShown}}
	if d.logs, err = s.Store.LogList(ctx, c.owner(), query); err != nil {
		return nil, err
	}
	slices.Reverse(d.logs)
	if d.messages, err = s.Store.JobMessages(ctx, c.owner(), d.job.Number, messagesShown); err != nil {
		return nil, err
	}
	if d.job.ScheduleID != uuid.Nil {
		d.schedule, err = s.Store.ScheduleGet(ctx, c.owner(), d.job.ScheduleID)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	d.attempts = attemptsOf(d.logs)
	return d, nil
}

// attempt is what the logs tell of one attempt.
type attempt struct {
	number   int
	began    time.Time
	request  *job.Log
	outcome  *job.Log // nil while it is under way
	answered bool     // there was a whole answer
	status   int
	kind     string // of the failure to get an answer
	message  string
	duration time.Duration
	retryAt  time.Time
}

// succeeded reports whether the attempt succeeded, as was decided when it ended.
func (a *attempt) succeeded() bool { return a.outcome != nil && a.outcome.Succeeded() }

// interrupted reports whether the service stopped meanwhile; such an attempt
// does not count.
func (a *attempt) interrupted() bool { return a.kind == string(job.KindInterrupted) }

// attemptsOf puts together what the logs of a job, oldest first, tell of its
// attempts. The number is the one a failure names, else the next one.
func attemptsOf(logs []*job.Log) []attempt {
	var attempts []attempt
	next := 1
	for _, log := range logs {
		switch log.Event {
		case job.EventRequest:
			attempts = append(attempts, attempt{number: next, began: log.InsertedAt, request: log})
		case job.EventResponse, job.EventError:
			if len(attempts) == 0 || attempts[len(attempts)-1].outcome != nil {
				attempts = append(attempts, attempt{number: next, began: log.InsertedAt})
			}
			last := &attempts[len(attempts)-1]
			last.end(log)
			if next = last.number; !last.interrupted() {
				next++
			}
		}
	}
	return attempts
}

func (a *attempt) end(log *job.Log) {
	a.outcome, a.answered = log, log.Event == job.EventResponse
	for _, m := range rawjson.Members(log.Payload) {
		switch m.Name {
		case "status":
			a.status, _ = strconv.Atoi(string(m.Value))
		case "kind":
			a.kind = rawjson.Text(m.Value)
		case "message":
			a.message = rawjson.Text(m.Value)
		case "duration_ms":
			ms, _ := strconv.ParseFloat(string(m.Value), 64)
			a.duration = time.Duration(ms * float64(time.Millisecond))
		case "attempt":
			if n, err := strconv.Atoi(string(m.Value)); err == nil {
				a.number = n
			}
		case "retry_at":
			a.retryAt, _ = time.Parse(time.RFC3339Nano, rawjson.Text(m.Value))
		}
	}
	if a.request == nil {
		a.began = log.InsertedAt.Add(-a.duration)
	}
}

// begun tells how many attempts were begun. A final job is out of the queue,
// which counts them; its logs still tell.
func (d *jobDetail) begun() int {
	n := d.job.Attempt
	for i := range d.attempts {
		if !d.attempts[i].interrupted() {
			n = max(n, d.attempts[i].number)
		}
	}
	return n
}

// outgoing gives the request as it was made last, or as it would be made now; the
// error tells why it would not be made.
func (d *jobDetail) outgoing() (*job.Outgoing, error) {
	for i := len(d.attempts) - 1; i >= 0; i-- {
		if log := d.attempts[i].request; log != nil {
			sent := job.ReadSpec(log.Payload)
			sent.Method, sent.Metadata = d.spec.Method, false
			if rawjson.IsNull(sent.Body) {
				sent.Body = nil
			}
			return job.Render(&sent, job.Dynamic{})
		}
	}
	return job.Render(&d.spec, job.NewDynamic(d.job.Number, d.schedule))
}

// answer gives the last attempt that got one; nil when none did.
func (d *jobDetail) answer() *attempt {
	for i := len(d.attempts) - 1; i >= 0; i-- {
		if d.attempts[i].answered {
			return &d.attempts[i]
		}
	}
	return nil
}

// answerBody gives the text of an answer's body, laid out when it is JSON.
func answerBody(log *job.Log) (text string, encoded bool) {
	body := rawjson.Get(log.Payload, "body")
	encoded = rawjson.Get(log.Payload, "encoding") != nil
	if body.Kind() == '"' {
		return rawjson.Text(body), encoded
	}
	if rawjson.IsNull(body) {
		return "", encoded
	}
	return ui.Pretty(body), encoded
}

// truncated reports whether the answer was longer than what is kept.
func truncated(log *job.Log) bool { return string(rawjson.Get(log.Payload, "truncated")) == "true" }
