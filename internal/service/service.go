package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/store"
)

// Engine is what this process does with jobs' runs.
type Engine interface {
	Revoke(job int64, beginAt time.Time) dispatch.ClaimState
	Restore(job int64)
	Abort(job int64)
}

// Config of a Manager.
type Config struct {
	Store   store.Store
	Engine  Engine
	Metrics *metrics.Metrics
	// CheckHost reports why a host, which may carry a port, may not be a target;
	// nil permits all.
	CheckHost func(host string) string
	// Followers hear of what was changed; nil when there are none.
	Listener Listener
	// Quotas limits what accounts may store; nil permits all.
	Quotas *quota.Book
}

// Followers are told of changes, and must not block.
type Listener interface {
	// Changed tells of a job that was created or changed, Wake that something
	// else of an account was.
	Changed(j *job.Job)
	Wake(account int64)
}

// Manager carries out what clients ask for.
type Service struct {
	Config
	creates *batch.Batcher[store.NewJob, store.Inserted]
	// capped are creates by accounts with limits. They are stored apart, since
	// they may have to be counted, or to wait for other nodes.
	capped  *batch.Batcher[store.NewJob, store.Inserted]
	exports exports
}

// How many creates share a commit and wait for one, in all and of one account,
// and how many bytes.
const (
	createBatch        = 1024
	createBytes        = 2 << 20
	createWaiting      = 16_384
	createShare        = createWaiting / 2
	createWaitingBytes = 64 << 20
	createShareBytes   = createWaitingBytes / 4
)

// New makes a Manager. Its owner must Close it after the last request.
func New(config Config) *Service {
	m := &Service{Config: config}
	creates := batch.Config[store.NewJob, store.Inserted]{
		Max: createBatch, Waiting: createWaiting, Do: config.Store.JobInsertMany, Observe: config.Metrics.BatchSize("create"),
		MaxBytes: createBytes, WaitingBytes: createWaitingBytes, Share: createShare, ShareBytes: createShareBytes,
		Size:    func(n store.NewJob) int { return n.Size() },
		Account: func(n store.NewJob) int64 { return n.Job.Owner.Number },
		Divides: store.IsUnstorable,
	}
	m.creates, m.capped = batch.New(creates), batch.New(creates)
	return m
}

// Close waits until every accepted create is stored.
func (m *Service) Close() {
	m.creates.Close()
	m.capped.Close()
}

// Waiting tells how many creates wait for a commit.
func (m *Service) Waiting() int { return m.creates.Len() + m.capped.Len() }

// WaitingBytes returns how many bytes of creates wait for a commit.
func (m *Service) WaitingBytes() int { return m.creates.Bytes() + m.capped.Bytes() }

// Create stores a job from a request's body. Conflict tells that its key was
// held; the job is then the one that holds it.
func (m *Service) Create(ctx context.Context, owner job.Owner, body []byte, headerKey *string) (j *job.Job, conflict bool, err error) {
	if job.Hops(ctx) >= job.MaxHops {
		return nil, false, fault.New(fault.Invalid, job.HopsField+" must be less than "+strconv.Itoa(job.MaxHops)+
			": jobs that create jobs end there; create the job from outside, or use a schedule")
	}
	now := m.Store.Now()
	draft, err := job.Read(body, job.ReadOptions{Now: now, HeaderKey: headerKey, CheckHost: m.CheckHost})
	if err != nil {
		return nil, false, err
	}
	inserted, err := m.insert(ctx, newJob(owner, draft, now, job.Hops(ctx)))
	switch {
	case errors.Is(err, batch.ErrFull):
		return nil, false, &fault.Error{Code: fault.Unavailable, Message: "too many jobs are being created at once; nothing was stored, try again shortly", RetryAfter: time.Second}
	case errors.Is(err, batch.ErrClosed):
		return nil, false, &fault.Error{Code: fault.Unavailable, Message: "the service is stopping; nothing was stored, try again shortly", RetryAfter: time.Second}
	case err != nil:
		return nil, false, err
	}
	m.Metrics.Created(inserted.Conflict)
	if m.Listener != nil && !inserted.Conflict {
		m.Listener.Changed(inserted.Job)
	}
	return inserted.Job, inserted.Conflict, nil
}

func newJob(owner job.Owner, draft *job.Draft, now time.Time, hops int) store.NewJob {
	n := store.NewJob{Lane: job.Lane(draft.URL), Job: &job.Job{
		ID: job.NewID(now), Owner: owner, Key: draft.Key, Name: draft.Name, Description: draft.Description,
		InsertedAt: now, ScheduledAt: draft.ScheduledAt, State: job.Available, DueAt: draft.DueAt, Hops: hops, Args: draft.Args,
	}}
	if draft.Frequency != nil {
		n.Schedule = &job.Schedule{
			ID: job.NewID(now), Owner: owner, Key: draft.Key, Name: draft.Name, Description: draft.Description,
			InsertedAt: now, FirstDue: draft.ScheduledAt, Hops: hops, Args: draft.Args,
		}
		n.Job.ScheduleID = n.Schedule.ID
	}
	return n
}

// Cancel cancels a job and gives it as it is afterwards. A final job stays as
// it is.
func (m *Service) Cancel(ctx context.Context, owner job.Owner, id store.JobID) (*job.Job, error) {
	c := m.coordinate()
	cancelled := false
	j, err := m.changeJob(ctx, owner, id, func(moment *store.Snapshot) *store.Changes {
		c.restart()
		changes := lifecycle.Cancel(c.hasStarted)(moment)
		if cancelled = changes != nil; cancelled {
			c.number = moment.Job.Number
		}
		return changes
	})
	c.end(err == nil && cancelled)
	if err == nil && cancelled {
		m.Metrics.Finished(job.Cancelled.String())
	}
	return j, err
}

// Disable stops a schedule.
func (m *Service) Disable(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	return m.stop(ctx, owner, id, lifecycle.Disable)
}

// Delete removes a schedule.
func (m *Service) Delete(ctx context.Context, owner job.Owner, id uuid.UUID) error {
	_, err := m.stop(ctx, owner, id, lifecycle.Delete)
	return err
}

func (m *Service) stop(ctx context.Context, owner job.Owner, id uuid.UUID, how func(lifecycle.HasStarted) store.Decide) (*job.Schedule, error) {
	c := m.coordinate()
	cancelled := false
	s, err := m.changeSchedule(ctx, owner, id, func(moment *store.Snapshot) *store.Changes {
		c.restart()
		changes := how(c.hasStarted)(moment)
		if cancelled = changes != nil && changes.Job != nil; cancelled {
			c.number = moment.Job.Number
		}
		return changes
	})
	c.end(err == nil && cancelled)
	if err == nil && cancelled {
		m.Metrics.Finished(job.Cancelled.String())
	}
	return s, err
}

// Enable lets a schedule go on.
func (m *Service) Enable(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	return m.changeSchedule(ctx, owner, id, lifecycle.Enable)
}

// changeJob changes a job in the store and tells of it.
func (m *Service) changeJob(ctx context.Context, owner job.Owner, id store.JobID, decide store.Decide) (*job.Job, error) {
	j, err := m.Store.JobChange(ctx, owner, id, decide)
	if err == nil && m.Listener != nil {
		m.Listener.Changed(j)
	}
	return j, err
}

// changeSchedule changes a schedule in the store and tells of it.
func (m *Service) changeSchedule(ctx context.Context, owner job.Owner, id uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	s, err := m.Store.ScheduleChange(ctx, owner, id, decide)
	if err == nil && m.Listener != nil {
		m.Listener.Wake(owner.Number)
	}
	return s, err
}

// coordination keeps the engine and a change of a job in step: the run is
// revoked while the change is decided, then aborted when the change is stored
// and restored when it is not.
type coordination struct {
	engine  Engine
	revoked int64
	number  int64 // the job that was cancelled
}

func (m *Service) coordinate() *coordination { return &coordination{engine: m.Engine} }

// reach is how long a change may take to get to the node whose attempt it ends.
const reach = 25 * time.Millisecond

// begun implements record.Begun: this process knows for certain; of another's
// claim its time tells. One whose time comes before the other can have heard of
// the change counts as begun: it may well be made.
func (c *coordination) hasStarted(j *job.Job, claim *store.ClaimInfo, now time.Time) bool {
	standing := c.engine.Revoke(j.Number, claim.StartAt)
	if standing == dispatch.NotOwned {
		return !claim.StartAt.After(now.Add(reach))
	}
	c.revoked = j.Number
	return standing == dispatch.Started
}

// restart takes back what a decision that is made once more had begun.
func (c *coordination) restart() {
	if c.revoked != 0 {
		c.engine.Restore(c.revoked)
		c.revoked = 0
	}
}

func (c *coordination) end(stored bool) {
	switch {
	case stored:
		c.engine.Abort(c.number)
	case c.revoked != 0:
		c.engine.Restore(c.revoked)
	}
}
