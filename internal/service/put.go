package service

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// Put is a schedule to create or to replace under a key.
type Put struct {
	Key   string
	Draft *job.Draft // with this key
}

// PutResult is what a Put did.
type PutResult struct {
	Schedule *job.Schedule // as it is afterwards
	Created  bool
	// Changes is the difference; an existing schedule without one was left alone.
	Changes []job.FieldChange
}

// PutSchedule makes the schedule with a key what a complete request describes, or
// creates it. Of any number of simultaneous calls, one creates it. It returns a
// Conflict fault if a job that is no run of an existing schedule holds the key.
func (s *Service) PutSchedule(ctx context.Context, owner job.Owner, key string, body rawjson.Value, match Match) (*PutResult, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if match.Given { // reported before problems of the body, as for other edits
		if err := s.matchKey(ctx, owner, key, match); err != nil {
			return nil, err
		}
	}
	r := s.reading(ctx, owner)
	draft, err := job.ReadSchedule(body, r.options(s.Store.Now(), &key))
	if err := r.result(err); err != nil {
		return nil, err
	}
	results, err := s.putAll(ctx, owner, []Put{{key, draft}}, func(holders []store.KeyHolder) error {
		return match.holds(revisionOf(holders[0].Schedule))
	})
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
	return match.holds(revisionOf(found))
}

func revisionOf(s *job.Schedule) int64 {
	if s == nil {
		return 0
	}
	return s.Revision
}

func checkKey(key string) error {
	if n := utf8.RuneCountInString(key); n < 1 || n > 255 || !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return fault.New(fault.Invalid, "the key in the path must have 1 to 255 characters, and not U+0000")
	}
	return nil
}

// putAll creates or replaces schedules in one transaction, all or none, and returns
// what was done for each. The keys must differ. check is called with what holds
// the keys, in the transaction; its error cancels all. It may be nil.
func (s *Service) putAll(ctx context.Context, owner job.Owner, puts []Put, check func([]store.KeyHolder) error) ([]PutResult, error) {
	caps, exceeded, err := s.admitSchedules(ctx, owner)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(puts))
	for i, p := range puts {
		keys[i] = p.Key
	}
	p := &putting{
		owner: owner, puts: puts, check: check, caps: caps, exceeded: exceeded, by: job.ActorOf(ctx), hops: job.Hops(ctx), tooManyHops: checkHops(ctx),
		results: make([]PutResult, len(puts)), created: make([]*job.Job, len(puts)), coordination: s.coordinate(),
	}
	over, err := s.Store.SchedulePut(ctx, owner, keys, p.decide)
	stored := err == nil && over == store.QuotaNone
	p.coordination.end(stored)
	if over != store.QuotaNone {
		s.Metrics.Refused(string(over))
		return nil, exceeded(over)
	}
	if err != nil {
		return nil, err
	}
	s.putDone(owner, p)
	return p.results, nil
}

// putDone tells the quotas, the metrics and the listener about schedules.
func (s *Service) putDone(owner job.Owner, p *putting) {
	changed := false
	for i, r := range p.results {
		changed = changed || r.Created || len(r.Changes) > 0
		if !r.Created {
			continue
		}
		s.Metrics.Created(false)
		if s.Quotas != nil {
			s.Quotas.Added(owner.Number, len(r.Schedule.Args))
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
	owner        job.Owner
	puts         []Put
	check        func([]store.KeyHolder) error
	caps         store.Caps
	by           job.Actor
	exceeded     func(store.Quota) error
	hops         int
	tooManyHops  error
	results      []PutResult
	created      []*job.Job // the first runs of those that were created
	coordination *coordination
}

func (p *putting) decide(holders []store.KeyHolder) ([]*store.Changes, error) {
	p.coordination.restart()
	if p.check != nil {
		if err := p.check(holders); err != nil {
			return nil, err
		}
	}
	grown := 0
	for i, h := range holders {
		if h.Schedule == nil && p.tooManyHops != nil {
			return nil, p.tooManyHops
		}
		if h.Schedule != nil {
			grown += len(p.puts[i].Draft.Args) - len(h.Schedule.Args)
		}
		if h.OneOff != nil {
			return nil, fault.New(fault.Conflict, fmt.Sprintf("the key %q is held by job %d (%s) until that is final; use another key, or cancel the job",
				p.puts[i].Key, h.OneOff.Number, h.OneOff.ID))
		}
	}
	if grown > 0 && p.caps.Full {
		return nil, p.exceeded(store.QuotaStored)
	}
	changes := make([]*store.Changes, len(holders))
	for i := range holders {
		changes[i] = p.one(i, &holders[i])
	}
	return changes, nil
}

// one decides about one schedule, and sets its result.
func (p *putting) one(i int, h *store.KeyHolder) *store.Changes {
	draft := p.puts[i].Draft
	if h.Schedule == nil {
		n := newJob(p.owner, draft, h.Now, p.hops)
		n.Caps = p.caps
		p.results[i], p.created[i] = PutResult{Schedule: n.Schedule, Created: true, Changes: job.Created(draft)}, n.Job
		return &store.Changes{Next: &n}
	}
	edit := job.Replace(h.Schedule, draft)
	changes := lifecycle.EditSchedule(edit, p.by, p.coordination.hasStarted)(&h.Snapshot)
	p.results[i], p.created[i] = PutResult{Schedule: h.Schedule, Changes: edit.Changes}, nil
	if changes != nil {
		p.results[i].Schedule = changes.Schedule
	}
	return changes
}
