package lifecycle

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// Attempt is one attempt of a job, from its claim to its outcome.
type Attempt struct {
	Item     *store.QueueItem
	Number   int
	StartAt  time.Time // the announced start: never before the due time
	Spec     job.Spec
	Outgoing *job.Outgoing
	// Refused says why the request must not be sent; nil when it may be.
	Refused *job.Failure
	// Defect is the panic, or the impossible state of the job, that kept the
	// request from being prepared.
	Defect error
	// Expired says why the attempt must not start any more; nil when it may.
	Expired *job.Failure
	// Token completes the attempt if its target reports the outcome; "" if it does
	// not.
	Token string
	// Points is how many points of its schedule's grid the run stands for; 1 for
	// a one-off job.
	Points int64
	// FirstBegan is when the first attempt began; zero if this is the first one, or if that
	// is not known.
	FirstBegan time.Time
	// Result is the job's state after the attempt; set by the Decide of Finish.
	Result job.State

	hash   job.TokenHash // of Token
	sealer job.Sealer    // of what is hidden
	sends  bool          // what is hidden is needed, because the request may be sent

	// request is what the request's log and the deliveries show; its log is
	// uuid.Nil until Claim has set it.
	request passage
	args    shared // with the request's log; see share

	held     bool  // limits delayed it
	plan     *plan // of the schedule; nil for a one-off job
	deadline deadline
}

// Begin prepares the next attempt of an item. It always returns an attempt: if
// the request can't be prepared, Refused says why. The Sealer, nil for one without keys,
// opens what the job hides, and hides what it returns.
func Begin(item *store.QueueItem, now time.Time, sealer job.Sealer) *Attempt {
	a := &Attempt{Item: item, Number: item.Attempt + 1, StartAt: schedule.Later(item.Due, now), held: item.HeldBack(), sealer: sealer,
		sends: true}
	a.prepare(job.Render)
	a.plan = planOf(item.Schedule)
	a.deadline = itemDeadline(item, &a.Spec, a.plan)
	a.StartsAt(a.StartAt)
	a.completable()
	return a
}

// Resume returns the attempt that a node claimed and did not finish, so that it
// can be finished as interrupted. It renders the request only if a delivery
// shows it, because a crashed node may have left many attempts.
func Resume(item *store.QueueItem) *Attempt {
	a := &Attempt{Item: item, Number: item.Attempt, StartAt: item.Claim.StartAt, held: item.HeldBack()}
	a.prepare(func(s *job.Spec, d job.Dynamic) (*job.Outgoing, error) {
		final := slices.Contains(s.NoRetry.Kinds, job.KindInterrupted) // a callback may follow, as after a completion
		if s.WebhookURL == "" && (s.CallbackURL == "" || !final && s.Completion.Within == 0) {
			return job.Unrendered(s), nil
		}
		return job.Render(s, d)
	})
	return a
}

// Claim returns what is stored when a node claims the item for this attempt: no log
// and no deliveries if it has expired.
func (a *Attempt) Claim() store.Claim {
	if a.Expired != nil || a.FansOut() {
		claim := store.Claim{QueueKey: a.Item.QueueKey, Attempt: a.Number, StartAt: a.StartAt}
		claim.Revision = a.Item.Job.Revision
		return claim
	}
	payload := a.Outgoing.AppendPayload(nil)
	log := newLog(a.Item.Job.Owner, a.Item.Job.Number, job.EventRequest, a.StartAt, payload)
	// If Claim is called again, it returns the same log, because deliveries
	// refer to it.
	if a.request.log != uuid.Nil {
		log.ID = a.request.log
	}
	a.request = passage{text: members(payload), log: log.ID, from: 1}
	if a.Spec.WebhookURL != "" || a.Spec.CallbackURL != "" {
		a.args = share(a.Item.Job.Args, a.Spec.GivenBody(), payload, log.ID)
	}
	claim := store.Claim{QueueKey: a.Item.QueueKey, Attempt: a.Number, StartAt: a.StartAt, Log: &log, Completion: a.completion(log.ID)}
	if s := a.Item.Schedule; s != nil {
		claim.Schedule = store.ScheduleVersion{ID: s.ID, Revision: s.Revision, Epoch: s.Epoch}
	}
	claim.Revision = a.Item.Job.Revision // which the attempt was prepared for
	if a.Spec.WebhookURL == "" {
		return claim
	}
	if j, err := a.startedAt(a.StartAt); err == nil {
		claim.Deliveries = []job.Delivery{
			webhook(j, &a.Spec, eventStarted, a.StartAt, &messageData{number: a.Number, args: a.args}),
			webhook(j, &a.Spec, eventRequest, a.StartAt,
				&messageData{number: a.Number, method: a.method(), request: a.request, args: a.args}),
		}
	}
	return claim
}

// members returns an object without its braces.
func members(object []byte) []byte { return object[1 : len(object)-1] }

// method returns the request's method as deliveries show it.
func (a *Attempt) method() string { return strings.ToLower(a.Outgoing.Method) }

// startedAt returns the job as it is while the attempt is under way. Its error
// is a [job.TransitionError].
func (a *Attempt) startedAt(at time.Time) (*job.Job, error) {
	j := *a.Item.Job
	j.Attempt = a.Number - 1
	return &j, j.Begin(at)
}

// Span is the time that an attempt took.
type Span struct {
	Began time.Time // when its request was sent
	Ended time.Time // when its response was read
	// Random in [0, 1) lengthens the wait before a retry.
	Random float64
}

// Finish returns what to store for an outcome of the attempt.
func (a *Attempt) Finish(node int64, o job.Outcome, span Span) store.Finish {
	verdict := Judge(&a.Spec, &o)
	carry := a.carryOver(&o, verdict, span.Ended)
	o = a.shownOutcome(o)
	about := a.about(&o, verdict)
	about.reply = a.replyOf(&o, verdict)
	if o.Response != nil {
		o.Response.Verbatim = a.Spec.Dialect != nil
		// Encode it here rather than in the transaction, which others wait for.
		about.response.text = job.AppendResponse(make([]byte, 0, 256), o.Response, o.Duration)
		if len(o.Response.Body) >= minPart {
			// The body is not needed again, so don't hold it while the finish
			// waits.
			o.Response = &job.Response{Status: o.Response.Status, Header: o.Response.Header, Truncated: o.Response.Truncated,
				Redacted: o.Response.Redacted}
		}
	}
	return store.Finish{
		QueueKey: a.Item.QueueKey, Node: node, Attempt: a.Number, Job: a.Item.Job, Size: a.size(&about),
		Completable: a.Spec.Completion.Within > 0,
		Decide:      func(m *store.Snapshot) *store.Changes { return a.end(m, about, carry, span) },
	}
}

// shownOutcome returns an outcome as logs and deliveries show it. It keeps the header,
// which says when to retry.
func (a *Attempt) shownOutcome(o job.Outcome) job.Outcome {
	if !a.Spec.Redact.Response {
		return o
	}
	if r := o.Response; r != nil {
		o.Response = &job.Response{Status: r.Status, Header: r.Header, Body: r.Body, Truncated: r.Truncated, Redacted: true}
	}
	// Messages of these kinds quote the response, and after a redirect the host that it named.
	if f := o.Failure; f != nil && (f.Kind == job.KindRedirect || f.Kind == job.KindProtocol || f.Redirected) {
		shown := *f
		shown.Message = job.RedactedText
		o.Failure = &shown
	}
	return o
}

// about returns what deliveries report about the attempt.
func (a *Attempt) about(o *job.Outcome, v Verdict) messageData {
	about := messageData{number: a.Number, method: a.method(), request: a.request, args: a.args, outcome: o, verdict: v}
	if about.request.text == nil && !a.FansOut() && (a.Spec.WebhookURL != "" || a.Spec.CallbackURL != "") {
		about.request.text = members(a.Outgoing.AppendPayload(nil))
	}
	return about
}

// size returns about how many bytes the finish stores.
func (a *Attempt) size(about *messageData) int {
	const fields = 500 // of a job's row, its queue item and its log
	text, args := len(about.response.text), len(a.Item.Job.Args)
	message := fields + args - len(about.args.text) + min(text, minPart)
	if about.request.log == uuid.Nil {
		message += len(about.request.text)
	} else {
		message += min(len(about.request.text), minPart)
	}
	size := fields + text + 3*len(about.reply) // once or twice, as base64
	if a.Spec.WebhookURL != "" {
		size += 3 * message
	}
	if a.Spec.CallbackURL != "" {
		size += message
	}
	if s := a.Item.Schedule; s != nil {
		size += args + len(s.State) + text // the next job; $state and $previous
	}
	return size
}

// end decides what the attempt's outcome stores. If the job's state permits no
// attempt, only its queue item is removed: Begin has reported the defect.
func (a *Attempt) end(m *store.Snapshot, about messageData, carry *carryOver, span Span) *store.Changes {
	e, err := a.ending(m, about, span)
	if err != nil {
		return &store.Changes{}
	}
	e.carry, e.random = carry, span.Random
	switch {
	case e.hasEarly():
		err = e.early()
	case about.verdict == Awaiting:
		err = e.await()
	case about.verdict == Interrupted && e.outdated():
		err = e.withdraw()
	case about.verdict == Interrupted:
		err = e.interrupt()
	case about.verdict == Succeeded:
		err = e.succeed()
	default:
		err = e.fail()
	}
	return e.finished(err)
}

// ending builds the changes that finish an attempt.
type ending struct {
	*Attempt
	snapshot *store.Snapshot
	job      *job.Job
	at       time.Time
	random   float64
	about    messageData
	carry    *carryOver
	expired  bool
	final    bool // the target excludes a retry
	changes  store.Changes
}

func (a *Attempt) ending(m *store.Snapshot, about messageData, span Span) (*ending, error) {
	j, err := a.startedAt(span.Began)
	return &ending{Attempt: a, snapshot: m, job: j, at: span.Ended, about: about}, err
}

// finished returns the changes, unless a transition was impossible.
func (e *ending) finished(err error) *store.Changes {
	if err != nil {
		return &store.Changes{}
	}
	e.Result = e.job.State
	e.changes.EndCompletions = e.Spec.Completion.Within > 0 && !e.changes.Await
	return &e.changes
}

// interrupt makes the job due again, at once unless the failure asks for a
// wait. The attempt does not count.
func (e *ending) interrupt() error {
	e.about.retryAt = e.at.Add(e.about.outcome.Failure.Wait)
	if err := e.job.Retry(e.about.retryAt); err != nil {
		return err
	}
	e.job.Attempt--
	e.finishJob()
	return nil
}

func (e *ending) succeed() error {
	if err := e.job.Complete(e.at); err != nil {
		return err
	}
	e.keepCarryOver()
	e.scheduleNext()
	e.trackHealth()
	e.finishJob()
	return nil
}

func (e *ending) fail() error {
	retryAt, again := e.retryAt()
	if !again {
		return e.discard()
	}
	if e.Spec.ExpiresIn != nil && e.deadline.passed(retryAt) {
		return e.expireRetry()
	}
	if err := e.job.Retry(retryAt); err != nil {
		return err
	}
	e.about.retryAt = retryAt
	e.finishJob()
	return nil
}

func (e *ending) discard() error {
	if err := e.job.Discard(e.at); err != nil {
		return err
	}
	e.scheduleNext()
	e.trackHealth()
	e.finishJob()
	return nil
}

// retryAt returns when the attempt is retried, and whether it is.
func (e *ending) retryAt() (time.Time, bool) {
	wait, again := retryWait(&e.Spec, e.Number, e.age(), e.about.outcome, e.at, e.random)
	if !again || e.final {
		return time.Time{}, false
	}
	at := e.at.Add(wait).Truncate(time.Microsecond)
	if e.job.ScheduleID == uuid.Nil {
		return at, true
	}
	// A run under way of a disabled schedule finishes without retries.
	if !e.snapshot.Schedule.Live() {
		return time.Time{}, false
	}
	p := e.plan.of(e.snapshot.Schedule)
	if p == nil {
		return at, true
	}
	next := p.after(e.past())
	return at, next.due.IsZero() || at.Before(next.due)
}

// age returns the time since the first attempt began or, if that is not known, since the
// job was due.
func (e *ending) age() time.Duration {
	first := e.FirstBegan
	switch {
	case !first.IsZero():
	case e.Number == 1:
		first = e.job.AttemptedAt
	default:
		first = schedule.Later(e.job.ScheduledAt, e.job.InsertedAt)
	}
	return e.at.Sub(first)
}

// past describes the run as its schedule needs it. The schedule is the one in the
// transaction, which may have changed since the run was created.
func (e *ending) past() pastRun {
	r := pastRun{Job: e.job, now: e.at, started: e.job.AttemptedAt, counts: true, expired: e.expired, held: e.held}
	if e.expired {
		r.started = time.Time{}
	}
	if e.carry != nil && e.job.State == job.Completed {
		r.steering = e.carry.steering
	}
	return r
}

// scheduleNext creates the schedule's next run or ends the schedule.
func (e *ending) scheduleNext() { e.plan.of(e.snapshot.Schedule).follow(&e.changes, e.past()) }

// finishJob adds what every outcome stores: the job's new state, the log and
// the deliveries.
func (e *ending) finishJob() {
	e.changes.Job = e.job
	e.logOutcome()
	if e.Spec.WebhookURL != "" {
		e.addAttemptEvents()
		e.addFinal()
	}
	e.addCallback()
	e.addFollowUps()
}

// logOutcome adds the log of the outcome, before all other logs of this time.
func (e *ending) logOutcome() {
	log := outcomeLog(e.job, e.at, &e.about)
	if e.about.later {
		e.about.result.log, e.about.result.from = log.ID, resultInLog
	} else {
		e.about.response.log, e.about.response.from = log.ID, 1
	}
	at := slices.IndexFunc(e.changes.Logs, func(l job.Log) bool { return !l.InsertedAt.Before(e.at) })
	if at < 0 {
		at = len(e.changes.Logs)
	}
	e.changes.Logs = slices.Insert(e.changes.Logs, at, log)
}

func (e *ending) addCallback() {
	if e.Spec.CallsBack(e.job.State) {
		e.changes.Deliveries = append(e.changes.Deliveries, callback(e.job, &e.Spec, e.at, &e.about))
	}
}

func (e *ending) addEvent(j *job.Job, event string, about *messageData) {
	e.changes.Deliveries = append(e.changes.Deliveries, webhook(j, &e.Spec, event, e.at, about))
}

// addAttemptEvents adds the events that report the end of the attempt.
func (e *ending) addAttemptEvents() {
	if !e.about.later {
		e.addResponseEvent()
	}
	if e.about.verdict != Succeeded {
		failed := e.about
		failed.hasRetry = true
		e.addEvent(e.job, eventError, &failed)
	}
}

// addResponseEvent adds the event that reports the response, if there is one.
func (e *ending) addResponseEvent() {
	if e.about.outcome.Response == nil || e.Spec.WebhookURL == "" {
		return
	}
	if started, err := e.startedAt(e.job.AttemptedAt); err == nil {
		e.addEvent(started, eventResponse, &e.about)
	}
}

// addFinal adds the event that reports the end of the job.
func (e *ending) addFinal() {
	if e.job.State.Final() {
		e.addEvent(e.job, eventFinished, &e.about)
	}
}
