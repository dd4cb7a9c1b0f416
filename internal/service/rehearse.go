package service

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rehearse"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// rehearsing bounds how much of the processors rehearsals take: half of them, and one
// rehearsal of an account at a time.
type rehearsing struct {
	accounts turns
	all      chan struct{} // has one for each rehearsal under way
}

func newRehearsing() rehearsing {
	return rehearsing{all: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// rehearseWithin is how long one rehearsal may take, so that others get their turn.
const rehearseWithin = 30 * time.Second

// enter waits for the turn of a rehearsal, which must call leave at its end and use ctx.
func (r *rehearsing) enter(ctx context.Context, account int64) (bounded context.Context, leave func(), err error) {
	next, err := r.accounts.enter(ctx, account)
	if err != nil {
		return nil, nil, notEntered(ctx)
	}
	wait, cancelWait := context.WithTimeout(ctx, turnWithin)
	defer cancelWait()
	select {
	case r.all <- struct{}{}:
	case <-wait.Done():
		next()
		return nil, nil, notEntered(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, rehearseWithin)
	return bounded, func() { cancel(); <-r.all; next() }, nil
}

// notEntered returns the fault for a rehearsal that had no turn, or whose client went away
// before. A deadline of the call is no matter of the store.
func notEntered(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fault.Unreachable(ctx.Err())
	}
	return &fault.Error{
		Code: fault.TooMany, Reason: fault.Overlapping, RetryAfter: 5 * time.Second,
		Message: "too many rehearsals are under way; wait for the answers to yours, then try again",
	}
}

// rehearsalError returns the fault for an error of a rehearsal that was entered with ctx.
func rehearsalError(ctx, bounded context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.Canceled) && bounded.Err() != nil {
		return &fault.Error{
			Code: fault.TooMany, Reason: fault.Overlapping, RetryAfter: 30 * time.Second,
			Message: "the rehearsal took too long because the service is busy; try again later, or rehearse a shorter time or fewer schedules",
		}
	}
	if ctx.Err() != nil {
		return fault.Unreachable(ctx.Err())
	}
	return err
}

// Rehearse runs the owner's schedules, or those of a document, under virtual time. It
// stores and sends nothing. Its error is an Invalid fault if a key of the request is that
// of no schedule, or a TooMany fault.
func (s *Service) Rehearse(ctx context.Context, owner job.Owner, q *Rehearsal) (*rehearse.Result, error) {
	bounded, leave, err := s.rehearsing.enter(ctx, owner.Number)
	if err != nil {
		return nil, err
	}
	defer leave()
	r, err := s.rehearse(bounded, owner, q)
	if err != nil {
		return nil, rehearsalError(ctx, bounded, err)
	}
	return r, nil
}

func (s *Service) rehearse(ctx context.Context, owner job.Owner, q *Rehearsal) (*rehearse.Result, error) {
	limits, err := s.limitsByKey(ctx, owner)
	if err != nil {
		return nil, err
	}
	p := &rehearse.Plan{From: q.From, To: q.To, Outages: q.Outages, Fail: q.Fail, Duration: q.Duration, Limits: limits, Each: q.Each}
	var cut time.Time
	switch {
	case q.Document != nil:
		p.Entries, err = s.rehearsedDocument(ctx, owner, q)
	case q.Keys != nil:
		p.Entries, err = s.rehearsedKeys(ctx, owner, q)
	default:
		p.Entries, cut, err = s.rehearsedAll(ctx, owner, q)
	}
	if err != nil {
		return nil, err
	}
	if !cut.IsZero() {
		p.To = cut
	}
	slices.SortStableFunc(p.Entries, func(a, b rehearse.Entry) int { return compareKeys(a.Schedule, b.Schedule) })
	r, err := rehearse.Run(ctx, p)
	if err == nil && !cut.IsZero() {
		if r.To = q.To; r.Cut == nil {
			r.Cut = &rehearse.Cut{At: cut, Reason: rehearse.CutSchedules}
		}
	}
	return r, err
}

// compareKeys orders schedules by their keys, those without one last, by their ids.
func compareKeys(a, b *job.Schedule) int {
	switch {
	case a.Key != nil && b.Key != nil:
		return strings.Compare(*a.Key, *b.Key)
	case a.Key != nil:
		return -1
	case b.Key != nil:
		return 1
	}
	return slices.Compare(a.ID[:], b.ID[:])
}

func (s *Service) limitsByKey(ctx context.Context, owner job.Owner) (map[string]limit.Limit, error) {
	records, err := s.Limits(ctx, owner, "", limit.MaxPerAccount)
	if err != nil {
		return nil, err
	}
	limits := make(map[string]limit.Limit, len(records))
	for _, l := range records {
		limits[l.Key] = l.Limit
	}
	return limits, nil
}

// rehearsedDocument returns the schedules of a document as apply would make them when
// the rehearsal begins.
func (s *Service) rehearsedDocument(ctx context.Context, owner job.Owner, q *Rehearsal) ([]rehearse.Entry, error) {
	var entries []rehearse.Entry
	for _, item := range q.Document.Items {
		if q.Keys != nil && !slices.Contains(q.Keys, item.Key) {
			continue
		}
		_, after, _, err := s.applied(ctx, owner, item, q)
		if err != nil {
			return nil, err
		}
		entries = append(entries, *after)
	}
	return entries, nil
}

// applied returns the schedule that has the key of an item of a document, nil if there is
// none, and what applying the item when the rehearsal begins makes of it. changed reports
// whether they differ.
func (s *Service) applied(ctx context.Context, owner job.Owner, item job.DocumentItem,
	q *Rehearsal) (before, after *rehearse.Entry, changed bool, err error) {
	before, err = s.rehearsedKey(ctx, owner, item.Key, q, func(full *job.Schedule, e *rehearse.Entry) error {
		edit, err := job.Replace(full, item.Draft)
		if err == nil {
			after, changed = edited(e, edit, q.From), len(edit.Changes) > 0
		}
		return err
	})
	if before == nil && err == nil {
		changed = true
		after, err = created(owner, item, q.From)
	}
	return before, after, changed, err
}

// created returns the entry of a new schedule.
func created(owner job.Owner, item job.DocumentItem, now time.Time) (*rehearse.Entry, error) {
	if err := item.Draft.Creates(); err != nil {
		return nil, err
	}
	e := rehearse.NewEntry(item.Key, item.Draft, now)
	e.Schedule.Owner, e.Run.Owner = owner, owner
	return &e, nil
}

// edited returns an entry after an edit of its schedule.
func edited(before *rehearse.Entry, edit *job.Edit, now time.Time) *rehearse.Entry {
	m := &store.Snapshot{Now: now, Schedule: before.Schedule, Job: before.Run}
	if !before.Started.IsZero() {
		m.Claim = &store.ClaimInfo{StartAt: before.Started}
	}
	started := func(_ *job.Job, claim *store.ClaimInfo, now time.Time) bool { return claim.Started(now) }
	after := *before
	c := lifecycle.EditSchedule(edit, job.Actor{}, started)(m)
	if c == nil {
		return &after
	}
	if c.Schedule != nil {
		after.Schedule = rehearse.Slim(c.Schedule)
	}
	if c.Job != nil {
		after.SetRun(c.Job)
	}
	return &after
}

func (s *Service) rehearsedKeys(ctx context.Context, owner job.Owner, q *Rehearsal) ([]rehearse.Entry, error) {
	var entries []rehearse.Entry
	known := map[string]bool{}
	for _, key := range q.Keys {
		e, err := s.rehearsedKey(ctx, owner, key, q, nil)
		if err != nil {
			return nil, err
		}
		if e != nil {
			known[key] = true
			entries = append(entries, *e)
		}
	}
	return entries, refuseUnknownKeys(q, known)
}

func refuseUnknownKeys(q *Rehearsal, known map[string]bool) error {
	var problems fault.Problems
	q.refuseUnknown(known, func(pointer, detail string) { problems.Add(fault.Problem{Pointer: pointer, Detail: detail}) })
	return problems.Err()
}

// rehearsedKey returns the stored schedule that has a key; nil if there is none. It passes
// the whole schedule to with, which may be nil.
func (s *Service) rehearsedKey(ctx context.Context, owner job.Owner, key string, q *Rehearsal,
	with func(*job.Schedule, *rehearse.Entry) error) (*rehearse.Entry, error) {
	held, release := admission.Hold(ctx)
	defer release()
	found, err := s.Store.ScheduleHolding(held, owner, key)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := s.rehearsed(held, owner, found, q)
	if err == nil && with != nil {
		err = with(found, e)
	}
	return e, err
}

// rehearsed returns the entry of a stored schedule.
func (s *Service) rehearsed(ctx context.Context, owner job.Owner, found *job.Schedule, q *Rehearsal) (*rehearse.Entry, error) {
	e := &rehearse.Entry{Schedule: rehearse.Slim(found)}
	if found.Live() {
		run, err := s.Store.RunUnfinished(ctx, owner, found.ID)
		if err != nil {
			return nil, err
		}
		e.SetRun(run)
		q.settle(e)
	}
	return e, nil
}

// settle makes an entry that of the beginning of the rehearsal.
func (q *Rehearsal) settle(e *rehearse.Entry) {
	if q.ahead {
		e.Advance(q.From)
	}
}

// maxRehearsedLook is how many schedules are read to find those that are due first.
const maxRehearsedLook = 20_000

// rehearsedAll returns the owner's schedules. If there are more than a rehearsal takes,
// it returns those that are due first, and when the first of the others is due.
func (s *Service) rehearsedAll(ctx context.Context, owner job.Owner, q *Rehearsal) (entries []rehearse.Entry, cut time.Time, err error) {
	known := map[string]bool{}
	list := job.ListQuery{Limit: schedulesPage}
	for looked := 0; ; {
		page, next, err := s.rehearsedPage(ctx, owner, list, q)
		if err != nil {
			return nil, cut, err
		}
		for _, e := range page {
			if e.Schedule.Key != nil {
				known[*e.Schedule.Key] = true
			}
		}
		entries = append(entries, page...)
		if len(entries) > rehearse.MaxSchedules {
			entries, cut = dueFirst(entries, cut, q.From)
		}
		if looked += len(page); next == nil {
			break
		}
		if looked >= maxRehearsedLook {
			return nil, cut, fault.New(fault.Invalid,
				fmt.Sprintf("the account has more than %d schedules; name up to %d of them in keys", maxRehearsedLook,
					rehearse.MaxSchedules))
		}
		list = *next
	}
	return entries, cut, refuseUnknownKeys(q, known)
}

// dueFirst keeps the entries that are due first, as many as a rehearsal takes, and
// returns when the first of the others is due, or cut if that is earlier.
func dueFirst(entries []rehearse.Entry, cut, from time.Time) ([]rehearse.Entry, time.Time) {
	slices.SortStableFunc(entries, func(a, b rehearse.Entry) int {
		x, y := a.FirstDue(), b.FirstDue()
		switch {
		case x.IsZero() != y.IsZero():
			return map[bool]int{true: 1, false: -1}[x.IsZero()]
		default:
			return x.Compare(y)
		}
	})
	for _, e := range entries[rehearse.MaxSchedules:] {
		if due := e.FirstDue(); !due.IsZero() && (cut.IsZero() || due.Before(cut)) {
			cut = schedule.Later(due, from)
		}
	}
	return entries[:rehearse.MaxSchedules], cut
}

// rehearsedPage returns a page of the owner's schedules, and the query of the next one.
func (s *Service) rehearsedPage(ctx context.Context, owner job.Owner, list job.ListQuery,
	q *Rehearsal) ([]rehearse.Entry, *job.ListQuery, error) {
	ctx, release := admission.Hold(ctx)
	defer release()
	page, err := s.Schedules(ctx, owner, job.ScheduleQuery{ListQuery: list})
	if err != nil {
		return nil, nil, err
	}
	ids := make([]uuid.UUID, len(page.Items))
	for i, one := range page.Items {
		ids[i] = one.ID
	}
	runs, err := s.Store.ScheduleRuns(ctx, owner, ids, 1)
	if err != nil {
		return nil, nil, err
	}
	entries := make([]rehearse.Entry, 0, len(page.Items))
	now := s.Store.Now()
	for _, found := range page.Items {
		if latest := runs[found.ID]; found.Live() && waits(found, latest, now) {
			// What matters of a run that waits for its first attempt is known.
			e := rehearse.Entry{Schedule: rehearse.Slim(found)}
			e.SetRun(lifecycle.NextRun(e.Schedule, latest[0].ScheduledAt, found.InsertedAt))
			q.settle(&e)
			entries = append(entries, e)
			continue
		}
		e, err := s.rehearsed(ctx, owner, found, q)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, *e)
	}
	return entries, page.Next, nil
}

// waits reports whether the latest run of a schedule waits for its time, and nothing
// counts the runs before it.
func waits(s *job.Schedule, latest []job.RunSummary, now time.Time) bool {
	return len(latest) > 0 && latest[0].State == job.Available && latest[0].ScheduledAt.After(now) && job.ReadSpec(s.Args).MaxRuns == 0
}
