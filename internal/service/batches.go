package service

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// MaxBatch is the largest number of items of a batch.
const MaxBatch = 1000

// Limits of batches that wait for the store, in number and in bytes of args. One
// batch is stored at a time, so that other writes wait for one at most.
const (
	batchesWaiting      = 64
	batchesShare        = 16
	batchesWaitingBytes = 64 << 20
	batchesShareBytes   = batchesWaitingBytes / 4
)

// yieldBytes is after how many bytes of items a batch lets other goroutines run. An
// attempt that is due would wait up to 10 ms for the processor otherwise.
const yieldBytes = 2 << 10

func (s *Service) newBatches() *batch.Batcher[*Batch, []store.Inserted] {
	return batch.New(batch.Config[*Batch, []store.Inserted]{
		Max: 1, Waiting: batchesWaiting, Share: batchesShare, WaitingBytes: batchesWaitingBytes, ShareBytes: batchesShareBytes,
		Do: func(ctx context.Context, batches []*Batch) ([][]store.Inserted, error) {
			b := batches[0]
			results, err := s.Store.JobInsertBatch(ctx, b.jobs, b.accept)
			return [][]store.Inserted{results}, err
		},
		Size:    func(b *Batch) int { return b.size },
		Account: func(b *Batch) int64 { return b.jobs[0].Job.Owner.Number },
	})
}

// BatchItem is an item of a batch as it was read: the body of a create request, or
// the fault because of which it can't be one.
type BatchItem struct {
	Body rawjson.Value
	Err  error
}

// Batch is a batch that was checked.
type Batch struct {
	results  []BatchResult
	requests []request // of the items that are right
	places   []int     // of the requests among the items
	jobs     []store.NewJob
	size     int // bytes
	atomic   bool
	ordered  bool // see KeepOrder
	minimal  bool
	then     bool // the last of the items waits for all others
	limits   quota.Limits
	// again returns a function that reads the item at a place again, and returns its
	// fault. It looks each name up once. again is nil if items can't be read again.
	again func() func(place int) error
	// check may end the transaction with an error; nil for none.
	check func([]store.Inserted) error
}

// BatchResult is the result of an item.
type BatchResult struct {
	Job      *job.Job
	Conflict bool // Job is an existing job that holds the key
	// Err is the fault because of which the item was not stored; Job is nil then.
	Err error
}

// ReadBatch checks the items of a batch, of which there must be at least one. If
// the batch is atomic and an item is wrong, its error lists the problems of all
// items, with pointers that begin with the item's index. If it is minimal, the
// results are read for the ids of their jobs only.
func (s *Service) ReadBatch(ctx context.Context, owner job.Owner, items []BatchItem, atomic, minimal bool) (*Batch, error) {
	return s.ReadBatchThen(ctx, owner, items, nil, atomic, minimal)
}

// ReadBatchThen is ReadBatch for a batch with a job, unless it is nil, that waits for all
// others and gets a summary of their ends. Its result is the last one. Problems of it
// always refuse the batch. Pointers begin with #/jobs/INDEX and #/then.
func (s *Service) ReadBatchThen(ctx context.Context, owner job.Owner, items []BatchItem, then *BatchItem, atomic,
	minimal bool) (*Batch, error) {
	if err := access.Allow(ctx, "service.ReadBatchThen"); err != nil {
		return nil, err
	}
	if err := checkHops(ctx); err != nil {
		return nil, err
	}
	b := &Batch{atomic: atomic, minimal: minimal, then: then != nil}
	if b.then {
		items = append(slices.Clip(items), *then)
	}
	b.results = make([]BatchResult, len(items))
	b.again = func() func(int) error {
		reading := s.reading(ctx, owner)
		return func(i int) error {
			_, err := items[i].read(b.options(reading, i, s.Store.Now()))
			return reading.result(err)
		}
	}
	now, from := s.Store.Now(), originOf(ctx)
	reading := s.reading(ctx, owner)
	options := b.options(reading, 0, now)
	read, awaited := 0, 0
	for i := range items {
		if b.isThen(i) {
			options = b.options(reading, i, now)
		}
		if read += len(items[i].Body); read >= yieldBytes {
			read = 0
			runtime.Gosched()
		}
		draft, err := items[i].read(options)
		if err != nil {
			b.results[i].Err = err
			continue
		}
		if awaited += len(draft.Awaited); awaited > store.MaxAwaited {
			b.results[i].Err = tooManyAwaited("#/after/jobs", "the items up to this one wait for "+strconv.Itoa(awaited))
			continue
		}
		n := newJob(owner, draft, now, from)
		n.identify(draft, items[i].Body, now)
		n.Brief = minimal || n.refuses
		b.requests, b.places, b.jobs = append(b.requests, n), append(b.places, i), append(b.jobs, n.NewJob)
		b.size += n.Size()
	}
	err := reading.result(nil)
	if err == nil {
		err = s.answered(ctx, owner, bodiesOf(items), b.results, minimal)
	}
	if err != nil {
		return b, err
	}
	b.awaitOthers()
	var problems fault.Problems
	for i := range b.results {
		if b.results[i].Err != nil && (atomic || b.isThen(i)) {
			problems.AddAt(b.pointer(i), b.results[i].Err)
		}
	}
	return b, problems.Err()
}

// options returns the options for reading the i-th item.
func (b *Batch) options(r reading, i int, now time.Time) job.ReadOptions {
	options := r.createOptions(now, nil)
	options.NoGroup = "can't be given in a batch; create the jobs of a group with POST /api/jobs"
	if b.isThen(i) {
		options.Then, options.NoAfter = true, "can't be given in then, which waits for the jobs of the batch"
	}
	return options
}

// gone sets the faults of items whose requests, numbered in gone, name what is not there:
// what a reading says now, if it does.
func (b *Batch) gone(gone []int) {
	read := func(int) error { return nil }
	if b.again != nil && len(gone) > 0 {
		read = b.again()
	}
	for _, k := range gone {
		if err := read(b.places[k]); err != nil {
			b.results[b.places[k]].Err = err
		}
	}
}

// allGone returns the fault for a batch of which a job names what is not there.
func (b *Batch) allGone() error {
	if b.again == nil {
		return store.ErrNameGone
	}
	var problems fault.Problems
	read := b.again()
	for k := range b.jobs {
		if len(b.jobs[k].Names) == 0 || problems.Full() {
			continue
		}
		err := read(b.places[k])
		switch {
		case err == nil:
		case fault.CodeOf(err) == fault.Unavailable:
			return err
		default:
			problems.AddAt(b.pointer(b.places[k]), err)
		}
	}
	if err := problems.Err(); err != nil {
		return err
	}
	return store.ErrNameGone
}

// isThen reports whether the i-th item waits for the others.
func (b *Batch) isThen(i int) bool { return b.then && i == len(b.results)-1 }

// pointer returns the pointer to an item.
func (b *Batch) pointer(i int) string {
	switch {
	case b.isThen(i):
		return "#/then"
	case b.then:
		return "#/jobs/" + strconv.Itoa(i)
	}
	return "#/" + strconv.Itoa(i)
}

// awaitOthers makes the job that waits for the others do so, unless there are none.
func (b *Batch) awaitOthers() {
	last := len(b.requests) - 1
	if !b.then || last < 0 || !b.isThen(b.places[last]) {
		return
	}
	await := &store.Await{Batch: true}
	for i := range b.results {
		// Requests that were answered before, and would be refused now.
		if j := b.results[i].Job; j != nil && !b.isThen(i) &&
			!slices.ContainsFunc(await.Jobs, func(a job.AwaitedJob) bool { return a.Number == j.Number }) {
			await.Jobs = append(await.Jobs, job.AwaitedJob{Number: j.Number, State: j.State})
		}
	}
	if last == 0 && len(await.Jobs) == 0 {
		return
	}
	b.requests[last].Await = await
	b.requests[last].Job.DueAt = job.WaitingDue
	b.jobs[last] = b.requests[last].NewJob
}

// tooManyAwaited returns the fault for a call whose jobs wait for too many.
func tooManyAwaited(pointer, count string) error {
	return fault.Refuse([]fault.Problem{{Pointer: pointer, Detail: "makes the jobs of this call wait for too many: " + count +
		", and a call has at most " +
		strconv.Itoa(store.MaxAwaited) + "; send several calls"}})
}

func bodiesOf(items []BatchItem) []rawjson.Value {
	bodies := make([]rawjson.Value, len(items))
	for i := range items {
		bodies[i] = items[i].Body
	}
	return bodies
}

func (item *BatchItem) read(options job.ReadOptions) (*job.Draft, error) {
	if item.Err != nil {
		return nil, item.Err
	}
	return job.Read(item.Body, options)
}

// CreateBatch stores the jobs of a batch in one transaction and returns the result
// of each item. If an item of an atomic batch can't be stored, it stores none and
// returns a fault.
func (s *Service) CreateBatch(ctx context.Context, b *Batch) ([]BatchResult, error) {
	if len(b.jobs) == 0 {
		return b.results, nil
	}
	account := b.jobs[0].Job.Owner.Number
	if s.Quotas != nil {
		limits, caps, err := s.admit(ctx, account)
		if err != nil {
			return nil, err
		}
		b.limits = limits
		for i := range b.jobs {
			b.jobs[i].Caps = caps
		}
	}
	stored, err := s.storeBatch(ctx, b)
	if errors.Is(err, store.ErrNameGone) {
		return nil, b.allGone()
	}
	if err != nil {
		return nil, refusedCreate(err)
	}
	bytes := 0
	var gone []int
	for k := range stored {
		result := &b.results[b.places[k]]
		if result.Err = b.refused(k, &stored[k]); result.Err != nil {
			if stored[k].Gone {
				gone = append(gone, k)
			}
			continue
		}
		result.Job, result.Conflict = stored[k].Job, stored[k].Conflict
		if !result.Conflict {
			bytes += job.Size(result.Job)
		}
		s.created(&stored[k])
	}
	b.gone(gone)
	if s.Quotas != nil {
		s.Quotas.Added(account, bytes)
	}
	return b.results, nil
}

// KeepOrder has no job stored or changed after one that was refused for a reason that may
// pass: it exceeds a limit of the account, or what it names was deleted since it was read.
// Those after it are refused too. It has no effect on an atomic batch, nor on one with a
// job that waits for the others.
func (b *Batch) KeepOrder() { b.ordered = !b.atomic && !b.then }

// errOvertakes refuses a job that would be stored before one whose names are not there.
var errOvertakes = &fault.Error{Code: fault.Unavailable, RetryAfter: time.Second,
	Message: "an item before this one could not be stored, and the items are to keep their order; this item was not stored, try again shortly"}

// overtakenError means that jobs would be stored or changed after one that was refused for
// now.
type overtakenError struct {
	refusal error // of those after it
	late    []int // the numbers of the requests after it that would be stored or change a job
}

func (e *overtakenError) Error() string {
	return "a job before others is refused: " + e.refusal.Error()
}

// storeBatch stores the jobs of a batch. If they are to keep their order, it leaves out
// those that would be stored or change a job after one that is refused for now.
func (s *Service) storeBatch(ctx context.Context, b *Batch) ([]store.Inserted, error) {
	for {
		stored, err := s.batches.Do(ctx, b)
		var overtaken *overtakenError
		if !errors.As(err, &overtaken) {
			return stored, err
		}
		b.leaveOut(overtaken.late, overtaken.refusal)
	}
}

// leaveOut refuses requests, whose numbers are in order.
func (b *Batch) leaveOut(late []int, refusal error) {
	n := 0
	for k := range b.jobs {
		if len(late) > 0 && late[0] == k {
			b.results[b.places[k]].Err, late = refusal, late[1:]
			continue
		}
		b.requests[n], b.places[n], b.jobs[n] = b.requests[k], b.places[k], b.jobs[k]
		n++
	}
	b.requests, b.places, b.jobs = b.requests[:n], b.places[:n], b.jobs[:n]
}

// overtaken returns an error if a job is stored or changed after one that is refused for
// now.
func (b *Batch) overtaken(stored []store.Inserted) error {
	first := slices.IndexFunc(stored, func(r store.Inserted) bool { return r.Over != store.QuotaNone || r.Gone })
	if first < 0 {
		return nil
	}
	e := &overtakenError{refusal: errOvertakes}
	if over := stored[first].Over; over != store.QuotaNone {
		e.refusal = b.limits.Exceeded(over)
	}
	late := map[uuid.UUID]bool{} // their jobs: what meets one of these would be stored in its place
	for k := first + 1; k < len(stored); k++ {
		r := &stored[k]
		if b.refused(k, r) == nil && (!r.Conflict || r.Changed || r.Job != nil && late[r.Job.ID]) {
			late[r.Job.ID] = true
			e.late = append(e.late, k)
		}
	}
	if e.late == nil {
		return nil
	}
	return e
}

// refused returns the fault for a request that was not stored; nil if it was.
func (b *Batch) refused(k int, inserted *store.Inserted) error {
	if inserted.Over != store.QuotaNone {
		return b.limits.Exceeded(inserted.Over)
	}
	return b.requests[k].refused(inserted)
}

// accept returns the fault because of which a batch is not stored. It is called in
// the transaction.
func (b *Batch) accept(stored []store.Inserted) error {
	if b.check != nil {
		if err := b.check(stored); err != nil {
			return err
		}
	}
	if last := len(stored) - 1; b.then && !b.atomic && b.isThen(b.places[last]) {
		if err := b.refused(last, &stored[last]); err != nil {
			return err
		}
	}
	if b.ordered {
		if err := b.overtaken(stored); err != nil {
			return err
		}
	}
	if !b.atomic {
		return b.showable(stored)
	}
	var held []fault.Problem
	var first string
	created := map[uuid.UUID]int{} // the places of jobs that this batch would create
	for k := range stored {
		err := b.refused(k, &stored[k])
		switch {
		case err == nil:
			if !stored[k].Conflict {
				created[stored[k].Job.ID] = b.places[k]
			}
		case stored[k].Repeated:
			var problems fault.Problems
			problems.AddAt(b.pointer(b.places[k]), err)
			if fault.CodeOf(err) == fault.Gone {
				return err
			}
			return problems.Err()
		case fault.CodeOf(err) != fault.Conflict:
			return err
		case len(held) < fault.MaxProblems:
			message, holder := err.Error(), "job "+strconv.FormatInt(stored[k].Job.Number, 10)
			if place, ok := created[stored[k].Job.ID]; ok {
				// The holder goes with the batch, and its number may be given to another job.
				holder = "item " + strconv.Itoa(place) + " of this batch"
				message = holder + " has the same idempotency key; nothing was stored: leave one of them out, or use another key"
			}
			if first == "" {
				first = message
			}
			held = append(held, fault.Problem{Pointer: b.pointer(b.places[k]) + "/idempotency_key", Detail: "is held by " + holder})
		}
	}
	if held == nil {
		return b.showable(stored)
	}
	return &fault.Error{Code: fault.Conflict, Message: first, Problems: held}
}

// showable returns a fault if the response would show too much of jobs that hold keys.
// Items of one batch may share a job, which was read once then.
func (b *Batch) showable(stored []store.Inserted) error {
	size := 0
	for k := range stored {
		if r := &stored[k]; r.Conflict && !b.minimal && b.refused(k, r) == nil {
			size += job.Size(r.Job)
		}
	}
	if size > store.MaxHeld {
		return store.TooMuchHeld()
	}
	return nil
}
