package attempt

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
)

// earlier is what the headers of a retry say of the attempts before it.
type earlier struct {
	responses int    // how many had a response
	status    int    // of the last one; 0 if it had no response
	reason    string // why that is retried
}

// recalled is how many attempts of a job are read for a retry, at most.
const recalled = 100

// recall reads the earlier attempts of a job of a Google-compatible API. If they can't
// be read, the attempt goes on: the headers say less then.
func (a *jobAttempt) recall(ctx context.Context) {
	if a.Number == 1 || !a.Spec.Dialect.IsGoogle() {
		return
	}
	j := a.Item.Job
	trail, err := a.runner.Logs.JobTrail(ctx, j.Owner, j.Number, recalled)
	if err != nil {
		a.runner.logLimited("reading the earlier attempts of a job failed", err)
		return
	}
	attempts := job.Attempts(trail.Logs)
	if n := len(attempts); n > 0 && attempts[n-1].Duration < 0 {
		attempts = attempts[:n-1] // this one
	}
	e := earlier{responses: a.Number - 1}
	for _, past := range attempts {
		if f := past.Failure; f != nil && f.Kind == job.KindInterrupted {
			continue
		}
		if e.status = past.Status; past.Status == 0 {
			e.responses--
		}
		e.reason = reasonOf(&past)
	}
	e.responses = max(0, e.responses)
	a.earlier = e
	if len(attempts) >= a.Number-1 && len(attempts) > 0 {
		a.FirstBegan = attempts[0].StartedAt
	}
}

// reasonOf returns why an attempt is retried: the name of a google.rpc.Code.
func reasonOf(past *job.AttemptSummary) string {
	if past.Status == 0 && past.Failure != nil {
		return job.FailureName(past.Failure)
	}
	return job.RPCName(past.Status)
}

// speakGoogle adds the header fields that Cloud Tasks and Cloud Scheduler send.
func (a *jobAttempt) speakGoogle(request *execute.Request, d *job.Dialect) {
	add := func(name, value string) {
		if value != "" {
			request.Own = append(request.Own, execute.Field{Name: name, Value: value})
		}
	}
	appEngine := d.Endpoint == job.AppEngine
	agent := "Google-Cloud-Tasks"
	switch {
	case d.API == job.DialectCloudScheduler:
		agent = "Google-Cloud-Scheduler"
		add("X-CloudScheduler", "true")
		add("X-CloudScheduler-JobName", job.LastPart(d.Name))
		add("X-CloudScheduler-ScheduleTime", a.Item.Job.ScheduledAt.UTC().Format(time.RFC3339))
		if appEngine {
			add("X-AppEngine-Cron", "true")
		}
	case appEngine:
		a.speakTask(d, "X-AppEngine-", add)
	default:
		a.speakTask(d, "X-CloudTasks-", add)
	}
	if appEngine {
		agent = "AppEngine-Google; (+http://code.google.com/appengine)"
	}
	request.Header = append(request.Header[:len(request.Header):len(request.Header)], execute.Field{Name: "User-Agent", Value: agent})
}

// speakTask adds the fields of a task.
func (a *jobAttempt) speakTask(d *job.Dialect, prefix string, add func(name, value string)) {
	due := a.Item.Due
	if own := a.Item.OwnDue; !own.IsZero() { // limits have held it
		due = own
	}
	add(prefix+"QueueName", job.LastPart(d.Queue))
	add(prefix+"TaskName", job.TaskID(a.Item.Job, d))
	add(prefix+"TaskRetryCount", strconv.Itoa(a.Number-1))
	add(prefix+"TaskExecutionCount", strconv.Itoa(a.earlier.responses))
	add(prefix+"TaskETA", fmt.Sprintf("%d.%06d", due.Unix(), due.Nanosecond()/1000))
	if a.Number > 1 {
		if a.earlier.status != 0 {
			add(prefix+"TaskPreviousResponse", strconv.Itoa(a.earlier.status))
		}
		add(prefix+"TaskRetryReason", a.earlier.reason)
	}
}
