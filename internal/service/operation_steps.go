package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// stepBytes is approximately how many bytes of args the jobs of one step have.
const stepBytes = 1 << 20

// OperationWork is an operation that this process carries out.
type OperationWork struct {
	// Operation is the operation as stored last.
	Operation *job.Operation
	selection job.Selection
	change    job.OperationChange
}

// ResumeOperation prepares a claimed operation. If its filter or set can't be read,
// as when an older version has stored it, the error is an Invalid fault.
func (s *Service) ResumeOperation(ctx context.Context, o *job.Operation) (*OperationWork, error) {
	selection, err := job.ReadSelection(o.Filter)
	if err != nil {
		return nil, err
	}
	r := s.reading(ctx, o.Owner)
	options := r.options(o.InsertedAt, nil)
	options.CheckSecret = nil // each job is checked
	change, err := job.ReadOperationChange(o.Action, o.Set, options)
	return &OperationWork{Operation: o, selection: selection, change: change}, err
}

// ClaimOperations leases up to limit running operations to a holder; see
// store.Operations.
func (s *Service) ClaimOperations(ctx context.Context, lease store.OperationLease, limit int) ([]*job.Operation, error) {
	return s.Store.OperationClaim(ctx, lease, limit)
}

// ReleaseOperations ends a holder's leases.
func (s *Service) ReleaseOperations(ctx context.Context, holder uuid.UUID) error {
	return s.Store.OperationRelease(ctx, holder)
}

// StepOperation carries out a small part of an operation in one transaction: it
// finds a page of jobs or, when all are found, changes up to most of them. It
// returns how many jobs were changed or skipped. refused says why jobs were skipped
// that can't be changed because of a defect or because the store refuses it. The error is store.ErrNotHeld if
// the operation was stopped or taken over.
func (s *Service) StepOperation(ctx context.Context, w *OperationWork, lease store.OperationLease, most int) (n int, refused, err error) {
	ctx, release := admission.Hold(ctx)
	defer release()
	o := w.Operation
	if o.ScanAfter != 0 {
		found, next, err := s.match(ctx, o.Owner, &w.selection, o.ScanAfter, ofJobs.records)
		if err != nil {
			return 0, nil, err
		}
		return 0, nil, w.saved(s.Store.OperationMatch(ctx, o, lease, found, next))
	}
	numbers, err := s.nextJobs(ctx, o, most)
	if err != nil {
		return 0, nil, err
	}
	if len(numbers) == 0 {
		return 0, nil, w.saved(s.Store.OperationMatch(ctx, o, lease, nil, 0)) // finishes it
	}
	for {
		refused, err := s.applyStep(ctx, w, lease, numbers)
		switch {
		case err == nil:
			return len(numbers), refused, nil
		case !store.IsUnstorable(err):
			return 0, nil, err
		case len(numbers) == 1:
			return 1, err, s.skipFailed(ctx, w, lease, numbers)
		}
		numbers = numbers[:len(numbers)/2]
	}
}

func (w *OperationWork) saved(o *job.Operation, err error) error {
	if err == nil {
		w.Operation = o
	}
	return err
}

// nextJobs returns the jobs of the next step: up to most, and approximately
// stepBytes of their args.
func (s *Service) nextJobs(ctx context.Context, o *job.Operation, most int) ([]int64, error) {
	numbers, err := s.Store.OperationNext(ctx, o, most)
	if err != nil || len(numbers) < 2 {
		return numbers, err
	}
	versions, err := s.Store.JobVersionsOf(ctx, o.Owner, refs(numbers))
	if err != nil {
		return nil, err
	}
	sizes := map[int64]int{}
	for _, version := range versions {
		sizes[version.Number] = version.Size
	}
	size := 0
	for i, number := range numbers {
		if size += sizes[number]; size > stepBytes && i > 0 {
			return numbers[:i], nil
		}
	}
	return numbers, nil
}

func refs(numbers []int64) []job.Ref {
	ids := make([]job.Ref, len(numbers))
	for i, number := range numbers {
		ids[i].Number = number
	}
	return ids
}

// skipFailed skips a job that the store can't change.
func (s *Service) skipFailed(ctx context.Context, w *OperationWork, lease store.OperationLease, numbers []int64) error {
	return w.saved(s.Store.OperationApply(ctx, store.OperationStep{
		Operation: w.Operation, Lease: lease, Numbers: numbers, Begin: func() {},
		Decide: func(int, *store.Snapshot) (*store.Changes, job.Skip) { return nil, job.SkipFailed },
	}))
}

// applyStep changes jobs in one transaction, in step with the engine. refused says why
// some were skipped as failed.
func (s *Service) applyStep(ctx context.Context, w *OperationWork, lease store.OperationLease, numbers []int64) (refused, err error) {
	b := &operationBatch{service: s, work: w, reading: s.reading(ctx, w.Operation.Owner), jobs: make([]operationJob, len(numbers))}
	for i := range b.jobs {
		b.jobs[i].engine = s.coordinate()
	}
	if err := b.prepare(ctx, numbers); err != nil {
		return nil, err
	}
	err = w.saved(s.Store.OperationApply(ctx, store.OperationStep{
		Operation: w.Operation, Lease: lease, Numbers: numbers, Begin: b.begin, Decide: b.decide,
	}))
	b.end(err == nil)
	return b.refused, err
}

// operationBatch decides about the jobs of one step.
type operationBatch struct {
	service *Service
	work    *OperationWork
	reading reading
	jobs    []operationJob
	refused error // why some jobs are broken
}

// operationJob is a job of a step.
type operationJob struct {
	engine *coordination
	// changed reports that the job's claim ends with the change, cancelled that the
	// job is cancelled.
	changed, cancelled bool
	// edit is the change of a reschedule; rerun is the new job of a rerun, which has a
	// number once it is stored; invalid reports that there can't be either.
	edit    *job.Edit
	rerun   *store.NewJob
	invalid bool
	// broken reports that preparing the change panicked.
	broken bool
}

// begin forgets what an earlier try of the transaction decided.
func (b *operationBatch) begin() {
	for i := range b.jobs {
		j := &b.jobs[i]
		j.engine.restart()
		j.changed, j.cancelled = false, false
		if j.rerun != nil {
			j.rerun.Job.Number = 0
		}
	}
}

// decide implements store.OperationStep.
func (b *operationBatch) decide(i int, m *store.Snapshot) (*store.Changes, job.Skip) {
	if b.jobs[i].broken {
		return nil, job.SkipFailed
	}
	switch b.work.Operation.Action {
	case job.CancelJobs:
		return b.cancel(&b.jobs[i], m)
	case job.RunJobs:
		return runNow(m)
	case job.RescheduleJobs:
		return b.reschedule(i, m)
	default:
		return b.rerun(&b.jobs[i], m)
	}
}

func (b *operationBatch) cancel(j *operationJob, m *store.Snapshot) (*store.Changes, job.Skip) {
	changes := lifecycle.Cancel(j.engine.hasStarted)(m)
	if changes == nil {
		return nil, job.SkipFinal
	}
	j.changed, j.cancelled = true, true
	j.engine.cancel(m)
	return changes, ""
}

// runNow makes a pending job due. One that is due already stays as it is and counts
// as done.
func runNow(m *store.Snapshot) (*store.Changes, job.Skip) {
	switch {
	case m.Job.State.Final():
		return nil, job.SkipFinal
	case lifecycle.UnderWay(m):
		return nil, job.SkipStarted
	}
	return lifecycle.RunNow(m), ""
}

func (b *operationBatch) reschedule(i int, m *store.Snapshot) (*store.Changes, job.Skip) {
	j := &b.jobs[i]
	if m.Job.State.Final() {
		return nil, job.SkipFinal
	}
	if m.Job.State == job.Retryable {
		return nil, job.SkipRetrying
	}
	if j.edit == nil || j.edit.Base != m.Job.Revision {
		b.edit(i, m.Job)
	}
	if j.invalid {
		return nil, job.SkipInvalid
	}
	changes := lifecycle.EditJob(j.edit, b.work.Operation.By, j.engine.hasStarted)(m)
	if changes == nil && len(j.edit.Changes) > 0 {
		return nil, job.SkipStarted
	}
	if j.changed = changes != nil; j.changed {
		j.engine.number = m.Job.Number
	}
	return changes, ""
}

// due returns the due time of the job at index i of the step, in the order of the
// jobs' numbers, if due times are spread; zero if they are not.
func (w *OperationWork) due(i int) time.Time {
	if w.change.Spread == 0 {
		return time.Time{}
	}
	begin := schedule.Later(w.Operation.InsertedAt, w.change.Start)
	part := float64(w.Operation.Seen()+int64(i)) / float64(max(1, w.Operation.Matched))
	return begin.Add(time.Duration(float64(w.change.Spread) * part)).Truncate(time.Microsecond)
}

// end tells the engine, the metrics and the listener what was stored.
func (b *operationBatch) end(stored bool) {
	s := b.service
	for i := range b.jobs {
		j := &b.jobs[i]
		j.engine.end(stored && j.changed)
		if !stored {
			continue
		}
		if j.cancelled {
			s.Metrics.Finished(job.Cancelled.String())
		}
		if j.rerun != nil && j.rerun.Job.Number != 0 {
			s.Metrics.Created(false)
			if s.Quotas != nil {
				s.Quotas.Added(j.rerun.Job.Owner.Number, job.Size(j.rerun.Job))
			}
		}
	}
	if stored && s.Listener != nil {
		s.Listener.Wake(b.work.Operation.Owner.Number)
	}
}
