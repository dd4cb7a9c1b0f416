package attempt

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/tracing"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// Secrets reads the secrets and keys that sign an account's requests.
type Secrets interface {
	// SigningSecrets returns a NotFound fault if the account was deleted:
	// nothing is sent or stored for it any more.
	SigningSecrets(ctx context.Context, account int64) (execute.Signing, error)
	// TokenKey returns the key that signs tokens for receivers of the QStash API, or an
	// error as SigningSecrets does.
	TokenKey(ctx context.Context, account int64) (execute.Secret, error)
}

// Vault sends requests with the values of the secrets that their headers name.
type Vault interface {
	Do(ctx context.Context, owner job.Owner, request execute.Request, proof secret.Proof) job.Outcome
	// Certificate returns the client certificate that a secret had when it was used
	// last, as far as it is in memory; else nil.
	Certificate(owner job.Owner, name string) *execute.Certificate
}

// Logs reads the logs that delivery bodies refer to.
type Logs interface {
	// LogGet returns one of an account's logs, or a NotFound fault.
	LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error)
	// JobTrail reads the latest attempts of one of an account's jobs.
	JobTrail(ctx context.Context, owner job.Owner, number int64, limit int) (*job.Trail, error)
}

// Client sends requests; see execute.Client.
type Client interface {
	Do(ctx context.Context, request execute.Request) job.Outcome
	Prewarm(party execute.Party, url string, n int, recent bool)
}

// Config configures a Runner.
type Config struct {
	Queue   Queue
	Jobs    Jobs
	Client  Client
	Secrets Secrets
	Vault   Vault      // sends the requests of jobs that use secrets or prove who calls
	Sealer  job.Sealer // of what jobs hide; nil encrypts nothing
	Logs    Logs
	Groups  Groups
	Runs    Runs
	// Admit returns a TooMany fault if an account can't store so many more jobs, or a
	// Forbidden one if it is suspended; nil admits all.
	Admit func(ctx context.Context, account int64, jobs int) error
	// TimedOut ends a wait of a workflow run whose time is over.
	TimedOut func(ctx context.Context, owner job.Owner, wait workflow.Key) error
	Metrics  *metrics.Metrics
	Tracer   *tracing.Tracer // nil for no spans
	Stats    Stats           // may be nil
	// CompletionURL is the address at which targets report outcomes, to which a
	// token is appended; "" if there is none.
	CompletionURL string
	Completions   Completions
	// Mail sends the e-mails of alerts; nil if the service can't send any.
	Mail Mailer
	// Stored is called with the account for which something was stored. It must
	// not block. May be nil.
	Stored func(account int64)
	// Listeners answer requests in place of targets; nil if there are none.
	Listeners Listeners
	// LimitStarted is called when the request of an attempt of a job leaves that limits
	// have granted until a time. It must not block. May be nil.
	LimitStarted func(account, job int64, keys []string, until, at time.Time)
	// LimitsFreed is called when an attempt was ended that its target did not
	// complete, with the keys of the limits that it may have taken. It must not
	// block. May be nil.
	LimitsFreed func(account int64, keys []string)
	// Random returns numbers from 0 to 1, by which retries are spread; nil for
	// those of math/rand.
	Random func() float64
	Log    *slog.Logger
}

// Stats counts jobs' attempts by account.
type Stats interface {
	Observe(account int64, succeeded bool, lateness, duration time.Duration)
}

// Runner carries out attempts.
type Runner struct {
	Config
	finishes   *batch.Batcher[store.Finish, bool]
	messages   *budget
	lastLogged atomic.Int64 // nanoseconds since 1970
}

// deliveryTimeout is the timeout of a callback or webhook request.
const deliveryTimeout = 30 * time.Second

// New returns a Runner. The caller must Close it after the last attempt.
func New(config Config) *Runner {
	if config.Random == nil {
		config.Random = rand.Float64
	}
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

// finishBytes bounds the bytes of outcomes that share a commit, waitingBytes
// those that wait for one; one account may use a quarter of the latter. An
// attempt whose outcome has no room keeps its slot.
const (
	finishBytes  = 2 << 20
	waitingBytes = 32 << 20
)

// Close waits until every outcome is stored.
func (r *Runner) Close() { r.finishes.Close() }

// WaitingBytes returns about how many bytes of outcomes wait for a commit.
func (r *Runner) WaitingBytes() int { return r.finishes.Bytes() }

// Prepare prepares an attempt of an item that was loaded to be claimed.
func (r *Runner) Prepare(item *store.QueueItem, now time.Time) dispatch.Attempt {
	if item.Kind == store.KindDelivery {
		return &deliveryAttempt{runner: r, item: item, begin: schedule.Later(item.Due, now)}
	}
	a := &jobAttempt{runner: r, Attempt: lifecycle.Begin(item, now, r.Sealer), prepared: now}
	if r.CompletionURL == "" {
		a.NotCompletable()
	}
	a.reportDefect()
	return a
}

// Prewarm opens up to n connections to the receiver of item, whose requests are
// due soon. It leaves errors to the attempts.
func (r *Runner) Prewarm(item *store.QueueItem, n int) {
	if item.Kind == store.KindDelivery {
		if d := item.Delivery; d.Channel != job.AlertMail {
			r.Client.Prewarm(deliveryParty(d), d.URL, n, !lifecycle.DeliveryRetriedAtOnce(item.Attempt+1))
		}
		return
	}
	spec, party := job.ReadSpec(item.Job.Args), jobParty(item.Job)
	if spec.Group != "" {
		return
	}
	if name := spec.Auth.MTLS; name != "" {
		if r.Vault == nil {
			return
		}
		if party.Certificate = r.Vault.Certificate(item.Job.Owner, name); party.Certificate == nil {
			return // a connection without it would be of no use
		}
	}
	r.Client.Prewarm(party, spec.URL, n, !lifecycle.RetriedAtOnce(&spec, item.Attempt+1))
}

// jobParty returns whom a job's requests are sent for.
func jobParty(j *job.Job) execute.Party {
	return execute.Party{Account: j.Owner.Number, Purpose: execute.ForJob}
}

func deliveryParty(d *job.Delivery) execute.Party {
	return execute.Party{Account: d.Owner.Number, Purpose: execute.ForDelivery}
}

func (r *Runner) stored(account int64) {
	if r.Stored != nil {
		r.Stored(account)
	}
}

// send sends a request, with the values of the secrets that its header names. The
// outcome shows neither these nor where the attempt is completed.
func (r *Runner) send(ctx context.Context, owner job.Owner, request execute.Request, proof secret.Proof) job.Outcome {
	// A listener that stands for other targets gets the placeholders of secrets, which
	// are for these targets only.
	if r.Vault == nil || request.Divert || !secret.Needed(request.Header) && !proof.Any() {
		return secret.HideAddress(request.Complete, r.Client.Do(ctx, request))
	}
	outcome := secret.HideAddress(request.Complete, r.Vault.Do(ctx, owner, request, proof))
	if f := outcome.Failure; f != nil && f.Kind == job.KindInterrupted && f.Wait > 0 && !f.Local {
		r.logLimited("reading secrets failed; attempts will be retried", errors.New(f.Message))
	}
	return outcome
}

// try is a request to be sent.
type try struct {
	kind    string
	owner   job.Owner
	due     time.Time
	request execute.Request
	proof   secret.Proof
	judge   func(*job.Outcome) lifecycle.Verdict // decides what statistics and metrics count
}

// do sends a request.
func (r *Runner) do(ctx context.Context, t try) job.Outcome {
	account, request := t.owner.Number, t.request
	lateness := r.Queue.Now().Sub(t.due)
	r.Metrics.Begun(t.kind, lateness)
	signing, err := r.Secrets.SigningSecrets(ctx, account)
	if err == nil && request.Token {
		request.TokenKey, err = r.Secrets.TokenKey(ctx, account)
	}
	if err != nil && (errors.Is(context.Cause(ctx), execute.ErrCancelled) || fault.CodeOf(err) == fault.NotFound) {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindCancelled, Message: "the job was cancelled before the request was sent"}}
	}
	if errors.Is(err, execute.ErrSealed) {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindSecret, Message: err.Error() + "; nothing was sent"}}
	}
	if err != nil {
		// A careful receiver would refuse an unsigned request. The attempt is
		// retried when the store is back.
		r.logLimited("reading signing secrets failed; attempts will be retried", err)
		pause.For(ctx, time.Second)
		return notSent("the signing secrets could not be read; the attempt will be retried")
	}
	request.Signing = signing
	outcome := r.send(ctx, t.owner, request, t.proof)
	if f := outcome.Failure; f != nil && f.Local {
		r.logLimited("this machine has run out of resources for connections; attempts will be retried", errors.New(f.Message))
	}
	verdict := t.judge(&outcome)
	r.Metrics.Attempted(t.kind, outcomeName(&outcome, verdict), outcome.Duration)
	if r.Stats != nil && t.kind == kindJob && counts(&outcome) && verdict != lifecycle.Awaiting {
		r.Stats.Observe(account, verdict == lifecycle.Succeeded, lateness, outcome.Duration)
	}
	return outcome
}

// The kinds of attempts, as metrics name them.
const (
	kindJob      = "job"
	kindDelivery = "delivery"
)

// counts reports whether an attempt ended by itself, so that statistics include
// it.
func counts(o *job.Outcome) bool {
	return o.Failure == nil || o.Failure.Kind != job.KindCancelled && o.Failure.Kind != job.KindInterrupted
}

func outcomeName(o *job.Outcome, v lifecycle.Verdict) string {
	switch {
	case v == lifecycle.Succeeded:
		return "success"
	case v == lifecycle.Awaiting:
		return "awaiting"
	case o.Failure != nil:
		return string(o.Failure.Kind)
	default:
		return string(job.KindStatus)
	}
}

// jobAttempt is an attempt of a job.
type jobAttempt struct {
	*lifecycle.Attempt
	runner   *Runner
	prepared time.Time
	trace    *tracing.Span
	earlier  earlier       // attempts; only for jobs of the Google-compatible APIs
	message  []byte        // the body of a message of a workflow run, in place of the job's own; nil for others
	run      *workflow.Run // that the route is told of
	first    bool          // the message starts it
	asked    time.Time     // when the run was read last; zero for other jobs
	// restarted is when it started after a standstill of the process; nil for none.
	restarted atomic.Pointer[time.Time]
}

// Restart implements dispatch.Attempt. A run stands for the points of its schedule up to
// its start, so none of them has a run of its own.
func (a *jobAttempt) Restart(at time.Time) {
	a.restarted.Store(&at)
	a.StartsAt(at)
}

// Fire implements dispatch.Attempt.
func (a *jobAttempt) Fire(ctx context.Context, node int64, began time.Time, leave func() bool, requestDone func(bytes int64)) {
	r, j := a.runner, a.Item.Job
	r.stored(j.Owner.Number)
	defer r.stored(j.Owner.Number)
	if a.StartsAt(began); a.Expired != nil {
		r.expire(ctx, a, node, began, requestDone)
		return
	}
	a.begun(began)
	a.recall(ctx)
	var failed *job.Outcome
	if a.FansOut() && a.Refused == nil {
		if failed = r.fanOut(ctx, a, node, began, requestDone); failed == nil {
			return
		}
	}
	if failed == nil {
		give, ended, outcome := r.proceed(ctx, a, node, began, requestDone)
		defer func() { give() }()
		if ended {
			return
		}
		failed = outcome
	}
	outcome := r.guarded(kindJob, j.Number, func() job.Outcome {
		if failed != nil {
			return *failed
		}
		if a.Refused != nil {
			return a.refuse()
		}
		request, left := a.limited(a.request(), a.wanted(ctx, leave))
		defer left()
		if outcome := a.listened(ctx, &request); outcome != nil {
			return *outcome
		}
		return r.do(ctx, try{kindJob, j.Owner, a.Item.Due, request, a.proof(), a.judge})
	})
	a.traced(&outcome)
	bytes := a.recordBytes(&outcome)
	if f := outcome.Failure; f != nil && f.Kind == job.KindCancelled {
		requestDone(bytes)
		return // the cancel has stored it, or the account is being deleted
	}
	var f *store.Finish
	err := fault.Guard(func() error {
		end := a.Finish(node, outcome, a.span(began))
		end.Decide = r.decided(a.Item, end.Decide)
		f = &end
		return nil
	})
	aside := func() []store.Finish { return a.Unstored(node, a.span(began)) }
	if r.finish(ctx, f, err, aside, func() { requestDone(bytes) }) && a.Result.Final() {
		r.Metrics.Finished(a.Result.String())
	}
}

// span returns the time of an attempt that ends now: always after it began.
func (a *jobAttempt) span(began time.Time) lifecycle.Span {
	if at := a.restarted.Load(); at != nil {
		began = schedule.Later(began, *at)
	}
	ended := schedule.Later(a.runner.Queue.Now(), began.Add(time.Microsecond))
	return lifecycle.Span{Began: began, Ended: ended, Random: a.runner.Random()}
}

// proof returns how the request proves who sends it.
func (a *jobAttempt) proof() secret.Proof {
	j := a.Item.Job
	return secret.Proof{Auth: a.Spec.Auth, Claims: issuer.Claims{ID: messageID(j), Job: j.Number, Schedule: j.ScheduleID,
		Timeout: a.Spec.Timeout}}
}

// messageID returns the webhook-id of a job's requests.
func messageID(j *job.Job) string { return "job_" + j.ID.String() }

func (a *jobAttempt) judge(o *job.Outcome) lifecycle.Verdict { return lifecycle.Judge(&a.Spec, o) }

// Size implements dispatch.Attempt.
func (a *jobAttempt) Size() int64 {
	n := job.Size(a.Item.Job) + 2*len(a.Outgoing.Body) + len(a.Outgoing.URL)
	if s := a.Item.Schedule; s != nil {
		n += job.ScheduleSize(s)
	}
	return int64(n)
}

// recordBytes returns about how many bytes a response and its log hold: the log
// has the header and the body as JSON text, which is longer. Deliveries refer to the log.
func (a *jobAttempt) recordBytes(o *job.Outcome) int64 {
	if o.Response == nil {
		return 0
	}
	n := len(o.Response.Body)
	for name, values := range o.Response.Header {
		for _, value := range values {
			n += len(name) + len(value)
		}
	}
	return int64(4 * n)
}

func (a *jobAttempt) request() execute.Request {
	out, j := a.Outgoing, a.Item.Job
	request := execute.Request{
		Party: jobParty(j), Recent: !lifecycle.RetriedAtOnce(&a.Spec, a.Number),
		Method: out.Method, URL: out.URL, Body: out.Body, Timeout: a.Spec.Timeout, FollowRedirects: true,
		MessageID: messageID(j), Hops: j.Hops + 1,
		Own: []execute.Field{
			{Name: "X-Punctual-Job-Id", Value: strconv.FormatInt(j.Number, 10)},
			{Name: "X-Punctual-Attempt", Value: strconv.Itoa(a.Number)},
			{Name: "X-Punctual-Scheduled-At", Value: job.FormatTime(j.ScheduledAt)},
		},
	}
	if a.message != nil {
		request.Body = a.message
	}
	if j.ScheduleID != uuid.Nil {
		request.Own = append(request.Own, execute.Field{Name: pointsField})
		a.sayPoints(request.Own)
	}
	if a.Token != "" {
		request.Complete, request.Plain = a.runner.CompletionURL+a.Token, true
	}
	if out.ContentType != "" {
		request.Own = append(request.Own, execute.Field{Name: "Content-Type", Value: out.ContentType})
	}
	for _, f := range out.Header {
		request.Header = append(request.Header, execute.Field(f))
	}
	a.speak(&request)
	propagate(a.trace, &request)
	return request
}
