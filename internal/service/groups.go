package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// groupChecker checks the groups that requests name.
type groupChecker struct {
	store  Store
	ctx    context.Context
	owner  job.Owner
	known  map[string][]job.Target // nil for those that are not defined
	failed error                   // of the store
}

// targets implements job.ReadOptions.Targets.
func (c *groupChecker) targets(name string) ([]job.Target, bool) {
	targets, read := c.known[name]
	if read || c.failed != nil {
		return targets, targets != nil || c.failed != nil
	}
	g, err := c.store.GroupGet(c.ctx, c.owner.Number, name)
	switch {
	case err == nil:
		targets = g.TargetList()
	case fault.CodeOf(err) != fault.NotFound:
		c.failed = err
		return nil, true
	}
	if c.known == nil {
		c.known = map[string][]job.Target{}
	}
	c.known[name] = targets
	return targets, targets != nil
}

// SetGroup defines or replaces one of the owner's groups from a request's body.
func (s *Service) SetGroup(ctx context.Context, owner job.Owner, name string, body rawjson.Value,
	match Match) (g *job.Group, created bool, err error) {
	if err := access.Allow(ctx, "service.SetGroup"); err != nil {
		return nil, false, err
	}
	if !job.IsGroupName(name) {
		return nil, false, fault.Refuse([]fault.Problem{{Parameter: "name", Detail: job.GroupNameRule}})
	}
	r := s.reading(ctx, owner)
	targets, err := job.ReadTargets(body, r.options(s.Store.Now(), nil))
	if err = r.result(err); err != nil {
		return nil, false, err
	}
	g = &job.Group{Account: owner.Number, Name: name, Targets: targets}
	if created, err = s.Store.GroupPut(ctx, g, match.revised("group")); err != nil {
		return nil, false, err
	}
	event := audit.GroupChanged
	if created {
		event = audit.GroupCreated
	}
	s.Audit.Edited(ctx, owner, event, name+": "+strconv.Itoa(len(g.TargetList()))+" targets")
	return g, created, nil
}

// Group returns one of the owner's groups, or a NotFound fault.
func (s *Service) Group(ctx context.Context, owner job.Owner, name string) (*job.Group, error) {
	if !job.IsGroupName(name) {
		return nil, fault.NoSuch("group")
	}
	return s.Store.GroupGet(ctx, owner.Number, name)
}

// Groups returns up to n of the owner's groups whose names come after a name, in order.
func (s *Service) Groups(ctx context.Context, owner job.Owner, after string, n int) ([]*job.Group, error) {
	return s.Store.GroupList(ctx, owner.Number, after, n)
}

// namingGroup is how many of the schedules that name a group are counted.
const namingGroup = 100

// SchedulesNaming returns the ids of the owner's schedules that name a group, up to most.
func (s *Service) SchedulesNaming(ctx context.Context, owner job.Owner, group string, most int) ([]uuid.UUID, error) {
	ctx, release := admission.Hold(ctx) // only their ids are kept
	defer release()
	named, err := s.Store.ScheduleList(ctx, owner,
		job.ScheduleQuery{ListQuery: job.ListQuery{Limit: most}, Tags: []string{job.GroupTag(group)}})
	ids := make([]uuid.UUID, len(named))
	for i, n := range named {
		ids[i] = n.ID
	}
	return ids, err
}

// DeleteGroup deletes one of the owner's groups, unless schedules name it.
func (s *Service) DeleteGroup(ctx context.Context, owner job.Owner, name string, match Match) error {
	if err := access.Allow(ctx, "service.DeleteGroup"); err != nil {
		return err
	}
	found, err := s.Group(ctx, owner, name)
	if err == nil {
		err = match.holds("group", found.Revision())
	}
	if err != nil {
		return err
	}
	err = s.Store.GroupDelete(ctx, owner.Number, name, match.revised("group"))
	if errors.Is(err, store.ErrGroupNamed) {
		return s.groupNamed(ctx, owner, name)
	}
	if err != nil {
		return err
	}
	s.Audit.Edited(ctx, owner, audit.GroupDeleted, name)
	return nil
}

// groupNamed returns the Conflict fault that says which schedules name a group.
func (s *Service) groupNamed(ctx context.Context, owner job.Owner, name string) error {
	named, err := s.SchedulesNaming(ctx, owner, name, namingGroup)
	if err != nil {
		return err
	}
	if n := len(named); n > 0 {
		count := strconv.Itoa(n) + " schedules name"
		switch {
		case n == 1:
			count = "schedule " + named[0].String() + " names"
		case n == namingGroup:
			count = "at least " + count
		}
		return fault.New(fault.Conflict, count+" this group; edit or delete them first")
	}
	return store.ErrGroupNamed // none any more
}

// Created is the result of a create request: a job, or one for each target of a group.
type Created struct {
	Jobs     []*job.Job
	Conflict bool // the key was held: these are the jobs that hold it
	Group    bool
}

// errHeld ends the transaction of a group's jobs whose key is held.
var errHeld = errors.New("the key is held")

// storeGroupTries is how often the jobs of a group are stored while jobs of other requests
// with their key are stored and end first.
const storeGroupTries = 8

// createGroup stores a job for each target of the group that a one-off request names, in
// one transaction.
func (s *Service) createGroup(ctx context.Context, owner job.Owner, draft *job.Draft, now time.Time, body rawjson.Value,
	charge func(jobs int) error) (*Created, error) {
	group, err := s.Store.GroupGet(ctx, owner.Number, draft.Spec.Group)
	if err != nil {
		return nil, err
	}
	if n := len(group.TargetList()) * len(draft.Awaited); n > store.MaxAwaited {
		return nil, tooManyAwaited("#/after/jobs", "each of the group's jobs waits for all of them, which makes "+strconv.Itoa(n))
	}
	if charge != nil {
		if err := charge(len(group.TargetList())); err != nil {
			return nil, err
		}
	}
	requests, err := s.groupJobs(ctx, owner, draft, now, body, group)
	if err != nil {
		return nil, err
	}
	for range storeGroupTries {
		created, err := s.storeGroup(ctx, owner, requests)
		if err != errHeld {
			return created, err
		}
		// The jobs that held the key are final, or those of another request are.
	}
	return nil, &fault.Error{Code: fault.Unavailable,
		Message:    "other requests with this idempotency key are being stored; nothing was stored, try again shortly",
		RetryAfter: time.Second}
}

// groupJobs returns the jobs of a request with a group. The first has its key and its
// request_id.
func (s *Service) groupJobs(ctx context.Context, owner job.Owner, draft *job.Draft, now time.Time, body rawjson.Value,
	group *job.Group) ([]request, error) {
	from := originOf(ctx)
	first := job.NewID(now)
	var requests []request
	for i, target := range group.TargetList() {
		one := *draft
		var err error
		if one.Args, one.Hidden, err = job.ForTarget(draft.Args, &draft.Hidden, target, false, s.Sealer, owner); err != nil {
			return nil, err
		}
		one.Spec = job.ReadSpec(one.Args)
		if i > 0 {
			one.Key, one.KeyInHeader = nil, false
			one.Spec.Throttle = 0
		}
		n := newJob(owner, &one, now, from)
		n.Job.ID = job.GroupID(first, i)
		if i == 0 {
			n.sentAs(draft, job.CreateRequest(body))
			if n.Job.Key != nil {
				n.Job.HeldUntil, n.Job.RememberedUntil = lifecycle.KeyHeld, lifecycle.KeyHeld
			}
			n.identify(draft, body, now)
		}
		requests = append(requests, n)
	}
	return requests, nil
}

// storeGroup stores the jobs of a group, or returns those that hold their key. It returns
// errHeld if these were final: the key is free now.
func (s *Service) storeGroup(ctx context.Context, owner job.Owner, requests []request) (*Created, error) {
	b := &Batch{results: make([]BatchResult, len(requests)), atomic: true, minimal: true, requests: requests}
	var held store.Inserted
	b.check = func(stored []store.Inserted) error {
		if held = stored[0]; !held.Conflict {
			return nil
		}
		return errHeld
	}
	for i := range requests {
		b.places, b.jobs = append(b.places, i), append(b.jobs, requests[i].NewJob)
		b.size += requests[i].Size()
	}
	results, err := s.CreateBatch(ctx, b)
	if errors.Is(err, errHeld) {
		return s.heldGroup(ctx, owner, &requests[0], &held)
	}
	if err != nil {
		return nil, err
	}
	created := &Created{Group: true}
	for i := range results {
		created.Jobs = append(created.Jobs, results[i].Job)
	}
	return created, nil
}

// heldGroup returns the jobs that hold the key of a request with a group, or that it was
// answered with before.
func (s *Service) heldGroup(ctx context.Context, owner job.Owner, r *request, held *store.Inserted) (*Created, error) {
	if !held.Repeated {
		free, err := s.freeOpenKey(ctx, owner, held.Job, r.KeyInHeader)
		if err != nil {
			return nil, err
		}
		if free {
			return nil, errHeld
		}
	}
	if err := r.refused(held); err != nil {
		return nil, err
	}
	jobs, err := s.groupOf(ctx, owner, held.Job)
	return &Created{Jobs: jobs, Conflict: true, Group: true}, err
}

// holdsOpen reports whether a job holds its key until an end that is found out when
// another request has the key. It is the first job of a group, or a task.
func holdsOpen(j *job.Job) bool { return !j.HeldUntil.Before(lifecycle.KeyHeld) }

// groupOf returns a job, and the others of its group if it is the first of one.
func (s *Service) groupOf(ctx context.Context, owner job.Owner, holder *job.Job) ([]*job.Job, error) {
	ids := []job.Ref{{Number: holder.Number}}
	if job.DialectIn(holder.Args, job.DialectCloudTasks) == nil {
		for i := 1; i < job.MaxTargets; i++ {
			ids = append(ids, job.Ref{UUID: job.GroupID(holder.ID, i)})
		}
	}
	found, err := s.Store.JobGetMany(ctx, owner, ids) // each has a bounded size: job.MaxGroupSize
	if err != nil {
		return nil, err
	}
	var jobs []*job.Job
	for _, j := range found {
		if j != nil {
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// freeOpenKey frees the key that a job holds until an unknown end, if that has come, and
// reports whether it did. The key of a group's jobs is free when all of them are final, but
// one in the header Idempotency-Key is remembered for calls with that header.
func (s *Service) freeOpenKey(ctx context.Context, owner job.Owner, holder *job.Job, inHeader bool) (bool, error) {
	if !holdsOpen(holder) || !holder.State.Final() {
		return false, nil
	}
	held, release := admission.Hold(ctx)
	defer release()
	found, err := s.Store.JobGet(held, owner, job.Ref{Number: holder.Number}) // holder may lack its args
	if err != nil {
		return fault.CodeOf(err) == fault.NotFound, noFault(err, fault.NotFound)
	}
	jobs, err := s.groupOf(held, owner, found)
	if err != nil {
		return false, err
	}
	until := holder.InsertedAt
	for _, j := range jobs {
		if !j.State.Final() {
			return false, nil
		}
		if j.Number != holder.Number {
			continue
		}
		until = lifecycle.FreeAt(j)
	}
	remembered := until
	if found.KeyRequest != nil {
		remembered = schedule.Later(until, found.InsertedAt.Add(lifecycle.RememberFor))
	}
	if err := s.Store.KeyRelease(ctx, owner, holder.Number, until, remembered); err != nil {
		return false, err
	}
	if inHeader {
		until = remembered
	}
	return !until.After(s.Store.Now()), nil
}

// noFault returns nil in place of a fault with a code.
func noFault(err error, code fault.Code) error {
	if err != nil && fault.CodeOf(err) == code {
		return nil
	}
	return err
}

// childrenMost is how many jobs a run with a group can become.
const childrenMost = job.MaxTargets

// childrenOf returns the numbers of the jobs that a run became, in order.
func (s *Service) childrenOf(ctx context.Context, owner job.Owner, j *job.Job) ([]int64, error) {
	if job.GroupNamed(j.Args) == "" || !j.State.Final() {
		return nil, nil
	}
	ctx, release := admission.Hold(ctx) // only their numbers are kept
	defer release()
	found, err := s.Store.JobList(ctx, owner, job.Query{ListQuery: job.ListQuery{Limit: childrenMost}, Parent: j.Number})
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(found))
	for i, child := range found { // newest first
		numbers[len(found)-1-i] = child.Number
	}
	return numbers, nil
}
