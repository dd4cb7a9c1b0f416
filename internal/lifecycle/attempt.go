package lifecycle

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/retry"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// Attempt is one attempt of a job, from its claim to its end.
type Attempt struct {
	Run      *store.QueueItem
	Number   int
	BeginAt  time.Time // from when on it counts as begun: never before it is due
	Spec     job.Spec
	Outgoing *job.Outgoing
	// Refused says why the request must not be sent; nil when it may be.
	Refused *job.Failure
	// Defect is the panic that preparing the request ended in, with its stack; ""
	// when there was none.
	Defect string
	// Result is the job's state after the attempt; set when it has been finished.
	Result job.State

	// request is what the request's log and the messages show; log is uuid.Nil
	// until it is to be stored with a claim.
	request passage
	args    shared // with the request's log; see share
}

// Begin prepares the next attempt of a run that was read for firing. It always
// returns an attempt: one whose request can't be made is refused.
func Begin(run *store.QueueItem, now time.Time) *Attempt {
	a := &Attempt{Run: run, Number: run.Attempt + 1, BeginAt: later(run.Due, now)}
	a.prepare(job.Render)
	return a
}

// Resume takes up an attempt that a node had claimed and did not end, to be ended
// as interrupted. Its request is rendered only if a message shows it: a node that
// crashed may have left many.
func Resume(run *store.QueueItem) *Attempt {
	a := &Attempt{Run: run, Number: run.Attempt, BeginAt: run.Claim.StartAt}
	a.prepare(func(s *job.Spec, d job.Dynamic) (*job.Outgoing, error) {
		if s.WebhookURL == "" {
			return job.Unrendered(s), nil
		}
		return job.Render(s, d)
	})
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Claim gives what is stored when a node claims the run for this attempt.
func (a *Attempt) Claim() store.Claim {
	payload := a.Outgoing.AppendPayload(nil)
	log := newLog(a.Run.Job.Owner, a.Run.Job.Number, job.EventRequest, a.BeginAt, payload)
	// A claim that is made again stores the same log, which messages refer to.
	if a.request.log != uuid.Nil {
		log.ID = a.request.log
	}
	a.request = passage{text: members(payload), log: log.ID, from: 1}
	if a.Spec.WebhookURL != "" || a.Spec.CallbackURL != "" {
		a.args = share(a.Run.Job.Args, a.Spec.Body, payload, log.ID)
	}
	claim := store.Claim{QueueKey: a.Run.QueueKey, Attempt: a.Number, StartAt: a.BeginAt, Log: &log}
	if a.Spec.WebhookURL != "" {
		j := a.startedAt(a.BeginAt)
		claim.Deliveries = []job.Delivery{
			webhook(j, &a.Spec, eventStarted, a.BeginAt, &messageData{number: a.Number, args: a.args}),
			webhook(j, &a.Spec, eventRequest, a.BeginAt, &messageData{number: a.Number, method: a.method(), request: a.request, args: a.args}),
		}
	}
	return claim
}

// members takes the braces off an object.
func members(object []byte) []byte { return object[1 : len(object)-1] }

// method returns the request's method as messages show it.
func (a *Attempt) method() string { return strings.ToLower(a.Outgoing.Method) }

// begun gives the job as it is while the attempt is under way.
func (a *Attempt) startedAt(at time.Time) *job.Job {
	j := *a.Run.Job
	j.Attempt = a.Number - 1
	j.Begin(at)
	return &j
}

// Finish ends the attempt with an outcome. The attempt began when its request
// was made, and ended when the answer was there.
func (a *Attempt) Finish(node int64, o job.Outcome, began, ended time.Time) store.Finish {
	carry := a.carryOver(&o)
	about := a.about(&o)
	if o.Response != nil {
		// Here, and not in the transaction that others wait for.
		about.response.text = job.AppendResponse(make([]byte, 0, 256), o.Response, o.Duration)
		if len(o.Response.Body) >= minPart {
			// Nobody asks for the body again, so it need not wait with the end.
			o.Response = &job.Response{Status: o.Response.Status, Header: o.Response.Header, Truncated: o.Response.Truncated}
		}
	}
	return store.Finish{
		QueueKey: a.Run.QueueKey, Node: node, Attempt: a.Number, Job: a.Run.Job, Size: a.size(&about),
		Decide: func(m *store.Snapshot) *store.Changes { return a.end(m, about, carry, began, ended) },
	}
}

// about returns what messages tell of the attempt.
func (a *Attempt) about(o *job.Outcome) messageData {
	about := messageData{number: a.Number, method: a.method(), request: a.request, args: a.args, outcome: o}
	if about.request.text == nil && (a.Spec.WebhookURL != "" || a.Spec.CallbackURL != "") {
		about.request.text = members(a.Outgoing.AppendPayload(nil))
	}
	return about
}

// size tells about how many bytes the end of the attempt stores.
func (a *Attempt) size(about *messageData) int {
	const fields = 500 // of a job's row, its run and its log
	text, args := len(about.response.text), len(a.Run.Job.Args)
	message := fields + args - len(about.args.text) + min(text, minPart)
	if about.request.log == uuid.Nil {
		message += len(about.request.text)
	} else {
		message += min(len(about.request.text), minPart)
	}
	size := fields + text
	if a.Spec.WebhookURL != "" {
		size += 3 * message
	}
	if a.Spec.CallbackURL != "" {
		size += message
	}
	if s := a.Run.Schedule; s != nil {
		size += args + len(s.State) + text // the next job; $state and $previous
	}
	return size
}

func (a *Attempt) end(m *store.Snapshot, about messageData, carry *carryOver, began, ended time.Time) *store.Changes {
	o := about.outcome
	e := &ending{Attempt: a, moment: m, job: a.startedAt(began), at: ended, carry: carry, about: about}
	switch {
	case o.Failure != nil && o.Failure.Kind == job.KindInterrupted:
		e.interrupt()
	case o.Succeeded():
		e.succeed()
	default:
		e.fail()
	}
	a.Result = e.job.State
	return &e.changes
}

// ending is the making of the changes that end an attempt.
type ending struct {
	*Attempt
	moment  *store.Snapshot
	job     *job.Job
	at      time.Time
	about   messageData
	carry   *carryOver
	changes store.Changes
}

// interrupt puts the job back to be attempted again, at once unless the failure
// says otherwise; the attempt does not count.
func (e *ending) interrupt() {
	e.about.retryAt = e.at.Add(e.about.outcome.Failure.Wait)
	e.job.Retry(e.about.retryAt)
	e.job.Attempt--
	e.finishJob()
}

func (e *ending) succeed() {
	e.job.Complete(e.at)
	e.keepCarryOver()
	e.scheduleNext()
	e.finishJob()
}

func (e *ending) fail() {
	retryAt, again := e.retryAt()
	if again {
		e.job.Retry(retryAt)
		e.about.retryAt = retryAt
	} else {
		e.job.Discard(e.at)
		e.scheduleNext()
	}
	e.finishJob()
}

// retryAt tells when the attempt is made again, and whether it is at all.
func (e *ending) retryAt() (time.Time, bool) {
	o := e.about.outcome
	if e.Number > e.Spec.Retries || o.Failure != nil && o.Failure.Kind.Permanent() {
		return time.Time{}, false
	}
	var asked time.Duration
	if o.Response != nil && (o.Response.Status == 429 || o.Response.Status == 503) {
		asked = retry.RetryAfter(o.Response.Header.Get("Retry-After"), e.at)
	}
	at := e.at.Add(retry.After(e.Number, asked, rand.Float64())).Truncate(time.Microsecond)
	if e.job.ScheduleID == uuid.Nil {
		return at, true
	}
	// A run under way of a disabled schedule finishes, and nothing follows.
	if !e.moment.Schedule.Live() {
		return time.Time{}, false
	}
	next, _ := e.nextDue()
	return at, at.Before(next)
}

// followUp tells when the schedule's next run is due and what it asks for: by
// the schedule as it is now, which may have changed since this run was stored.
func (e *ending) nextDue() (time.Time, *job.Spec) {
	return nextDueAfter(e.moment.Schedule, e.job.ScheduledAt, e.job.AttemptedAt, e.at)
}

func nextDueAfter(s *job.Schedule, due, began, now time.Time) (time.Time, *job.Spec) {
	spec := job.ReadSpec(s.Args)
	frequency, err := spec.Frequency()
	if err != nil || frequency == nil {
		return time.Time{}, nil
	}
	// A run may have been moved off the grid, which stays where it was.
	next := schedule.FollowUp(schedule.Through(frequency, s.FirstDue), due, began, now)
	if next.IsZero() {
		return next, nil
	}
	return later(next, s.FirstDue), &spec
}

// planNext stores the schedule's next job, if the schedule is to have one.
func (e *ending) scheduleNext() {
	if !e.moment.Schedule.Live() {
		return
	}
	if due, spec := e.nextDue(); spec != nil {
		e.changes.Next = nextJob(e.moment.Schedule, spec, due, e.at)
	}
}

func nextJob(s *job.Schedule, spec *job.Spec, due, now time.Time) *store.NewJob {
	return &store.NewJob{Lane: job.Lane(spec.URL), Job: &job.Job{
		ID: job.NewID(now), Owner: s.Owner, ScheduleID: s.ID, Key: s.Key, Name: s.Name, Description: s.Description,
		InsertedAt: now, ScheduledAt: due, State: job.Available, DueAt: later(due, now), Hops: s.Hops, Args: s.Args,
	}}
}

// finishJob adds what every end of an attempt has: the job's new state, the
// log of the outcome and the messages.
func (e *ending) finishJob() {
	e.changes.Job = e.job
	log := outcomeLog(e.job, e.at, &e.about)
	e.about.response.log, e.about.response.from = log.ID, 1
	e.changes.Logs = append([]job.Log{log}, e.changes.Logs...)
	if e.Spec.WebhookURL != "" {
		e.addFinishedEvents()
	}
	if e.Spec.CallbackURL != "" && e.job.State.Final() {
		e.changes.Deliveries = append(e.changes.Deliveries, callback(e.job, &e.Spec, e.at, &e.about))
	}
}

func (e *ending) addFinishedEvents() {
	tell := func(j *job.Job, event string, about messageData) {
		e.changes.Deliveries = append(e.changes.Deliveries, webhook(j, &e.Spec, event, e.at, &about))
	}
	if e.about.outcome.Response != nil {
		tell(e.startedAt(e.job.AttemptedAt), eventResponse, e.about)
	}
	if !e.about.outcome.Succeeded() {
		failed := e.about
		failed.hasRetry = true
		tell(e.job, eventError, failed)
	}
	if e.job.State.Final() {
		tell(e.job, eventFinished, e.about)
	}
}
