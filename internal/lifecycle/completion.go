package lifecycle

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// completable gives an attempt the token by which its target completes it, if the
// job asks for that.
func (a *Attempt) completable() {
	if a.Spec.Completion.Within > 0 && a.Refused == nil {
		a.Token, a.hash = job.NewToken()
	}
}

// NotCompletable refuses an attempt that has a token if the service has no address
// at which its target could report the outcome.
func (a *Attempt) NotCompletable() {
	if a.Token == "" {
		return
	}
	a.Token = ""
	a.Refused = &job.Failure{
		Kind: job.KindAbandoned, Message: "the service was started without --public-url, so the target could not report the outcome; nothing was sent",
	}
}

// completion returns the completion that a claim stores; nil if there is none.
func (a *Attempt) completion(request uuid.UUID) *job.Completion {
	if a.Token == "" {
		return nil
	}
	c := &job.Completion{
		Token: a.hash, Owner: a.Item.Job.Owner, Job: a.Item.Job.Number, Attempt: a.Number, Await: a.Spec.Completion,
		StartedAt: a.StartAt, HeardAt: a.StartAt, Request: request,
	}
	if a.Item.Schedule != nil {
		c.Epoch = a.Item.Schedule.Epoch
	}
	return c
}

// hasEarly reports whether the outcome was reported before the response came, and
// counts: the target responded with 202, or there is no response. Any other
// response counts itself.
func (e *ending) hasEarly() bool {
	c := e.snapshot.Completion
	return c != nil && c.Early != nil && (e.about.verdict == Awaiting || e.about.outcome.Response == nil)
}

// early ends the attempt with the outcome that was reported before the response.
func (e *ending) early() error {
	var report *job.Report
	kept, err := job.OpenReport(e.sealer, e.job.Owner, e.snapshot.Completion.Early)
	if err == nil {
		report, err = job.ReadReport(kept)
	}
	if err != nil {
		return e.fail()
	}
	if e.about.verdict == Awaiting {
		e.logOutcome()
		e.addResponseEvent()
		e.at = e.at.Add(time.Microsecond) // after the log of the response
	}
	return e.reported(report)
}

// await keeps the job executing until its target reports the outcome. The queue
// item stays claimed and leaves the front of the queue.
func (e *ending) await() error {
	if e.snapshot.Completion == nil {
		e.about.verdict, e.about.outcome = Failed, &job.Outcome{Failure: &job.Failure{
			Kind: job.KindAbandoned, Message: "the record by which the target completes the attempt is missing",
		}}
		return e.fail()
	}
	e.logOutcome()
	e.addResponseEvent()
	c := *e.snapshot.Completion
	c.State, c.StartedAt, c.Response = job.CompletionAwaiting, e.job.AttemptedAt, e.about.response.log
	c.HeardAt = schedule.Later(c.HeardAt, e.at)
	c.Deadline = c.Due()
	stored := *e.Item.Job
	stored.Attempt, stored.DueAt = e.Number, schedule.Later(c.StartedAt.Add(c.Within), e.at)
	e.changes.Job, e.changes.Completion, e.changes.Await = &stored, &c, true
	return nil
}

// reported ends the attempt with the outcome that its target has reported.
func (e *ending) reported(r *job.Report) error {
	e.over(r.Identity)
	e.about.outcome = &job.Outcome{Response: e.accepted(), Duration: e.at.Sub(e.job.AttemptedAt)}
	if r.Error == nil {
		e.about.verdict, e.about.result = Succeeded, passage{text: e.shownResult(r.Result)}
		e.carry = e.carryOverOf(r.Result, nil, e.at)
		return e.succeed()
	}
	e.about.outcome.Failure = &job.Failure{Kind: job.KindAnswer, Message: *r.Error}
	if e.Spec.Redact.Response {
		e.about.outcome.Failure.Message = job.RedactedText
	}
	e.about.verdict, e.final = Failed, !r.Retry
	return e.fail()
}

// shownResult returns a result as logs and deliveries show it.
func (a *Attempt) shownResult(result rawjson.Value) rawjson.Value {
	if a.Spec.Redact.Response {
		return rawjson.Quote(job.RedactedText)
	}
	return result
}

// abandoned ends the attempt because its target was silent.
func (e *ending) abandoned() error {
	c := e.snapshot.Completion
	why := "the target did not report the outcome within " + c.Within.String() + " of the attempt's start"
	if c.Deadline.Before(c.StartedAt.Add(c.Within)) {
		why = "the target gave no sign of life for " + c.Heartbeat.String()
	}
	e.over(nil)
	e.about.outcome = &job.Outcome{
		Response: e.accepted(), Duration: e.at.Sub(e.job.AttemptedAt), Failure: &job.Failure{Kind: job.KindAbandoned, Message: why},
	}
	e.about.verdict = Failed
	return e.fail()
}

// over notes that the attempt is over, and which outcome was reported.
func (e *ending) over(reported []byte) {
	c := *e.snapshot.Completion
	c.State, c.Deadline, c.Early = job.CompletionOver, time.Time{}, nil
	if reported != nil {
		c.Reported = reported
	}
	e.changes.Completion = &c
	e.about.later = true
}

// accepted returns the response with which the target accepted the job; nil if
// there was none.
func (e *ending) accepted() *job.Response {
	if e.about.response.text == nil {
		return nil
	}
	return &job.Response{Status: http.StatusAccepted}
}

// resume returns an attempt that its target completes.
func resume(a *store.Awaited, m *store.Snapshot, sealer job.Sealer) *Attempt {
	c := m.Completion
	j := *m.Job
	j.DueAt = schedule.Later(j.ScheduledAt, j.InsertedAt)
	r := &Attempt{
		Item: &store.QueueItem{QueueKey: store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number},
			Account: j.Owner.Number}, Job: &j},
		Number: c.Attempt, StartAt: c.StartedAt, Spec: job.ReadSpec(j.Args), sealer: sealer,
	}
	r.held = len(job.LimitsNamed(j.Args)) > 0 // then limits decided when it started
	r.Outgoing = job.Unrendered(&r.Spec)
	if a.Schedule != nil {
		s := *a.Schedule
		s.Epoch = c.Epoch
		r.Item.Schedule = &s
	}
	if len(a.Request) > 1 {
		r.request = passage{text: members(a.Request), log: c.Request, from: 1}
		r.args = share(j.Args, r.Spec.GivenBody(), a.Request, c.Request)
	}
	r.plan = planOf(r.Item.Schedule)
	r.deadline = deadlineOf(&j, &r.Spec, r.plan)
	return r
}

// complete decides the end of an attempt that is awaited; do ends it.
func complete(a *store.Awaited, m *store.Snapshot, sealer job.Sealer, random float64, do func(*ending) error) (*store.Changes, job.State) {
	r := resume(a, m, sealer)
	ended := schedule.Later(m.Now, r.StartAt.Add(time.Microsecond))
	e, err := r.ending(m, r.about(&job.Outcome{}, Awaiting), Span{Began: r.StartAt, Ended: ended})
	if err != nil {
		return nil, 0
	}
	e.random = random
	if text, found := acceptedText(a.Response); found {
		e.about.response = passage{text: text, log: m.Completion.Response, from: 1}
	}
	c := e.finished(do(e))
	return c, r.Result
}

// Reporting is what becomes of a report about an attempt. Its fields are set by
// Decide.
type Reporting struct {
	awaited *store.Awaited
	report  *job.Report
	sealer  job.Sealer
	random  float64

	// Err is the fault for the target; nil if the report was accepted.
	Err error
	// Completion is as it is afterwards.
	Completion *job.Completion
	// Ended is set if the report has ended the attempt; State is the job's then.
	Ended bool
	State job.State
}

// NewReporting returns the decision about a report. random in [0, 1) lengthens the
// wait before a retry. The Sealer hides the result if the job's redact says so.
func NewReporting(a *store.Awaited, r *job.Report, sealer job.Sealer, random float64) *Reporting {
	return &Reporting{awaited: a, report: r, sealer: sealer, random: random}
}

// Decide is the decision.
func (p *Reporting) Decide(m *store.Snapshot) *store.Changes {
	p.Err, p.Completion, p.Ended, p.State = nil, m.Completion, false, 0
	c := m.Completion
	outcome := p.report.Identity
	switch {
	case c == nil:
		p.Err = NoCompletion()
		return nil
	case c.Reported != nil && outcome != nil:
		if !c.Same(p.report) {
			p.Err = fault.New(fault.Conflict, "another outcome of this attempt was reported before; that one counts")
		}
		return nil
	case c.Reported != nil || c.State == job.CompletionOver:
		p.Err = goneAttempt()
		return nil
	case !m.Claim.Completes(c):
		return p.lost(m)
	case outcome == nil:
		return p.progress(m)
	case c.State == job.CompletionSent:
		next := *c
		next.Reported, next.HeardAt = outcome, m.Now
		if next.Early, p.Err = p.kept(m.Job); p.Err != nil {
			return nil
		}
		p.Completion = &next
		return &store.Changes{Completion: &next}
	}
	changes, state := complete(p.awaited, m, p.sealer, p.random, func(e *ending) error { return e.reported(p.report) })
	if changes == nil || changes.Job == nil {
		return p.lost(m)
	}
	p.Completion, p.Ended, p.State = changes.Completion, true, state
	return changes
}

// kept returns the report as it is kept until the response comes.
func (p *Reporting) kept(j *job.Job) (rawjson.Value, error) {
	text := p.report.Text()
	if !hidesResponse(j) {
		return text, nil
	}
	return job.HideReport(p.sealer, j.Owner, text)
}

func hidesResponse(j *job.Job) bool {
	spec := job.ReadSpec(j.Args)
	return spec.Redact.Response
}

func (p *Reporting) progress(m *store.Snapshot) *store.Changes {
	next, shown := *m.Completion, *p.report
	if hidden := job.RedactedText; shown.Message != nil && hidesResponse(m.Job) {
		shown.Message = &hidden
	}
	next.HeardAt, next.Progress = m.Now, shown.ProgressAt(m.Now)
	if next.State == job.CompletionAwaiting {
		next.Deadline = next.Due()
	}
	p.Completion = &next
	return &store.Changes{Completion: &next}
}

// lost ends a completion whose attempt nobody holds any more.
func (p *Reporting) lost(m *store.Snapshot) *store.Changes {
	p.Err = goneAttempt()
	return &store.Changes{Completion: ended(m.Completion)}
}

func ended(c *job.Completion) *job.Completion {
	over := *c
	over.State, over.Deadline, over.Early = job.CompletionOver, time.Time{}, nil
	return &over
}

// NoCompletion returns the fault for an unknown token.
func NoCompletion() error {
	return fault.New(fault.NotFound, "no attempt is completed at this address; use the one of the header X-Punctual-Complete as it is")
}

func goneAttempt() error {
	return fault.New(fault.Gone, "this attempt is over: it was ended, cancelled or given up; there is nothing to report any more")
}

// Abandonment is what becomes of an attempt whose deadline has passed. Its fields
// are set by Decide.
type Abandonment struct {
	awaited *store.Awaited
	random  float64

	Ended bool      // the attempt was ended
	State job.State // the job's, if it was
}

// NewAbandonment returns the decision about an attempt whose deadline has passed.
func NewAbandonment(a *store.Awaited, random float64) *Abandonment {
	return &Abandonment{awaited: a, random: random}
}

// Decide is the decision.
func (p *Abandonment) Decide(m *store.Snapshot) *store.Changes {
	p.Ended, p.State = false, 0
	c := m.Completion
	switch {
	case c == nil || c.State != job.CompletionAwaiting || c.Deadline.After(m.Now):
		return nil
	case !m.Claim.Completes(c):
		return &store.Changes{Completion: ended(c)}
	}
	changes, state := complete(p.awaited, m, nil, p.random, (*ending).abandoned)
	if changes == nil || changes.Job == nil {
		return &store.Changes{Completion: ended(c)}
	}
	p.Ended, p.State = true, state
	return changes
}

// acceptedText returns the members that describe the response, without its timings, from
// the log of a response after which the attempt was awaited.
func acceptedText(payload []byte) ([]byte, bool) {
	if len(payload) < len(awaitingSuffix)+1 || string(payload[len(payload)-len(awaitingSuffix):]) != awaitingSuffix {
		return nil, false
	}
	return job.TrimTimings(payload[1 : len(payload)-len(awaitingSuffix)]), true
}

// awaitingSuffix ends the log of a response after which the attempt is awaited.
const awaitingSuffix = `,"` + job.LogAwaiting + `":true}`
