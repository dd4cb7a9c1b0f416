package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	target  = "https://example.com/hook"
	plain   = `{"url":"https://example.com/hook","method":"get","headers":{}}`
	hourly  = `{"url":"https://example.com/hook","repeat_every":3600,"method":"get","headers":{}}`
	payload = `{"body":null,"headers":{},"query":{},"url":"https://example.com/hook"}`
)

// oneOff returns a new job that is not stored yet.
func (w *world) oneOff(owner job.Owner, due time.Time) store.NewJob {
	now := w.s.Now()
	return store.NewJob{Lane: job.Lane(target), Job: &job.Job{
		ID: job.NewID(now), Owner: owner, InsertedAt: now, ScheduledAt: due, State: job.Available, DueAt: due,
		Hops: 2, Trace: []byte("\x00trace of 25 bytes, \xff abcd"), Args: rawjson.Value(plain),
	}}
}

// keyed returns a new one-off job with an idempotency key.
func (w *world) keyed(owner job.Owner, key string) store.NewJob {
	n := w.oneOff(owner, w.ahead())
	n.Job.Key, n.Job.Trace, n.Job.KeyRequest = &key, nil, []byte("\x0016 bytes, \xff\xfe abcd")
	return n
}

// recurring returns a new schedule with its first job.
func (w *world) recurring(owner job.Owner, due time.Time) store.NewJob {
	n := w.oneOff(owner, due)
	n.Job.Args = rawjson.Value(hourly)
	n.Schedule = &job.Schedule{
		ID: job.NewID(n.Job.InsertedAt), Owner: owner, InsertedAt: n.Job.InsertedAt, FirstDue: due, Hops: 1, Args: n.Job.Args,
	}
	n.Job.ScheduleID = n.Schedule.ID
	return n
}

// nextOf returns a further job of a schedule.
func (w *world) nextOf(s *job.Schedule, due time.Time) *store.NewJob {
	n := w.oneOff(s.Owner, due)
	n.Job.ScheduleID, n.Job.Key, n.Job.Args = s.ID, s.Key, s.Args
	return &n
}

// log returns a new log that is not stored yet.
func (w *world) log(j *job.Job, event string, at time.Time) job.Log {
	return job.Log{ID: job.NewID(at), Owner: j.Owner, Job: j.Number, Event: event, InsertedAt: at, Payload: rawjson.Value(payload)}
}

// webhook returns a new event that is not stored yet.
func (w *world) webhook(j *job.Job, attempt int, event string, at time.Time) job.Delivery {
	return job.Delivery{
		MessageID: "msg_" + uuid.NewString(), Owner: j.Owner, Job: j.Number, JobAttempt: attempt, Channel: job.Webhook,
		URL: "https://hooks.example.com/", Event: event, DueAt: at, Body: rawjson.Value(`{"type":"` + event + `"}`),
	}
}

// callback returns a new callback that is not stored yet.
func (w *world) callback(j *job.Job, attempt int, at time.Time) job.Delivery {
	d := w.webhook(j, attempt, "", at)
	d.Channel, d.URL = job.Callback, "https://calls.example.com/"
	return d
}

// insert stores jobs, none of which may be a duplicate, and returns them.
func (w *world) insert(jobs ...store.NewJob) []*job.Job {
	w.Helper()
	results, err := w.s.JobInsertMany(w.ctx, jobs)
	w.ok("JobInsertMany", err)
	if len(results) != len(jobs) {
		w.Fatalf("JobInsertMany returned %d results for %d jobs", len(results), len(jobs))
	}
	stored := make([]*job.Job, len(results))
	for i, r := range results {
		if r.Conflict || r.Job == nil || r.Job.ID != jobs[i].Job.ID || r.Job.Number == 0 {
			w.Fatalf("JobInsertMany: result %d is %+v, want the new job with a number", i, r)
		}
		stored[i] = r.Job
	}
	return stored
}

// insertOne stores one new job.
func (w *world) insertOne(n store.NewJob) *job.Job {
	w.Helper()
	return w.insert(n)[0]
}

// get returns a job as its owner sees it.
func (w *world) get(j *job.Job) *job.Job {
	w.Helper()
	got, err := w.s.JobGet(w.ctx, j.Owner, job.Ref{Number: j.Number})
	w.ok("JobGet", err)
	return got
}

// schedule returns a schedule as its owner sees it.
func (w *world) schedule(owner job.Owner, id uuid.UUID) *job.Schedule {
	w.Helper()
	s, err := w.s.ScheduleGet(w.ctx, owner, id)
	w.ok("ScheduleGet", err)
	return s
}

// change changes a job by a decision.
func (w *world) change(j *job.Job, decide store.Decide) *job.Job {
	w.Helper()
	got, err := w.s.JobChange(w.ctx, j.Owner, job.Ref{Number: j.Number}, decide)
	w.ok("JobChange", err)
	return got
}

// cancel is a decision to cancel a job, without business rules.
func cancel(m *store.Snapshot) *store.Changes {
	if m.Job.State.Final() {
		return nil
	}
	j := *m.Job
	j.Cancel(m.Now)
	return &store.Changes{Job: &j, RollbackClaim: m.Claim != nil && m.Claim.StartAt.After(m.Now)}
}

// logs returns all visible logs of a job, oldest first.
func (w *world) logs(j *job.Job) []*job.Log {
	w.Helper()
	logs, err := w.s.LogList(w.ctx, j.Owner, job.LogQuery{ListQuery: job.ListQuery{Limit: 1000}, Job: &job.Ref{Number: j.Number}})
	w.ok("LogList", err)
	slices.Reverse(logs)
	return logs
}

// events returns the events of a job's logs, oldest first.
func (w *world) events(j *job.Job) string {
	w.Helper()
	var names []string
	for _, l := range w.logs(j) {
		names = append(names, strings.TrimPrefix(l.Event, "worker."))
	}
	return strings.Join(names, " ")
}

func text(s *string) string {
	if s == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", *s)
}

func jsonText(v rawjson.Value) string {
	if v == nil {
		return "nil"
	}
	return string(v)
}

// moment formats a time exactly, in UTC.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// showJob formats all fields of a job that a store keeps. The number of attempts
// only matters between the first and the last.
func showJob(j *job.Job) string {
	if j == nil {
		return "no job"
	}
	attempt := 0
	if j.State == job.Retryable || j.State == job.Executing {
		attempt = j.Attempt
	}
	return fmt.Sprintf("job %d %s of %s (%d), schedule %s, key %s, name %s, description %s, inserted %s, scheduled %s, %s, due %s, attempt %d, attempted %s, completed %s, cancelled %s, discarded %s, hops %d, key request %x, trace %#v, runs %d, skipped %d, revision %d, rerun of %d, args %s, hidden %q",
		j.Number, j.ID, j.Owner.ID, j.Owner.Number, j.ScheduleID, text(j.Key), text(j.Name), text(j.Description),
		moment(j.InsertedAt), moment(j.ScheduledAt), j.State, moment(j.DueAt), attempt, moment(j.AttemptedAt),
		moment(j.CompletedAt), moment(j.CancelledAt), moment(j.DiscardedAt), j.Hops, j.KeyRequest, j.Trace, j.Runs, j.Skipped, j.Revision,
		j.RerunOf, jsonText(j.Args), fmt.Sprint(j.Hidden))
}

func showSchedule(s *job.Schedule) string {
	if s == nil {
		return "no schedule"
	}
	return fmt.Sprintf("schedule %s of %s (%d), key %s, name %s, description %s, inserted %s, disabled %s, first %s, epoch %d, hops %d, runs %d, ended %q, since %s, failures %d since %s, %q, revision %d, document %q, args %s, state %s, previous %s, hidden %q %q",
		s.ID, s.Owner.ID, s.Owner.Number, text(s.Key), text(s.Name), text(s.Description), moment(s.InsertedAt),
		moment(s.DisabledAt), moment(s.FirstDue), s.Epoch, s.Hops, s.Runs, s.Ended, moment(s.Since), s.Failures, moment(s.FailingSince),
		s.Failure, s.Revision, s.Document, jsonText(s.Args), jsonText(s.State), jsonText(s.Previous), fmt.Sprint(s.Hidden),
		s.HiddenPrevious)
}

func showLog(l *job.Log) string {
	if l == nil {
		return "no log"
	}
	return fmt.Sprintf("log %s of %s (%d), job %d, %s, inserted %s, %s",
		l.ID, l.Owner.ID, l.Owner.Number, l.Job, l.Event, moment(l.InsertedAt), jsonText(l.Payload))
}

func showDelivery(d *job.Delivery) string {
	if d == nil {
		return "no delivery"
	}
	return fmt.Sprintf("delivery %d %s of %s (%d), job %d attempt %d, channel %d, %q, event %q, tries %d, due %s, %s, parts %q",
		d.Number, d.MessageID, d.Owner.ID, d.Owner.Number, d.Job, d.JobAttempt, d.Channel, d.URL, d.Event, d.Attempt,
		moment(d.DueAt), jsonText(d.Body), job.FormatParts(d.Parts))
}

func showRef(r store.QueueKey) string {
	return fmt.Sprintf("run %d/%d due %s of %d in lane %d", r.Kind, r.Number, moment(r.Due), r.Account, r.Lane)
}
