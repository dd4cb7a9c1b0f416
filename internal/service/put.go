package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// Put is a schedule to create or to replace under a key.
type Put struct {
	Key   string
	Draft *job.Draft // with this key; nil removes the schedule
	// Document is the owner of documents that the schedule then belongs to; "" changes
	// none.
	Document string
}

// putOptions are options of putAll.
type putOptions struct {
	// check is called with what holds the keys, in the transaction. Its error cancels
	// all.
	check func(*store.Holders) error
	// document is the owner of the whole document that is applied; "" if there is none.
	document string
	// dryRun changes nothing; the results are what would be done.
	dryRun bool
}

var errDryRun = errors.New("a dry run changes nothing")

// PutResult is what a Put did.
type PutResult struct {
	Schedule *job.Schedule // as it is afterwards
	Created  bool
	Removed  bool
	// Changes is the difference; an existing schedule without one was not changed.
	Changes []job.FieldChange
}

// PutSchedule makes the schedule with a key what a complete request describes, or
// creates it. Of any number of simultaneous calls, one creates it. It returns a
// Conflict fault if a job that is no run of an existing schedule holds the key.
func (s *Service) PutSchedule(ctx context.Context, owner job.Owner, key string, body rawjson.Value, match Match) (*PutResult, error) {
	if err := access.Allow(ctx, "service.PutSchedule"); err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if match.conditional() { // reported before problems of the body, as for other edits
		if err := s.matchKey(ctx, owner, key, match); err != nil {
			return nil, err
		}
	}
	return whileGone(func() (*PutResult, error) { return s.putSchedule(ctx, owner, key, body, match) })
}

// putSchedule is PutSchedule for a key that is right, or returns store.ErrNameGone.
func (s *Service) putSchedule(ctx context.Context, owner job.Owner, key string, body rawjson.Value, match Match) (*PutResult, error) {
	r := s.reading(ctx, owner)
	draft, err := job.ReadSchedule(body, r.replaceOptions(s.Store.Now(), &key))
	if err := r.result(err); err != nil {
		return nil, err
	}
	results, err := s.putAll(ctx, owner, []Put{{Key: key, Draft: draft}}, putOptions{check: func(h *store.Holders) error {
		return match.holds("schedule", revisionOf(h.Keys[0].Schedule))
	}})
	if err != nil {
		return nil, err
	}
	return &results[0], nil
}

func (s *Service) matchKey(ctx context.Context, owner job.Owner, key string, match Match) error {
	found, err := s.Store.ScheduleHolding(ctx, owner, key)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	return match.holds("schedule", revisionOf(found))
}

func revisionOf(s *job.Schedule) int64 {
	if s == nil {
		return 0
	}
	return s.Revision
}

func checkKey(key string) error {
	if why := job.WhyNotKey(key); why != "" {
		return fault.New(fault.Invalid, "the key in the path "+why)
	}
	return nil
}

// putAll creates, replaces or removes schedules in one transaction, all or none,
// and returns what was done for each. The keys must differ.
func (s *Service) putAll(ctx context.Context, owner job.Owner, puts []Put, o putOptions) ([]PutResult, error) {
	caps, exceeded, err := s.admitSchedules(ctx, owner)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(puts))
	for i, p := range puts {
		keys[i] = p.Key
	}
	p := &putting{
		owner: owner, puts: puts, putOptions: o, caps: caps, exceeded: exceeded, from: originOf(ctx), tooManyHops: checkHops(ctx),
		results: make([]PutResult, len(puts)), created: make([]*job.Job, len(puts)), coordination: s.coordinate(),
	}
	over, err := s.Store.SchedulePut(ctx, owner, store.PutKeys{Keys: keys, Document: o.document}, p.decide)
	stored := err == nil && over == store.QuotaNone
	p.coordination.end(stored)
	if over != store.QuotaNone {
		s.Metrics.Refused(string(over))
		return nil, exceeded(over)
	}
	if errors.Is(err, errDryRun) {
		return p.results, nil
	}
	if err != nil {
		return nil, err
	}
	s.putDone(owner, p)
	return p.results, nil
}

// putDone tells the quotas, the metrics and the listener about schedules.
func (s *Service) putDone(owner job.Owner, p *putting) {
	for range p.cancelled {
		s.Metrics.Finished(job.Cancelled.String())
	}
	changed := false
	for i, r := range p.results {
		changed = changed || r.Created || r.Removed || len(r.Changes) > 0
		if !r.Created {
			continue
		}
		s.Metrics.Created(false)
		if s.Quotas != nil {
			s.Quotas.Added(owner.Number, len(r.Schedule.Args)+r.Schedule.Hidden.Size())
		}
		if s.Listener != nil {
			s.Listener.Changed(p.created[i])
		}
	}
	if changed && s.Listener != nil {
		s.Listener.Wake(owner.Number)
	}
}

// putting decides about schedules that are created or replaced together.
type putting struct {
	owner job.Owner
	puts  []Put
	putOptions
	caps         store.Caps
	removed      int64 // how many schedules are removed
	exceeded     func(store.Quota) error
	from         origin
	tooManyHops  error
	results      []PutResult
	created      []*job.Job // the first runs of those that were created
	cancelled    int        // the pending runs of those that were removed
	coordination *coordination
}

func (p *putting) decide(h *store.Holders) ([]*store.Changes, error) {
	p.coordination.restart()
	p.cancelled, p.removed = 0, 0
	if err := p.check(h); err != nil {
		return nil, err
	}
	grown := 0
	for i, h := range h.Keys {
		if h.Schedule == nil && p.tooManyHops != nil {
			return nil, p.tooManyHops
		}
		if h.Schedule != nil && p.puts[i].Draft != nil {
			grown += p.puts[i].Draft.Size() - len(h.Schedule.Args) - h.Schedule.Hidden.Size()
		}
		if h.Schedule != nil && p.puts[i].Draft == nil {
			p.removed++
		}
		if h.OneOff != nil {
			return nil, keyHeld(p.puts[i].Key, h.OneOff)
		}
	}
	if grown > 0 && p.caps.Full {
		return nil, p.exceeded(store.QuotaStored)
	}
	changes := make([]*store.Changes, len(h.Keys))
	for i := range h.Keys {
		var err error
		if changes[i], err = p.one(i, &h.Keys[i]); err != nil {
			return nil, err
		}
	}
	if p.dryRun {
		return nil, errDryRun
	}
	return changes, nil
}

// capsOfNew returns the limits for the schedules that are created. The store counts
// the schedules before it removes any, so those make room for as many new ones.
func (p *putting) capsOfNew() store.Caps {
	caps := p.caps
	if caps.Schedules > 0 {
		caps.Schedules += p.removed
	}
	return caps
}

// keyHeld returns the fault of a schedule whose key a one-off job holds.
func keyHeld(key string, by *job.Job) error {
	text := fmt.Sprintf("the key %q is held by job %d (%s) until that is final; use another key, or cancel the job", key, by.Number, by.ID)
	if by.State.Final() {
		text = fmt.Sprintf("the key %q is held by job %d (%s) until %s, as its throttle says; use another key, or wait",
			key, by.Number, by.ID, job.FormatTime(by.HeldUntil))
	}
	return fault.New(fault.Conflict, text)
}

// one decides about one schedule, and sets its result.
func (p *putting) one(i int, h *store.KeyHolder) (*store.Changes, error) {
	draft := p.puts[i].Draft
	switch {
	case draft == nil && p.dryRun:
		p.results[i] = PutResult{Schedule: h.Schedule, Removed: true}
		return nil, nil
	case draft == nil:
		p.results[i] = PutResult{Schedule: h.Schedule, Removed: true}
		changes := lifecycle.Delete(p.coordination.hasStarted)(&h.Snapshot)
		if changes.Job != nil {
			p.cancelled++
		}
		return changes, nil
	case h.Schedule == nil:
		if err := draft.Creates(); err != nil {
			return nil, err
		}
		n := newJob(p.owner, draft, h.Now, p.from).NewJob
		n.Caps, n.Schedule.Document = p.capsOfNew(), p.puts[i].Document
		p.results[i], p.created[i] = PutResult{Schedule: n.Schedule, Created: true, Changes: job.Created(draft)}, n.Job
		return &store.Changes{Next: &n}, nil
	}
	edit, err := job.Replace(h.Schedule, draft)
	if err != nil {
		return nil, err
	}
	edit.TakeOver(h.Schedule, p.puts[i].Document)
	p.results[i], p.created[i] = PutResult{Schedule: h.Schedule, Changes: edit.Changes}, nil
	if p.dryRun {
		return nil, nil
	}
	changes := lifecycle.EditSchedule(edit, p.from.by, p.coordination.hasStarted)(&h.Snapshot)
	addNames(&h.Snapshot, changes)
	if changes != nil {
		p.results[i].Schedule = changes.Schedule
	}
	return changes, nil
}
