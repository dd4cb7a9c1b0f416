package attempt

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
)

// Secrets gives the secrets that sign an account's requests.
type Secrets interface {
	// SigningSecrets gives a NotFound fault when the account was deleted: nothing
	// is sent or stored for it any more.
	SigningSecrets(ctx context.Context, account int64) ([]execute.Secret, error)
}

// Logs reads the logs that messages refer to.
type Logs interface {
	// LogGet returns one of an account's logs; a NotFound fault when there is none.
	LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error)
}

// Config of a Runner.
type Config struct {
	Queue   store.Queue
	Jobs    Jobs
	Client  *execute.Client
	Secrets Secrets
	Logs    Logs
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
	messages   *budget
	lastLogged atomic.Int64 // when, in nanoseconds since 1970
}

// deliveryTimeout is how long the receiver of a callback or webhook has.
const deliveryTimeout = 30 * time.Second

// New makes a Runner. Its owner must Close it after the last attempt.
func New(config Config) *Runner {
	r := &Runner{Config: config, messages: newBudget(messageBytes, messageShare)}
	r.finishes = batch.New(batch.Config[store.Finish, bool]{
		Max: 1024, Waiting: 8192, Do: r.Queue.QueueFinish, Observe: r.Metrics.BatchSize("finish"),
		MaxBytes: finishBytes, WaitingBytes: waitingBytes, ShareBytes: waitingBytes / 4,
		Size:    func(f store.Finish) int { return f.Size },
		Account: func(f store.Finish) int64 { return f.Account },
		Divides: store.IsUnstorable,
	})
	return r
}

// How many bytes of ends share a commit, and wait for one; of one account a
// quarter of these. An attempt whose end has no room keeps its slot.
const (
	finishBytes  = 2 << 20
	waitingBytes = 32 << 20
)

// Close waits until every finish is stored.
func (r *Runner) Close() { r.finishes.Close() }

// WaitingBytes returns about how many bytes of ends wait for a commit.
func (r *Runner) WaitingBytes() int { return r.finishes.Bytes() }

// Begin prepares an attempt of a run that was read for firing.
func (r *Runner) Prepare(run *store.QueueItem, now time.Time) dispatch.Attempt {
	if run.Kind == store.KindDelivery {
		return &deliveryAttempt{runner: r, run: run, begin: later(run.Due, now)}
	}
	a := &jobAttempt{runner: r, Attempt: lifecycle.Begin(run, now)}
	a.reportDefect()
	return a
}

// Warm opens connections ahead of requests that are due soon: up to n at once
// to the receiver of run. A name or address that can't be reached is left to
// the attempt.
func (r *Runner) Prewarm(run *store.QueueItem, n int) {
	url := ""
	if run.Kind == store.KindDelivery {
		url = run.Delivery.URL
	} else {
		spec := job.ReadSpec(run.Job.Args)
		url = spec.URL
	}
	r.Client.Prewarm(url, n)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (r *Runner) stored(account int64) {
	if r.Stored != nil {
		r.Stored(account)
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
		r.logLimited("reading signing secrets failed; attempts are made again", err)
		pause(ctx, time.Second)
		return notMade("the signing secrets could not be read; the attempt is made again")
	}
	request.Secrets = secrets
	outcome := r.Client.Do(ctx, request)
	if f := outcome.Failure; f != nil && f.Local {
		r.logLimited("this machine has run out of resources for connections; attempts are made again", errors.New(f.Message))
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
	*lifecycle.Attempt
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
	bytes := a.recordBytes(&outcome)
	if f := outcome.Failure; f != nil && f.Kind == job.KindCancelled {
		answered(bytes)
		return // the cancel has recorded it, or the job goes with its account
	}
	var f *store.Finish
	err := fault.Guard(func() error {
		end := a.Finish(node, outcome, began, a.ended(began))
		end.Decide = r.decided(a.Run, end.Decide)
		f = &end
		return nil
	})
	aside := func() []store.Finish { return a.Unstored(node, began, a.ended(began)) }
	if r.finish(ctx, f, err, aside, func() { answered(bytes) }) && a.Result.Final() {
		r.Metrics.Finished(a.Result.String())
	}
}

// ended returns when an attempt that ends now has ended: behind its begin.
func (a *jobAttempt) ended(began time.Time) time.Time {
	return later(a.runner.Queue.Now(), began.Add(time.Microsecond))
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
// stands in the log, and as JSON text it is longer than it was. Messages refer
// to the log.
func (a *jobAttempt) recordBytes(o *job.Outcome) int64 {
	if o.Response == nil {
		return 0
	}
	return int64(4 * len(o.Response.Body))
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
