package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/store"
)

// Create is CreateAll for callers that need the first job only.
func (s *Service) Create(ctx context.Context, owner job.Owner, body []byte, headerKey *string) (j *job.Job, conflict bool, err error) {
	if err := access.Allow(ctx, "service.Create"); err != nil {
		return nil, false, err
	}
	created, err := s.CreateAll(ctx, owner, body, headerKey, nil)
	if err != nil {
		return nil, false, err
	}
	return created.Jobs[0], created.Conflict, nil
}

// CreateAll stores a job from a request's body. If another job holds its
// idempotency key, on_conflict says what happens: if that job is returned, changed
// or not, conflict is true.
//
// A one-off request with a group stores a job for each of its targets. charge, unless it
// is nil, is called with their number before they are stored, and may refuse them.
func (s *Service) CreateAll(ctx context.Context, owner job.Owner, body []byte, headerKey *string,
	charge func(jobs int) error) (*Created, error) {
	if err := access.Allow(ctx, "service.CreateAll"); err != nil {
		return nil, err
	}
	if err := checkHops(ctx); err != nil {
		return nil, err
	}
	return whileGone(func() (*Created, error) { return s.createAll(ctx, owner, body, headerKey, charge) })
}

// createAll is CreateAll, or returns store.ErrNameGone.
func (s *Service) createAll(ctx context.Context, owner job.Owner, body []byte, headerKey *string,
	charge func(jobs int) error) (*Created, error) {
	now := s.Store.Now()
	draft, err := s.read(ctx, owner, body, now, headerKey, job.Read)
	if err != nil {
		j, conflict, err := s.answeredBefore(ctx, owner, body, err)
		if err != nil {
			return nil, err
		}
		created := &Created{Jobs: []*job.Job{j}, Conflict: conflict, Group: job.GroupNamed(body) != "" && j.ScheduleID == uuid.Nil}
		if created.Group {
			created.Jobs, err = s.groupOf(ctx, owner, j)
		}
		return created, err
	}
	if draft.Spec.Group != "" && draft.Frequency == nil {
		return s.createGroup(ctx, owner, draft, now, body, charge)
	}
	n := newJob(owner, draft, now, originOf(ctx))
	n.sentAs(draft, job.CreateRequest(body))
	n.identify(draft, body, now)
	j, conflict, err := s.create(ctx, n)
	if err != nil {
		return nil, err
	}
	return &Created{Jobs: []*job.Job{j}, Conflict: conflict}, nil
}

// create stores a new job; see Create.
func (s *Service) create(ctx context.Context, n request) (j *job.Job, conflict bool, err error) {
	n.Brief = true
	inserted, err := s.insert(ctx, n.NewJob)
	if err != nil {
		return nil, false, refusedCreate(err)
	}
	if inserted.Conflict && !inserted.Changed && inserted.Job != nil {
		free, err := s.freeOpenKey(ctx, n.Job.Owner, inserted.Job, n.KeyInHeader)
		if err != nil {
			return nil, false, err
		}
		if free {
			if inserted, err = s.insert(ctx, n.NewJob); err != nil {
				return nil, false, refusedCreate(err)
			}
		}
	}
	if err := n.refused(&inserted); err != nil {
		return nil, false, err
	}
	s.created(&inserted)
	if !inserted.Conflict || inserted.Changed {
		return inserted.Job, inserted.Conflict, nil
	}
	j, err = s.holder(ctx, n.Job.Owner, inserted.Job.Number)
	if inserted.Repeated && fault.CodeOf(err) == fault.Unavailable {
		err = removedSince()
	}
	return j, true, err
}

// holder reads the job that holds a key. The commit returns its ids only, so that its
// bytes count as those of other reads.
func (s *Service) holder(ctx context.Context, owner job.Owner, number int64) (*job.Job, error) {
	j, err := s.Store.JobGet(ctx, owner, job.Ref{Number: number})
	if fault.CodeOf(err) == fault.NotFound {
		return nil, &fault.Error{
			Code: fault.Unavailable, Message: "the job that held the idempotency key was removed just now; nothing was stored, try again shortly",
			RetryAfter: time.Second, Cause: err,
		}
	}
	return j, err
}

// checkHops ends chains of jobs that create jobs.
func checkHops(ctx context.Context) error {
	if job.Hops(ctx) < job.MaxHops {
		return nil
	}
	return fault.New(fault.Invalid, job.HopsField+" must be less than "+strconv.Itoa(job.MaxHops)+
		": jobs that create jobs end there; create the job from outside, or use a schedule")
}

// refusedCreate returns the fault for a create that the batcher has refused, or the
// error itself.
func refusedCreate(err error) error {
	switch {
	case errors.Is(err, batch.ErrFull):
		return &fault.Error{Code: fault.Unavailable,
			Message: "too many jobs are being created at once; nothing was stored, try again shortly", RetryAfter: time.Second}
	case errors.Is(err, batch.ErrClosed):
		return &fault.Error{Code: fault.Unavailable, Message: "the service is stopping; nothing was stored, try again shortly",
			RetryAfter: time.Second}
	}
	return err
}

// created counts a create and notifies the listener.
func (s *Service) created(inserted *store.Inserted) {
	s.Metrics.Created(inserted.Conflict)
	if s.Listener != nil && (!inserted.Conflict || inserted.Changed) {
		s.Listener.Changed(inserted.Job)
	}
}

// request is a job to create.
type request struct {
	store.NewJob
	refuses  bool // a held key is an error
	replaces bool // the job that holds the key is changed
}

// sentAs notes the call of a draft whose key is in the header Idempotency-Key. Calls
// that replace the job that holds the key may differ.
func (r *request) sentAs(draft *job.Draft, call []byte) {
	if draft.KeyInHeader && !r.replaces {
		r.Job.KeyRequest = call
	}
}

// origin is what a job keeps of the call that creates it.
type origin struct {
	hops  int
	by    job.Actor
	trace []byte
}

func originOf(ctx context.Context) origin {
	return origin{hops: job.Hops(ctx), by: job.ActorOf(ctx), trace: job.TraceOf(ctx)}
}

func newJob(owner job.Owner, draft *job.Draft, now time.Time, from origin) request {
	n := store.NewJob{
		Lane: job.Lane(draft.Spec.URL), KeyInHeader: draft.KeyInHeader && draft.Frequency == nil,
		Resolve: lifecycle.Resolve(&draft.Spec, from.by),
		Job: &job.Job{
			ID: job.NewID(now), Owner: owner, Key: draft.Key, Name: draft.Name, Description: draft.Description,
			InsertedAt: now, ScheduledAt: draft.ScheduledAt, State: job.Available, DueAt: draft.DueAt, Hops: from.hops, Trace: from.trace,
			Args: draft.Args, Hidden: draft.Hidden,
		},
	}
	if len(draft.Awaited) > 0 {
		n.Await = &store.Await{Jobs: draft.Awaited}
	}
	if draft.Frequency != nil {
		n.Schedule = &job.Schedule{
			ID: draft.ScheduleID, Owner: owner, Key: draft.Key, Name: draft.Name, Description: draft.Description,
			InsertedAt: now, FirstDue: draft.Grid.Begin, Hops: from.hops, Args: draft.Args, Hidden: draft.Hidden,
		}
		n.Job.ScheduleID = n.Schedule.ID
	}
	n.Names = store.NamesOf(n.Job.Args, &n.Job.Hidden)
	lifecycle.HoldKey(n.Job, &draft.Spec, draft.KeyInHeader)
	lifecycle.Debounce(n.Job, &draft.Spec)
	return request{NewJob: n, refuses: draft.Spec.OnConflict == job.OnConflictRefuse, replaces: draft.Spec.Replaces()}
}

// refused returns the Conflict fault for a request that was not stored because its
// key is held; nil if it was stored, or if the holder is returned.
func (r *request) refused(inserted *store.Inserted) error {
	if inserted.Gone {
		return store.ErrNameGone
	}
	if inserted.Repeated {
		return repeated(inserted, r.Request)
	}
	if !inserted.Conflict || inserted.Changed || inserted.Job == nil {
		return nil
	}
	holder := inserted.Job
	number := strconv.FormatInt(holder.Number, 10)
	switch {
	case r.refuses:
		return fault.New(fault.Conflict, "job "+number+
			" holds the idempotency key; nothing was stored: wait until the key is free, cancel that job, or use another key")
	case r.replaces && holder.ScheduleID != uuid.Nil:
		return fault.New(fault.Conflict, "schedule "+holder.ScheduleID.String()+" holds the idempotency key, and its job "+number+
			" can't be replaced; nothing was stored: use PUT /api/schedules/key:KEY to change the schedule, or another key")
	case r.Job.KeyRequest != nil:
		return job.RefuseOtherRequest(holder, r.Job)
	}
	return nil
}
