package attempt

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/record"
	"github.com/punctual-dev/punctual/internal/store"
)

// Secrets gives the secrets that sign an account's requests.
type Secrets interface {
	// SigningSecrets gives a NotFound fault when the account was deleted: nothing
	// is sent or stored for it any more.
	SigningSecrets(ctx context.Context, account int64) ([]execute.Secret, error)
}

// Config of a Runner.
type Config struct {
	Queue   store.Queue
	Jobs    Jobs
	Client  *execute.Client
	Secrets Secrets
	Metrics *metrics.Metrics
	Stats   Stats // nil: none are kept
	// Stored hears of the accounts in which something has happened; may be nil.
	// It must not block.
	Stored func(account int64)
	Log    *slog.Logger
}

// Stats counts jobs' attempts by account.
type Stats interface {
	Observe(account int64, succeeded bool, lateness, duration time.Duration)
}

// Runner makes attempts.
type Runner struct {
	Config
	finishes   *batch.Batcher[store.Finish, bool]
	complained atomic.Int64 // when, in nanoseconds since 1970
}

// deliveryTimeout is how long the receiver of a callback or webhook has.
const deliveryTimeout = 30 * time.Second

// New makes a Runner. Its owner must Close it after the last attempt.
func New(config Config) *Runner {
	r := &Runner{Config: config}
	r.finishes = batch.New(batch.Config[store.Finish, bool]{
		Max: 1024, Waiting: 8192, Do: r.Queue.RunFinish, Observe: r.Metrics.BatchSize("finish"),
	})
	return r
}

// Close waits until every finish is stored.
func (r *Runner) Close() { r.finishes.Close() }

// Begin prepares an attempt of a run that was read for firing.
func (r *Runner) Begin(run *store.Run, now time.Time) dispatch.Attempt {
	if run.Kind == store.KindDelivery {
		return &deliveryAttempt{runner: r, run: run, begin: later(run.Due, now)}
	}
	a := &jobAttempt{runner: r, Attempt: record.Begin(run, now)}
	a.reportDefect()
	return a
}

// Warm opens connections ahead of requests that are due soon: up to n at once
// to the receiver of run. A name or address that can't be reached is left to
// the attempt.
func (r *Runner) Warm(run *store.Run, n int) {
	url := ""
	if run.Kind == store.KindDelivery {
		url = run.Delivery.URL
	} else {
		spec := job.ReadSpec(run.Job.Args)
		url = spec.URL
	}
	r.Client.Warm(url, n)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lastTries is how long a stopping node goes on trying to store an end. What
// is not stored then is made again by whoever takes over.
const lastTries = 5 * time.Second

// finish stores the end of an attempt, however long the store takes to accept
// it, and reports whether the run was still ours.
func (r *Runner) finish(ctx context.Context, f store.Finish) bool {
	var stopping time.Time
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		held, err := r.finishes.DoWhenRoom(context.WithoutCancel(ctx), f)
		if err == nil {
			return held
		}
		r.complain("storing the ends of attempts failed; trying again", err)
		if ctx.Err() != nil && stopping.IsZero() {
			stopping = time.Now()
		}
		if errors.Is(err, batch.ErrClosed) || !stopping.IsZero() && time.Since(stopping) > lastTries {
			return false
		}
		time.Sleep(wait)
	}
}

func (r *Runner) stored(account int64) {
	if r.Stored != nil {
		r.Stored(account)
	}
}

// complainEvery is how often the log tells that ends can't be stored: while the
// store is away, every attempt under way has one.
const complainEvery = 5 * time.Second

func (r *Runner) complain(what string, err error) {
	now := time.Now().UnixNano()
	last := r.complained.Load()
	if now-last > int64(complainEvery) && r.complained.CompareAndSwap(last, now) {
		r.Log.Error(what, "waiting", r.finishes.Len(), "error", err)
	}
}

func (r *Runner) do(ctx context.Context, kind string, account int64, due time.Time, request execute.Request) job.Outcome {
	lateness := r.Queue.Now().Sub(due)
	r.Metrics.Begun(kind, lateness)
	secrets, err := r.Secrets.SigningSecrets(ctx, account)
	if err != nil && (errors.Is(context.Cause(ctx), execute.ErrCancelled) || fault.CodeOf(err) == fault.NotFound) {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindCancelled, Message: "the job was cancelled before the request was made"}}
	}
	if err != nil {
		// An unsigned request would be refused by a careful receiver; the
		// attempt is made again when the store is back.
		r.complain("reading signing secrets failed; attempts are made again", err)
		pause(ctx, time.Second)
		return job.Outcome{Failure: &job.Failure{Kind: job.KindInterrupted, Message: "the signing secrets could not be read; the attempt is made again"}}
	}
	request.Secrets = secrets
	outcome := r.Client.Do(ctx, request)
	if f := outcome.Failure; f != nil && f.Local {
		r.complain("this machine has run out of resources for connections; attempts are made again", errors.New(f.Message))
	}
	r.Metrics.Attempted(kind, outcomeName(&outcome), outcome.Duration)
	if r.Stats != nil && kind == kindJob && counts(&outcome) {
		r.Stats.Observe(account, outcome.Succeeded(), lateness, outcome.Duration)
	}
	return outcome
}

// The kinds of what is attempted, as metrics name them.
const (
	kindJob      = "job"
	kindDelivery = "delivery"
)

// counts reports whether an attempt ended by itself.
func counts(o *job.Outcome) bool {
	return o.Failure == nil || o.Failure.Kind != job.KindCancelled && o.Failure.Kind != job.KindInterrupted
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func outcomeName(o *job.Outcome) string {
	switch {
	case o.Succeeded():
		return "success"
	case o.Failure != nil:
		return string(o.Failure.Kind)
	default:
		return string(job.KindStatus)
	}
}

// jobAttempt is an attempt of a job.
type jobAttempt struct {
	*record.Attempt
	runner *Runner
}

// Fire implements dispatch.Attempt.
func (a *jobAttempt) Fire(ctx context.Context, node int64, began time.Time, answered func(bytes int64)) {
	r, j := a.runner, a.Run.Job
	r.stored(j.Owner.Number)
	defer r.stored(j.Owner.Number)
	outcome := r.guarded(kindJob, j.Number, func() job.Outcome {
		if a.Refused != nil {
			return a.refuse()
		}
		return r.do(ctx, kindJob, j.Owner.Number, a.Run.Due, a.request())
	})
	ended := later(r.Queue.Now(), began.Add(time.Microsecond))
	answered(a.recordBytes(&outcome))
	if f := outcome.Failure; f != nil && f.Kind == job.KindCancelled {
		return // the cancel has recorded it, or the job goes with its account
	}
	f := a.Finish(node, outcome, began, ended)
	f.Decide = r.decided(a.Run, f.Decide)
	if r.finish(ctx, f) && a.Result.Final() {
		r.Metrics.Finished(a.Result.String())
	}
}

// Size implements dispatch.Attempt.
func (a *jobAttempt) Size() int64 {
	n := len(a.Run.Job.Args) + 2*len(a.Outgoing.Body) + len(a.Outgoing.URL)
	if s := a.Run.Schedule; s != nil {
		n += len(s.Args) + len(s.State) + len(s.Previous)
	}
	return int64(n)
}

// recordBytes is about what a response and the record of it hold: the body
// stands in the log, in the callback and in three events at most, and as JSON
// text it is longer than it was.
func (a *jobAttempt) recordBytes(o *job.Outcome) int64 {
	if o.Response == nil {
		return 0
	}
	copies := 3
	if a.Spec.CallbackURL != "" {
		copies += 2
	}
	if a.Spec.WebhookURL != "" {
		copies += 4
	}
	return int64(copies * len(o.Response.Body))
}

func (a *jobAttempt) request() execute.Request {
	out, j := a.Outgoing, a.Run.Job
	request := execute.Request{
		Method: out.Method, URL: out.URL, Body: out.Body, Timeout: a.Spec.Timeout, FollowRedirects: true,
		MessageID: "job_" + j.ID.String(), Hops: j.Hops + 1,
		Own: []execute.Field{
			{Name: "X-Punctual-Job-Id", Value: strconv.FormatInt(j.Number, 10)},
			{Name: "X-Punctual-Attempt", Value: strconv.Itoa(a.Number)},
			{Name: "X-Punctual-Scheduled-At", Value: job.FormatTime(j.ScheduledAt)},
		},
	}
	if out.ContentType != "" {
		request.Own = append(request.Own, execute.Field{Name: "Content-Type", Value: out.ContentType})
	}
	for _, f := range out.Header {
		request.Header = append(request.Header, execute.Field(f))
	}
	return request
}

// deliveryAttempt is a try of a callback or webhook message.
type deliveryAttempt struct {
	runner *Runner
	run    *store.Run
	begin  time.Time
}

// Claim implements dispatch.Attempt.
func (a *deliveryAttempt) Claim() store.Claim {
	return store.Claim{Ref: a.run.Ref, Attempt: a.run.Attempt + 1, BeginAt: a.begin}
}

// Size implements dispatch.Attempt.
func (a *deliveryAttempt) Size() int64 { return int64(len(a.run.Delivery.Body)) }

// Fire implements dispatch.Attempt.
func (a *deliveryAttempt) Fire(ctx context.Context, node int64, began time.Time, answered func(bytes int64)) {
	r, d := a.runner, a.run.Delivery
	outcome := r.guarded(kindDelivery, d.Number, func() job.Outcome {
		return r.do(ctx, kindDelivery, d.Owner.Number, a.run.Due, execute.Request{
			Method: "POST", URL: d.URL, Body: d.Body, MessageID: d.MessageID, Timeout: deliveryTimeout, Hops: d.Hops + 1,
			Own: []execute.Field{{Name: "Content-Type", Value: "application/json"}},
		})
	})
	ended := later(r.Queue.Now(), began.Add(time.Microsecond))
	bytes := int64(0)
	if outcome.Response != nil {
		bytes = int64(2 * len(outcome.Response.Body)) // stands in the log when it is given up
	}
	answered(bytes)
	if f := outcome.Failure; f != nil && f.Kind == job.KindCancelled {
		// The account was deleted, and so the message goes.
		r.finish(ctx, store.Finish{Ref: a.run.Ref, Node: node, Attempt: a.run.Attempt + 1, Delivery: &store.DeliveryEnd{}})
		return
	}
	r.finish(ctx, record.EndDelivery(a.run, a.run.Attempt+1, node, outcome, ended))
	r.stored(d.Owner.Number)
}
