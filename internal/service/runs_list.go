package service

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// Bounds of a search of runs: how many are read at once, and in one call.
const (
	runsAtOnce = 200
	runsLooked = 20_000
)

// RunCursor is a position among an account's runs, latest first. The zero cursor is before
// the latest.
type RunCursor struct {
	CreatedAt time.Time
	ID        string
}

// String returns the text of a cursor, which ReadRunCursor reads; "" for nil.
func (c *RunCursor) String() string {
	if c == nil {
		return ""
	}
	return strconv.FormatInt(c.CreatedAt.UnixMicro(), 10) + "-" + c.ID
}

// ReadRunCursor reads what String returned; false for any other text.
func ReadRunCursor(text string) (cursor RunCursor, ok bool) {
	micros, id, ok := strings.Cut(text, "-")
	n, err := strconv.ParseInt(micros, 10, 64)
	if !ok || err != nil || n < 1 || !workflow.ValidID(id) {
		return RunCursor{}, false
	}
	return RunCursor{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, true
}

// FindRuns returns up to limit of the owner's runs, latest first, that a function selects,
// without their results, and the cursor to go on behind; nil at the end.
func (s *Service) FindRuns(ctx context.Context, owner job.Owner, after RunCursor, limit int,
	selects func(*workflow.Run) bool) (found []*workflow.Run, next *RunCursor, err error) {
	for looked := 0; looked < runsLooked; looked += runsAtOnce {
		page, err := s.Store.RunPage(ctx, owner.Number, after.CreatedAt, after.ID, runsAtOnce)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range page {
			after = RunCursor{r.CreatedAt, r.ID}
			if !selects(r) {
				continue
			}
			if found = append(found, r); len(found) == limit {
				return found, &after, nil
			}
		}
		if len(page) < runsAtOnce {
			return found, nil, nil
		}
	}
	return found, &after, nil
}

// ArchiveRun notes that a client has dealt with the failure of a run, and reports whether
// that was new.
func (s *Service) ArchiveRun(ctx context.Context, owner job.Owner, id string) (changed bool, err error) {
	if err := access.Allow(ctx, "service.ArchiveRun"); err != nil {
		return false, err
	}
	err = s.changeRun(ctx, owner, id, func(r *workflow.Run, _ time.Time) (bool, error) {
		changed = r.State == workflow.Failed && !r.Archived
		r.Archived = r.Archived || changed
		return changed, nil
	})
	return changed, err
}

// RepeatRun starts a new run from a failed one: with its stored steps, from the one that
// failed, or from the beginning. Changes are fields of its messages that differ.
func (s *Service) RepeatRun(ctx context.Context, owner job.Owner, id string, resume bool, changes rawjson.Fields) (*workflow.Run, error) {
	if err := access.Allow(ctx, "service.RepeatRun"); err != nil {
		return nil, err
	}
	failed, err := s.Run(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if err := workflow.Repeatable(failed); err != nil {
		return nil, err
	}
	_, settle, err := admission.Reserve(ctx, s.Store, owner, int(failed.Bytes))
	if err != nil {
		return nil, err
	}
	defer settle(0)
	steps, err := s.allSteps(ctx, owner, failed)
	if err != nil {
		return nil, err
	}
	run := &workflow.Run{
		ID: NewRunID(), URL: failed.URL, Labels: failed.Labels, FlowControl: failed.FlowControl, CallerIP: failed.CallerIP,
		Lazy:   failed.Lazy,
		Origin: failed.ID, Invoker: failed.Invoker,
	}
	run.Template = changedTemplate(failed, run.ID, changes)
	kept, again := workflow.Resume(steps)
	if !resume {
		kept, again = workflow.Restart(steps)
	}
	return run, s.storeRepeated(ctx, owner, run, kept, again)
}

// allSteps reads all records of a run.
func (s *Service) allSteps(ctx context.Context, owner job.Owner, r *workflow.Run) (all []*workflow.Step, err error) {
	for from := 0; ; {
		page, err := s.Store.RunSteps(ctx, owner.Number, r.ID, from, runJobPage, workflow.MaxRunBytes)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all, from = append(all, page...), page[len(page)-1].Position+1
	}
}

// changedTemplate returns the template of a run for a new one. The id of the run is in a
// header, also of the report of a failure.
func changedTemplate(r *workflow.Run, id string, changes rawjson.Fields) rawjson.Value {
	inHeader := func(name string, v rawjson.Value) rawjson.Value {
		if strings.EqualFold(name, workflow.RunHeader) && rawjson.Text(v) == r.ID {
			return rawjson.Quote(id)
		}
		return v
	}
	inFields := func(name string, v rawjson.Value) rawjson.Value {
		if name == "headers" {
			return mapped(v, inHeader)
		}
		return v
	}
	var f rawjson.Fields
	for _, m := range rawjson.Members(r.Template) {
		value := inFields(m.Name, m.Value)
		if m.Name == "dialect" {
			value = mapped(value, func(name string, v rawjson.Value) rawjson.Value {
				if name == "failure_callback" {
					return mapped(v, inFields)
				}
				return v
			})
		}
		if rawjson.Get(changes.Object(), m.Name) == nil {
			f.Add(m.Name, value)
		}
	}
	for _, m := range changes {
		f.Add(m.Name, m.Value)
	}
	return f.Object()
}

// mapped returns an object with each value as change returns it.
func mapped(object rawjson.Value, change func(name string, v rawjson.Value) rawjson.Value) rawjson.Value {
	var f rawjson.Fields
	for _, m := range rawjson.Members(object) {
		f.Add(m.Name, change(m.Name, m.Value))
	}
	return f.Object()
}

// storeRepeated stores a run with records of the failed one that is its origin, and the
// messages of some of them. The origin is archived with it, so that it is repeated once.
func (s *Service) storeRepeated(ctx context.Context, owner job.Owner, run *workflow.Run, kept []*workflow.Step, again map[int]bool) error {
	var bodies []rawjson.Value
	places := map[int]int{}
	for i, step := range kept {
		step.Run = run.ID
		if again[i] {
			places[i] = len(bodies)
			bodies = append(bodies, messageOf(run, step.Key().Text(), nil))
		}
	}
	jobs, err := s.readRunJobs(ctx, owner, bodies)
	if err != nil {
		return err
	}
	w := &store.RunWrite{Account: owner.Number, Runs: []string{run.ID, run.Origin}, Creates: true}
	for _, step := range kept {
		w.Size += len(step.Body)
	}
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		origin := m.Runs[run.Origin]
		if origin == nil {
			return nil, workflow.NoRun(run.Origin)
		}
		if err := workflow.Repeatable(origin); err != nil {
			return nil, err
		}
		origin.Archived = true
		created := *run
		created.Account, created.CreatedAt = owner.Number, m.Now.Truncate(time.Millisecond)
		c := &store.RunChanges{New: []*workflow.Run{&created}, Changed: []*workflow.Run{origin}}
		for i, step := range kept {
			one := *step
			one.CreatedAt, one.DueAt, one.Settled, one.Message = m.Now, m.Now, !again[i], uuid.New()
			if place, ok := places[i]; ok {
				one.Message = w.Jobs[place].Job.ID
				c.Jobs = append(c.Jobs, place)
			}
			c.Steps = append(c.Steps, &one)
		}
		if err := workflow.Repeat(&created, c.Steps, m.Live); err != nil {
			return nil, err
		}
		*run = created
		return c, nil
	}
	_, err = s.applyRuns(ctx, jobs, w)
	return err
}
