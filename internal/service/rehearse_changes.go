package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/rehearse"
)

// rehearsedAhead is how long changes are rehearsed: a year.
func (s *Service) rehearsedAhead() *Rehearsal {
	now := s.Store.Now().UTC().Truncate(time.Microsecond)
	return &Rehearsal{From: now, To: now.AddDate(1, 0, 0)}
}

// RehearseEdit returns how an edit of a schedule as that of EditSchedule would change
// its runs. It checks what EditSchedule checks, and stores nothing.
func (s *Service) RehearseEdit(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value,
	match Match) (*rehearse.Comparison, error) {
	return s.rehearseEdit(ctx, owner, id, match, func(found *job.Schedule, q *Rehearsal) (*job.Edit, error) {
		r := s.reading(ctx, owner)
		edit, err := job.ReadScheduleEdit(found, body, r.options(q.From, nil))
		return edit, r.result(err)
	})
}

// RehearseReplace is RehearseEdit for ReplaceSchedule.
func (s *Service) RehearseReplace(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value,
	match Match) (*rehearse.Comparison, error) {
	return s.rehearseEdit(ctx, owner, id, match, func(found *job.Schedule, q *Rehearsal) (*job.Edit, error) {
		return s.readReplace(ctx, owner, found, body, q.From)
	})
}

func (s *Service) rehearseEdit(ctx context.Context, owner job.Owner, id uuid.UUID, match Match,
	read func(*job.Schedule, *Rehearsal) (*job.Edit, error)) (*rehearse.Comparison, error) {
	bounded, leave, err := s.rehearsing.enter(ctx, owner.Number)
	if err != nil {
		return nil, err
	}
	defer leave()
	held, release := admission.Hold(bounded)
	defer release()
	found, err := s.Store.ScheduleGet(held, owner, id)
	if err != nil {
		return nil, err
	}
	if err := match.holds("schedule", found.Revision); err != nil {
		return nil, err
	}
	q := s.rehearsedAhead()
	edit, err := read(found, q)
	if err != nil {
		return nil, err
	}
	before, err := s.rehearsed(held, owner, found, q)
	if err != nil {
		return nil, err
	}
	c := &changing{}
	c.add(found.Key, resultOf(before, len(edit.Changes) > 0), before, edited(before, edit, q.From))
	return s.compare(ctx, bounded, owner, q, c)
}

func resultOf(before *rehearse.Entry, changed bool) string {
	switch {
	case before == nil:
		return "created"
	case changed:
		return "changed"
	}
	return "unchanged"
}

// RehearsePut returns how PutSchedule would change the runs of the schedule with a key. It
// checks what PutSchedule checks of the request, and stores nothing.
func (s *Service) RehearsePut(ctx context.Context, owner job.Owner, key string, body rawjson.Value,
	match Match) (*rehearse.Comparison, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if match.conditional() {
		if err := s.matchKey(ctx, owner, key, match); err != nil {
			return nil, err
		}
	}
	r := s.reading(ctx, owner)
	draft, err := job.ReadSchedule(body, r.replaceOptions(s.Store.Now(), &key))
	if err := r.result(err); err != nil {
		return nil, err
	}
	return s.RehearseApply(ctx, owner, &job.Document{Items: []job.DocumentItem{{Key: key, Draft: draft}}})
}

// RehearseApply returns how applying a document would change the runs of its schedules
// and, if it prunes, of those that it removes. It stores nothing.
func (s *Service) RehearseApply(ctx context.Context, owner job.Owner, d *job.Document) (*rehearse.Comparison, error) {
	bounded, leave, err := s.rehearsing.enter(ctx, owner.Number)
	if err != nil {
		return nil, err
	}
	defer leave()
	q, c := s.rehearsedAhead(), &changing{}
	for _, item := range d.Items {
		before, after, changed, err := s.applied(bounded, owner, item, q)
		if err != nil {
			return nil, rehearsalError(ctx, bounded, err)
		}
		key := item.Key
		c.add(&key, resultOf(before, changed), before, after)
	}
	removed, err := s.pruned(bounded, owner, d)
	if err != nil {
		return nil, err
	}
	for _, key := range removed {
		before, err := s.rehearsedKey(bounded, owner, key, q, nil)
		if err != nil {
			return nil, rehearsalError(ctx, bounded, err)
		}
		if before != nil {
			c.add(&key, "removed", before, nil)
		}
	}
	return s.compare(ctx, bounded, owner, q, c)
}

// pruned returns the keys of the schedules that applying a document removes.
func (s *Service) pruned(ctx context.Context, owner job.Owner, d *job.Document) ([]string, error) {
	if d.Owner == "" || !d.Prune {
		return nil, nil
	}
	entries, err := s.Store.DocumentEntries(ctx, owner, d.Owner)
	if err != nil {
		return nil, err
	}
	a := &applying{document: d, entries: entries}
	err = a.prune()
	return a.removed, err
}

// changing is schedules before and after a change.
type changing struct {
	before, after []rehearse.Entry
	pairs         []rehearse.Pair
}

// add adds a schedule; before or after is nil if it does not exist then.
func (c *changing) add(key *string, result string, before, after *rehearse.Entry) {
	pair := rehearse.Pair{Key: key, Result: result, Before: -1, After: -1}
	if before != nil {
		pair.Before = len(c.before)
		c.before = append(c.before, *before)
	}
	if after != nil {
		pair.After = len(c.after)
		c.after = append(c.after, *after)
	}
	c.pairs = append(c.pairs, pair)
}

func (s *Service) compare(ctx, bounded context.Context, owner job.Owner, q *Rehearsal, c *changing) (*rehearse.Comparison, error) {
	if most := max(len(c.before), len(c.after)); most > rehearse.MaxSchedules {
		return nil, fault.New(fault.Invalid, "the document lists and removes more than 1,000 schedules together; rehearse it in parts")
	}
	limits, err := s.limitsByKey(bounded, owner)
	if err != nil {
		return nil, err
	}
	plan := func(entries []rehearse.Entry) *rehearse.Plan {
		return &rehearse.Plan{Entries: entries, From: q.From, To: q.To, Limits: limits}
	}
	found, err := rehearse.Compare(bounded, plan(c.before), plan(c.after), c.pairs)
	if err != nil {
		return nil, rehearsalError(ctx, bounded, err)
	}
	return found, nil
}
