package service

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/store"
)

// Engine controls the jobs that this process has claimed.
type Engine interface {
	Revoke(job int64, startAt time.Time) dispatch.ClaimState
	Restore(job int64)
	Abort(job int64)
	LimitsFreed(account int64, keys []string)
}

// Config configures a Service.
type Config struct {
	// Store keeps the records. Its reads should be bounded; see package admission.
	Store Store
	// Operations may be nil if no operator is served.
	Operations Operations
	Engine     Engine
	Metrics    *metrics.Metrics
	// CheckHost returns why a host, with or without a port, may not be a target;
	// nil permits every host.
	CheckHost func(host string) string
	// AllowHTTP permits targets and receivers with URLs of http.
	AllowHTTP bool
	// Listener is notified of changes; it may be nil.
	Listener Listener
	// Stats may be nil.
	Stats Stats
	// NoCompletion is set if targets have no address to report outcomes at.
	NoCompletion bool
	// NoIssuer is set if the service can't issue tokens.
	NoIssuer bool
	// Secrets knows the secrets that headers may name; nil means that there are
	// none.
	Secrets *secret.Vault
	// Sealer hides what the redact of records names; nil encrypts nothing.
	Sealer job.Sealer
	// Quotas limits what accounts may store; nil means no limits.
	Quotas *quota.Book
	// Audit records edits; nil records nothing.
	Audit *audit.Log
	// Random returns numbers from 0 to 1, by which retries are spread; nil for
	// those of math/rand.
	Random func() float64
	// Operated is called when an operation on many jobs was stored; it may be nil. It
	// must not block.
	Operated func()
}

// A Listener is notified of changes. Its methods must not block.
type Listener interface {
	// Changed reports that a job was created or changed; Wake reports that
	// something else in an account changed.
	Changed(j *job.Job)
	Wake(account int64)
}

// Service carries out clients' requests.
type Service struct {
	Config
	creates *batch.Batcher[store.NewJob, store.Inserted]
	// capped batches the creates of accounts with limits. They are stored
	// separately because they may need a count, or have to wait for other nodes.
	capped  *batch.Batcher[store.NewJob, store.Inserted]
	batches *batch.Batcher[*Batch, []store.Inserted]
	exports exports
	applies turns
	// rehearsing bounds the rehearsals under way.
	rehearsing rehearsing
	// completing has one for each report that is carried out.
	completing chan struct{}
	// runWrites has one for each change of a workflow run that is carried out.
	runWrites chan struct{}
}

// Limits of creates, in number and in bytes: how many share a commit, how many
// may wait for one, and how many of one account may wait.
const (
	createBatch        = 1024
	createBytes        = 2 << 20
	createWaiting      = 16_384
	createShare        = createWaiting / 2
	createWaitingBytes = 64 << 20
	createShareBytes   = createWaitingBytes / 4
)

// New returns a Service. The caller must Close it after the last request.
func New(config Config) *Service {
	if config.Random == nil {
		config.Random = rand.Float64
	}
	s := &Service{Config: config, completing: make(chan struct{}, completing), runWrites: make(chan struct{}, runWrites),
		rehearsing: newRehearsing()}
	creates := batch.Config[store.NewJob, store.Inserted]{
		Max: createBatch, Waiting: createWaiting, Do: config.Store.JobInsertMany, Observe: config.Metrics.BatchSize("create"),
		MaxBytes: createBytes, WaitingBytes: createWaitingBytes, Share: createShare, ShareBytes: createShareBytes,
		Size:    func(n store.NewJob) int { return n.Size() },
		Account: func(n store.NewJob) int64 { return n.Job.Owner.Number },
		Divides: store.IsUnstorable,
	}
	s.creates, s.capped = batch.New(creates), batch.New(creates)
	s.batches = s.newBatches()
	return s
}

// Close waits until every accepted create is stored.
func (s *Service) Close() {
	s.creates.Close()
	s.capped.Close()
	s.batches.Close()
}

// Waiting returns how many creates wait for a commit.
func (s *Service) Waiting() int { return s.creates.Len() + s.capped.Len() + s.batches.Len() }

// WaitingBytes returns how many bytes of creates wait for a commit.
func (s *Service) WaitingBytes() int { return s.creates.Bytes() + s.capped.Bytes() + s.batches.Bytes() }

// Cancel cancels a job that matches and returns its state afterwards. It leaves a final
// job unchanged.
func (s *Service) Cancel(ctx context.Context, owner job.Owner, id job.Ref, match Match) (*job.Job, error) {
	if err := access.Allow(ctx, "service.Cancel"); err != nil {
		return nil, err
	}
	if err := s.reserveJob(ctx, owner, id); err != nil {
		return nil, err
	}
	return s.cancel(ctx, owner, id, match)
}

// reserveJob reads a job that a change will return, so that its bytes count for the
// response. It comes first, because a call must not be refused after its change.
func (s *Service) reserveJob(ctx context.Context, owner job.Owner, id job.Ref) error {
	_, err := s.Store.JobGet(ctx, owner, id)
	return err
}

// reserveSchedule is reserveJob for a schedule.
func (s *Service) reserveSchedule(ctx context.Context, owner job.Owner, id uuid.UUID) error {
	_, err := s.Store.ScheduleGet(ctx, owner, id)
	return err
}

// namesOf is reserveSchedule for a call that creates a run. It returns an Invalid fault
// if the schedule is disabled and names a limit or a secret that can't be used: such
// ones can be deleted while no unfinished job names them.
func (s *Service) namesOf(ctx context.Context, owner job.Owner, id uuid.UUID) error {
	found, err := s.Store.ScheduleGet(ctx, owner, id)
	if err != nil || found.Live() {
		return err
	}
	r := s.reading(ctx, owner)
	err = job.CheckNames(found, r.options(s.Store.Now(), nil))
	return r.result(err)
}

// CancelPending cancels a job unless it is final, and reports whether it did.
func (s *Service) CancelPending(ctx context.Context, owner job.Owner, id job.Ref) (bool, error) {
	if err := access.Allow(ctx, "service.CancelPending"); err != nil {
		return false, err
	}
	_, cancelled, err := s.cancelled(ctx, owner, id, Match{})
	return cancelled, err
}

// cancel is Cancel for callers that have counted the job's bytes.
func (s *Service) cancel(ctx context.Context, owner job.Owner, id job.Ref, match Match) (*job.Job, error) {
	j, _, err := s.cancelled(ctx, owner, id, match)
	return j, err
}

// cancelled is cancel, and reports whether the job was not final before.
func (s *Service) cancelled(ctx context.Context, owner job.Owner, id job.Ref, match Match) (j *job.Job, cancelled bool, err error) {
	c := s.coordinate()
	stale := error(nil)
	j, err = s.changeJob(ctx, owner, id, func(snapshot *store.Snapshot) *store.Changes {
		c.restart()
		if stale = match.holds("job", snapshot.Job.Revision); stale != nil {
			cancelled = false
			return nil
		}
		changes := lifecycle.Cancel(c.hasStarted)(snapshot)
		if cancelled = changes != nil; cancelled {
			c.cancel(snapshot)
		}
		return changes
	})
	if err == nil {
		err = stale
	}
	c.end(err == nil && cancelled)
	if err == nil && cancelled {
		s.Metrics.Finished(job.Cancelled.String())
	}
	return j, cancelled, err
}

// Disable stops a schedule that matches from creating runs.
func (s *Service) Disable(ctx context.Context, owner job.Owner, id uuid.UUID, match Match) (*job.Schedule, error) {
	if err := access.Allow(ctx, "service.Disable"); err != nil {
		return nil, err
	}
	if err := s.reserveSchedule(ctx, owner, id); err != nil {
		return nil, err
	}
	return s.stop(ctx, owner, id, match, lifecycle.Disable, audit.ScheduleDisabled)
}

// Delete deletes a schedule that matches.
func (s *Service) Delete(ctx context.Context, owner job.Owner, id uuid.UUID, match Match) error {
	if err := access.Allow(ctx, "service.Delete"); err != nil {
		return err
	}
	_, err := s.stop(ctx, owner, id, match, lifecycle.Delete, audit.ScheduleDeleted)
	return err
}

// stop changes a schedule with a decision that may end its pending run, and records
// the event unless nothing changed.
func (s *Service) stop(ctx context.Context, owner job.Owner, id uuid.UUID, match Match, how func(lifecycle.HasStarted) store.Decide,
	event string) (*job.Schedule, error) {
	c := s.coordinate()
	cancelled, edited, stale := false, "", error(nil)
	changed, err := s.changeSchedule(ctx, owner, id, func(snapshot *store.Snapshot) *store.Changes {
		c.restart()
		cancelled, edited = false, ""
		if stale = match.holds("schedule", snapshot.Schedule.Revision); stale != nil {
			return nil
		}
		changes := how(c.hasStarted)(snapshot)
		if changes != nil {
			edited = scheduleDetail(snapshot.Schedule)
		}
		if cancelled = changes != nil && changes.Job != nil; cancelled {
			c.cancel(snapshot)
		}
		return changes
	})
	if err == nil {
		err = stale
	}
	c.end(err == nil && cancelled)
	if err == nil && cancelled {
		s.Metrics.Finished(job.Cancelled.String())
	}
	if err == nil && edited != "" {
		s.Audit.Edited(ctx, owner, event, edited)
	}
	return changed, err
}

// Enable lets a disabled schedule that matches create runs again.
func (s *Service) Enable(ctx context.Context, owner job.Owner, id uuid.UUID, match Match) (*job.Schedule, error) {
	if err := access.Allow(ctx, "service.Enable"); err != nil {
		return nil, err
	}
	var refused error
	edited := false
	enabled, err := s.startSchedule(ctx, owner, id, func(snapshot *store.Snapshot) (c *store.Changes) {
		if refused = match.holds("schedule", snapshot.Schedule.Revision); refused == nil {
			c, refused = lifecycle.Enable(snapshot)
		}
		edited = c != nil && refused == nil
		return c
	})
	if err == nil {
		err = refused
	}
	if err == nil && edited {
		s.Audit.Edited(ctx, owner, audit.ScheduleEnabled, scheduleDetail(enabled))
	}
	return enabled, err
}

// changeJob changes a job in the store and notifies the listener.
func (s *Service) changeJob(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error) {
	j, err := s.Store.JobChange(ctx, owner, id, decide)
	if err == nil && s.Listener != nil {
		s.Listener.Changed(j)
	}
	return j, err
}

// changeSchedule changes a schedule in the store and notifies the listener.
func (s *Service) changeSchedule(ctx context.Context, owner job.Owner, id uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	changed, err := s.Store.ScheduleChange(ctx, owner, id, decide)
	if err == nil && s.Listener != nil {
		s.Listener.Wake(owner.Number)
	}
	return changed, err
}

// startSchedule is changeSchedule for a change that may create a run. It returns the fault
// of namesOf.
func (s *Service) startSchedule(ctx context.Context, owner job.Owner, id uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	return whileGone(func() (*job.Schedule, error) {
		if err := s.namesOf(ctx, owner, id); err != nil {
			return nil, err
		}
		return s.changeSchedule(ctx, owner, id, func(snapshot *store.Snapshot) *store.Changes {
			changes := decide(snapshot)
			startNames(snapshot, changes)
			return changes
		})
	})
}

// coordination synchronises the engine with a change of a job: it revokes the
// job's claim while the change is decided, then aborts the job if the change is
// stored and restores the claim if it is not.
type coordination struct {
	engine  Engine
	revoked []int64
	number  int64    // the job that was cancelled or edited; 0 if none
	freed   *job.Job // the job, if it was cancelled and may have had a place in limits
}

func (s *Service) coordinate() *coordination { return &coordination{engine: s.Engine} }

// reach is how long a change may take to reach the node whose attempt it ends.
const reach = 25 * time.Millisecond

// hasStarted implements lifecycle.HasStarted. This process knows the state of
// its own claims. Another node's claim counts as started if it starts before
// that node can have heard of the change, because the attempt may be made.
func (c *coordination) hasStarted(j *job.Job, claim *store.ClaimInfo, now time.Time) bool {
	state := c.engine.Revoke(j.Number, claim.StartAt)
	if state == dispatch.NotOwned {
		return claim.Started(now.Add(reach))
	}
	c.revoked = append(c.revoked, j.Number)
	return state == dispatch.Started
}

// cancel sets the job that is cancelled. One that waits for a retry may keep its place in
// an ordered limit, and no attempt ends that would free it.
func (c *coordination) cancel(m *store.Snapshot) {
	if c.number = m.Job.Number; m.Claim != nil || m.Job.State == job.Retryable {
		c.freed = m.Job
	}
}

// restart restores what an earlier try of the same decision revoked.
func (c *coordination) restart() {
	c.freed = nil
	for _, number := range c.revoked {
		c.engine.Restore(number)
	}
	c.revoked = nil
}

// end aborts the job that was cancelled and those whose claims were revoked if the
// changes were stored; else it restores the claims.
func (c *coordination) end(stored bool) {
	if !stored {
		c.restart()
		return
	}
	if c.number != 0 {
		c.engine.Abort(c.number)
	}
	for _, number := range c.revoked {
		if number != c.number {
			c.engine.Abort(number)
		}
	}
	if c.freed != nil {
		limitsFreed(c.engine, c.freed)
	}
}

// limitsFreed informs the engine that a job has ended which may have awaited its completion
// or a retry. The engine does not know of such a job.
func limitsFreed(engine Engine, j *job.Job) {
	keys, _ := store.LimitsNeeded(j)
	engine.LimitsFreed(j.Owner.Number, keys)
}
