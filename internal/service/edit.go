package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// Match is a condition on the revision of a record. The zero Match always holds.
type Match struct {
	Given bool // If-Match
	// Any holds for any record that exists.
	Any       bool
	Revisions []int64
	// None is If-None-Match: *, which holds if there is no record.
	None bool
}

// conditional reports whether there are records that don't match.
func (m Match) conditional() bool { return m.Given || m.None }

// PutIf returns the condition for storing a record without revisions. It must not be Any
// and None at once.
func (m Match) PutIf() store.PutIf {
	switch {
	case m.None:
		return store.PutIfNew
	case m.Any:
		return store.PutIfThere
	}
	return store.PutAlways
}

// Check returns a Stale fault if a thing without revisions, which exists or not, does not
// match.
func (m Match) Check(thing string, exists bool) error { return m.PutIf().Check(thing, exists) }

// holds returns a Stale fault if a thing with a revision does not match; 0 is no
// record.
func (m Match) holds(thing string, revision int64) error {
	if m.None && revision > 0 {
		return store.Exists(thing)
	}
	if !m.Given || m.Any && revision > 0 || slices.Contains(m.Revisions, revision) {
		return nil
	}
	if revision == 0 {
		return fault.New(fault.Stale, "there is no such "+thing+
			", so If-Match can't match; nothing was changed, leave it out to create one")
	}
	return fault.New(fault.Stale, fmt.Sprintf("the record has revision %d, which If-Match does not name; nothing was changed, read the record again", revision))
}

// revised returns the check of the condition by the revision of a thing, for a store; nil
// if there is none.
func (m Match) revised(thing string) func(revision int64) error {
	if !m.conditional() {
		return nil
	}
	return func(revision int64) error { return m.holds(thing, revision) }
}

// editTries is how often an edit is computed outside of a transaction. If another
// edit comes first each time, it is computed within one.
const editTries = 4

// editing is an edit of a record R, computed for one of its revisions.
type editing[R any] struct {
	thing    string // what R is
	match    Match
	get      func() (R, error)
	revision func(R) int64
	read     func(R) (*job.Edit, error) // computes the edit
	size     func(R) int                // what the edit replaces, in bytes
	copies   int                        // how often that is stored
	apply    func(e *editing[R], must bool) (_ R, applied bool, err error)

	edit *job.Edit
	err  error
}

// run computes the edit and applies it, and returns the record as it is then.
func (e *editing[R]) run(ctx context.Context, s *Service, owner job.Owner) (none R, _ error) {
	for try := 1; ; try++ {
		record, err := e.get()
		if err != nil {
			return none, err
		}
		if e.prepare(record); e.err != nil {
			return none, e.err
		}
		if len(e.edit.Changes) == 0 {
			return record, nil
		}
		grown := e.copies * (e.edit.Size() - e.size(record))
		if err := s.admitGrowth(ctx, owner, grown); err != nil {
			return none, err
		}
		record, applied, err := e.apply(e, try >= editTries)
		switch {
		case errors.Is(err, store.ErrNameGone) && try <= editTries: // the next reading reports it
		case err != nil:
			return none, err
		case applied:
			s.grew(owner, grown)
			return record, e.err
		}
	}
}

// prepare computes the edit for a record.
func (e *editing[R]) prepare(record R) {
	if e.err = e.match.holds(e.thing, e.revision(record)); e.err == nil {
		e.edit, e.err = e.read(record)
	}
}

// current reports whether the edit was computed for a record as it is. If it was
// not and must be, it is computed again.
func (e *editing[R]) current(record R, must bool) bool {
	if e.err == nil && e.edit.Base == e.revision(record) {
		return true
	}
	if must {
		e.prepare(record)
	}
	return must
}

// EditJob changes a job that waits for its first attempt as a merge patch says,
// and returns it. A patch that changes nothing stores nothing.
func (s *Service) EditJob(ctx context.Context, owner job.Owner, id job.Ref, body rawjson.Value, match Match) (*job.Job, error) {
	if err := access.Allow(ctx, "service.EditJob"); err != nil {
		return nil, err
	}
	now := s.Store.Now()
	e := editing[*job.Job]{
		thing: "job", match: match,
		get:      func() (*job.Job, error) { return s.Store.JobGet(ctx, owner, id) },
		revision: func(j *job.Job) int64 { return j.Revision },
		read: func(j *job.Job) (*job.Edit, error) {
			if j.State != job.Available {
				return nil, tooLate(j, j.State.String())
			}
			r := s.reading(ctx, owner)
			edit, err := job.ReadJobEdit(j, body, r.options(now, nil))
			return edit, r.result(err)
		},
		size:   job.Size,
		copies: 1,
		apply: func(e *editing[*job.Job], must bool) (*job.Job, bool, error) {
			return s.editJob(ctx, owner, id, e, must)
		},
	}
	return e.run(ctx, s, owner)
}

// editJob applies an edit. applied is false if the job has changed meanwhile.
func (s *Service) editJob(ctx context.Context, owner job.Owner, id job.Ref, e *editing[*job.Job],
	must bool) (j *job.Job, applied bool, err error) {
	c := s.coordinate()
	by := job.ActorOf(ctx)
	stored := false
	j, err = s.changeJob(ctx, owner, id, func(snapshot *store.Snapshot) *store.Changes {
		c.restart()
		stored = false
		if applied = e.current(snapshot.Job, must); !applied || e.err != nil {
			return nil
		}
		changes := lifecycle.EditJob(e.edit, by, c.hasStarted)(snapshot)
		if changes == nil && len(e.edit.Changes) > 0 {
			why := "about to start"
			if snapshot.Job.State != job.Available || lifecycle.UnderWay(snapshot) {
				why = shownState(snapshot).String()
			}
			e.err = tooLate(snapshot.Job, why)
		}
		if stored = changes != nil; stored {
			before := snapshot.Job
			changes.Names = store.NamesAdded(store.NamesOf(before.Args, &before.Hidden), store.NamesOf(changes.Job.Args, &changes.Job.Hidden))
		}
		return changes
	})
	c.end(err == nil && stored)
	return j, applied, err
}

// shownState returns the state of a job as clients see it.
func shownState(m *store.Snapshot) job.State {
	if lifecycle.UnderWay(m) {
		return job.Executing
	}
	return m.Job.State
}

func tooLate(j *job.Job, why string) error {
	return fault.New(fault.Invalid, fmt.Sprintf("the job is %s, so it can't be changed any more; POST /api/jobs/%d/rerun creates a new job from it, with the fields that differ", why, j.Number))
}

// EditSchedule changes a schedule as a merge patch says, with its pending run, and
// returns it. A patch that changes nothing stores nothing.
func (s *Service) EditSchedule(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value, match Match) (*job.Schedule, error) {
	if err := access.Allow(ctx, "service.EditSchedule"); err != nil {
		return nil, err
	}
	now := s.Store.Now()
	return s.edit(ctx, owner, id, match, func(found *job.Schedule) (*job.Edit, error) {
		r := s.reading(ctx, owner)
		edit, err := job.ReadScheduleEdit(found, body, r.options(now, nil))
		return edit, r.result(err)
	})
}

// ReplaceSchedule makes a schedule what a complete request describes, and returns
// it. Equal content stores nothing.
func (s *Service) ReplaceSchedule(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value,
	match Match) (*job.Schedule, error) {
	if err := access.Allow(ctx, "service.ReplaceSchedule"); err != nil {
		return nil, err
	}
	now := s.Store.Now()
	return s.edit(ctx, owner, id, match, func(found *job.Schedule) (*job.Edit, error) {
		return s.readReplace(ctx, owner, found, body, now)
	})
}

// readReplace reads the edit that makes a schedule what a complete request describes.
func (s *Service) readReplace(ctx context.Context, owner job.Owner, found *job.Schedule, body rawjson.Value,
	now time.Time) (*job.Edit, error) {
	r := s.reading(ctx, owner)
	opts := r.options(now, found.Key)
	opts.Schedule, opts.Replaces = found.ID, func() *job.Schedule { return found }
	draft, err := job.ReadSchedule(body, opts)
	if err := r.result(err); err != nil {
		return nil, err
	}
	return job.Replace(found, draft)
}

func (s *Service) edit(ctx context.Context, owner job.Owner, id uuid.UUID, match Match,
	read func(*job.Schedule) (*job.Edit, error)) (*job.Schedule, error) {
	e := editing[*job.Schedule]{
		thing: "schedule", match: match, read: read,
		get:      func() (*job.Schedule, error) { return s.Store.ScheduleGet(ctx, owner, id) },
		revision: func(found *job.Schedule) int64 { return found.Revision },
		size:     func(found *job.Schedule) int { return len(found.Args) + found.Hidden.Size() },
		copies:   2, // its pending run takes it over
		apply: func(e *editing[*job.Schedule], must bool) (*job.Schedule, bool, error) {
			return s.editSchedule(ctx, owner, id, e, must)
		},
	}
	return e.run(ctx, s, owner)
}

func (s *Service) editSchedule(ctx context.Context, owner job.Owner, id uuid.UUID, e *editing[*job.Schedule],
	must bool) (found *job.Schedule, applied bool, err error) {
	c := s.coordinate()
	by := job.ActorOf(ctx)
	stored := false
	found, err = s.changeSchedule(ctx, owner, id, func(snapshot *store.Snapshot) *store.Changes {
		c.restart()
		stored = false
		if applied = e.current(snapshot.Schedule, must); !applied || e.err != nil {
			return nil
		}
		changes := lifecycle.EditSchedule(e.edit, by, c.hasStarted)(snapshot)
		stored = changes != nil && changes.Job != nil
		addNames(snapshot, changes)
		return changes
	})
	c.end(err == nil && stored)
	return found, applied, err
}
