package service

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// runWrites is how many changes of runs are carried out at once.
const runWrites = 64

// RunStep is a step to store.
type RunStep struct {
	*workflow.Step
	// Job has the fields of the job that a Call is; nil for others, whose job is a message.
	Job rawjson.Value
	// Timing are the fields that say when the message is due; nil for at once.
	Timing []rawjson.Member
}

// hasJob reports whether storing the step stores a job.
func (s *RunStep) hasJob() bool { return s.Kind != workflow.Wait && s.Kind != workflow.Invoke }

// NewRunID returns the id of a run whose client has not chosen one.
func NewRunID() string { return "wfr_" + strings.ToLower(rand.Text()) }

// RunStart is a run to start, with the payload of its first step.
type RunStart struct {
	*workflow.Run
	Payload []byte
	Timing  []rawjson.Member
}

// Appended is the result of a step that was stored.
type Appended struct {
	Message   uuid.UUID // of the job; uuid.Nil if it has none
	Number    int64     // of the job; 0 for a duplicate
	Duplicate bool      // the record was there: Message is its job
}

// readRunJobs checks the jobs of a change of runs.
func (s *Service) readRunJobs(ctx context.Context, owner job.Owner, bodies []rawjson.Value) (*Batch, error) {
	if len(bodies) == 0 {
		return &Batch{}, nil
	}
	items := make([]BatchItem, len(bodies))
	for i := range bodies {
		items[i].Body = bodies[i]
	}
	b, err := s.ReadBatch(ctx, owner, items, false, true)
	if err != nil {
		return nil, err
	}
	for i := range b.results {
		if b.results[i].Err != nil {
			return nil, b.results[i].Err
		}
	}
	return b, s.admitRunJobs(ctx, owner, b)
}

// admitRunJobs sets the limits that the jobs of a change of runs must keep.
func (s *Service) admitRunJobs(ctx context.Context, owner job.Owner, b *Batch) error {
	if s.Quotas == nil {
		return nil
	}
	limits, caps, err := s.admit(ctx, owner.Number)
	b.limits = limits
	for i := range b.jobs {
		b.jobs[i].Caps = caps
	}
	return err
}

// applyRuns carries out a change of runs whose jobs were checked.
func (s *Service) applyRuns(ctx context.Context, jobs *Batch, w *store.RunWrite) ([]store.Inserted, error) {
	select {
	case s.runWrites <- struct{}{}:
		defer func() { <-s.runWrites }()
	case <-ctx.Done():
		return nil, fault.Unreachable(ctx.Err())
	}
	w.Jobs = jobs.jobs
	w.Accept = func(stored []store.Inserted) error {
		for _, one := range stored {
			if one.Gone {
				return store.ErrNameGone
			}
			if one.Over != store.QuotaNone {
				return jobs.limits.Exceeded(one.Over)
			}
		}
		return nil
	}
	stored, err := s.Store.RunApply(ctx, w)
	if err != nil {
		return nil, err
	}
	bytes := w.Size
	for i := range stored {
		bytes += job.Size(stored[i].Job)
		s.created(&stored[i])
	}
	if s.Quotas != nil && bytes > 0 {
		s.Quotas.Added(w.Account, bytes)
	}
	return stored, nil
}

// messageOf returns the body of the create request for a message of a run.
func messageOf(r *workflow.Run, step string, timing []rawjson.Member) rawjson.Value {
	var members []rawjson.Member
	for _, m := range rawjson.Members(r.Template) {
		if m.Name == "dialect" {
			m.Value = forStep(m.Value, r.ID, step)
		}
		members = append(members, m)
	}
	return rawjson.Object(append(members, timing...))
}

// forStep returns a dialect that says what the job is for.
func forStep(dialect rawjson.Value, run, step string) rawjson.Value {
	members := append(rawjson.Members(dialect), rawjson.Member{Name: "run", Value: rawjson.Quote(run)},
		rawjson.Member{Name: "step", Value: rawjson.Quote(step)})
	return rawjson.Object(members)
}

// StartRuns starts workflow runs, each in a transaction of its own. A run whose id is
// taken is not started: its result is a duplicate.
func (s *Service) StartRuns(ctx context.Context, owner job.Owner, starts []RunStart) ([]Appended, error) {
	if err := access.Allow(ctx, "service.StartRuns"); err != nil {
		return nil, err
	}
	results := make([]Appended, len(starts))
	for i := range starts {
		one, err := s.startRun(ctx, owner, &starts[i], nil)
		if err != nil {
			return nil, err
		}
		results[i] = one
	}
	return results, nil
}

// startRun starts a run. For an invoked one, by is the wait of the run that invokes it,
// which is stored with it.
func (s *Service) startRun(ctx context.Context, owner job.Owner, start *RunStart, by *workflow.Step) (result Appended, err error) {
	for range 2 {
		result, err = s.startRunOnce(ctx, owner, start, by)
		if fault.CodeOf(err) != fault.Conflict {
			return result, err
		}
		// Another call has started it: it is a duplicate now.
	}
	return result, err
}

func (s *Service) startRunOnce(ctx context.Context, owner job.Owner, start *RunStart, by *workflow.Step) (result Appended, err error) {
	run := start.Run
	first := &workflow.Step{Kind: workflow.Initial, Concurrent: 1, Name: "init", Type: "Initial", Run: run.ID, Body: start.Payload}
	jobs, err := s.readRunJobs(ctx, owner, []rawjson.Value{messageOf(run, first.Key().Text(), start.Timing)})
	if err != nil {
		return Appended{}, err
	}
	w := &store.RunWrite{Account: owner.Number, Runs: []string{run.ID}, Creates: true, Keys: []workflow.Key{first.Key()},
		Size: len(start.Payload)}
	if by != nil {
		w.Runs = append(w.Runs, by.Run)
		w.Keys = append(w.Keys, by.Key(), workflow.Key{Run: by.Run, Kind: workflow.Result, Number: by.Number})
	}
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		if known := m.Runs[run.ID]; known != nil {
			result = Appended{Duplicate: true}
			if err := refuseTaken(m, by, run.ID); err != nil {
				return nil, err
			}
			if s := m.Steps[first.Key()]; s != nil {
				result.Message = s.Message
			}
			return nil, nil
		}
		created, step := *run, *first
		created.Account, created.CreatedAt = owner.Number, m.Now.Truncate(time.Millisecond)
		complete(&step, w.Jobs[0].Job, m.Now)
		if err := workflow.Start(&created, &step, m.Live); err != nil {
			return nil, err
		}
		result = Appended{Message: step.Message}
		*run = created
		c := &store.RunChanges{Jobs: []int{0}, New: []*workflow.Run{&created}, Steps: []*workflow.Step{&step}}
		if invoked, err := invokedBy(c, m, by); err != nil || !invoked {
			result = Appended{Duplicate: true}
			return nil, err
		}
		return c, nil
	}
	stored, err := s.applyRuns(ctx, jobs, w)
	if err != nil {
		return Appended{}, err
	}
	if len(stored) > 0 {
		result.Number = stored[0].Job.Number
	}
	return result, nil
}

// complete sets what a step has of its job.
func complete(s *workflow.Step, j *job.Job, now time.Time) {
	s.CreatedAt = now
	if j != nil {
		s.Message, s.DueAt = j.ID, j.DueAt
	}
}

// AppendRun adds steps to a run, with the jobs that they make, in one transaction. Steps
// that are stored already are duplicates and change nothing. It returns a NotFound fault
// if there is no such run, an Invalid one if it has ended, and a Stale one if the run may
// not have the steps.
func (s *Service) AppendRun(ctx context.Context, owner job.Owner, id string, steps []RunStep) ([]Appended, error) {
	if err := access.Allow(ctx, "service.AppendRun"); err != nil {
		return nil, err
	}
	run, err := s.Store.RunGet(ctx, owner.Number, id)
	if err != nil {
		return nil, err
	}
	var bodies []rawjson.Value
	places := make([]int, len(steps)) // of their jobs
	w := &store.RunWrite{Account: owner.Number, Runs: []string{id}}
	for i := range steps {
		step := &steps[i]
		step.Run, places[i] = id, -1
		w.Keys = append(w.Keys, keysFor(step.Step)...)
		w.Size += len(step.Body)
		if !step.hasJob() {
			continue
		}
		places[i] = len(bodies)
		if step.Job == nil {
			bodies = append(bodies, messageOf(run, step.Key().Text(), step.Timing))
		} else {
			bodies = append(bodies, inRun(run, step))
		}
	}
	jobs, err := s.readRunJobs(ctx, owner, bodies)
	if err != nil {
		return nil, err
	}
	results := make([]Appended, len(steps))
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		return appendTo(m, id, steps, results, func(i int) (place int, j *job.Job) {
			if place = places[i]; place < 0 {
				return place, nil
			}
			return place, w.Jobs[place].Job
		})
	}
	stored, err := s.applyRuns(ctx, jobs, w)
	if err != nil {
		return nil, err
	}
	numbers := map[uuid.UUID]int64{}
	for i := range stored {
		numbers[stored[i].Job.ID] = stored[i].Job.Number
	}
	for i := range results {
		if !results[i].Duplicate {
			results[i].Number = numbers[results[i].Message]
		}
	}
	return results, nil
}

// keysFor returns the keys of the records that decide about a step.
func keysFor(s *workflow.Step) []workflow.Key {
	keys := []workflow.Key{s.Key()}
	for _, kind := range []workflow.Kind{workflow.Result, workflow.Call, workflow.Wait, workflow.Invoke} {
		if kind != s.Kind && (s.Kind == workflow.Result || kind == workflow.Result) {
			keys = append(keys, workflow.Key{Run: s.Run, Kind: kind, Number: s.Number})
		}
	}
	return keys
}

// appendTo decides about steps of a run. It sets results, the results of all of them.
func appendTo(m *store.RunSnapshot, id string, steps []RunStep, results []Appended,
	jobOf func(i int) (place int, j *job.Job)) (*store.RunChanges, error) {
	run := m.Runs[id]
	if run == nil {
		return nil, workflow.NoRun(id)
	}
	fresh := make([]*workflow.Step, len(steps))
	index := map[*workflow.Step]int{}
	for i := range steps {
		one := *steps[i].Step
		_, j := jobOf(i)
		complete(&one, j, m.Now)
		fresh[i], index[&one] = &one, i
		results[i] = Appended{Duplicate: true}
		for _, key := range keysFor(&one) {
			if known := m.Steps[key]; known != nil && (key.Kind == one.Kind || key.Kind == workflow.Result) {
				results[i].Message = known.Message
				break
			}
		}
	}
	added, settled, err := workflow.Append(run, fresh, m.Steps)
	if err != nil || len(added) == 0 {
		return nil, err
	}
	c := &store.RunChanges{Changed: []*workflow.Run{run}, Steps: added, Settled: settled}
	messages := map[workflow.Key]uuid.UUID{}
	for _, s := range added {
		messages[s.Key()] = s.Message
	}
	for i, s := range fresh { // those that are twice in the call, too
		if results[i].Message == uuid.Nil {
			results[i].Message = messages[s.Key()]
		}
	}
	for _, s := range added {
		i := index[s]
		results[i] = Appended{Message: s.Message}
		if place, _ := jobOf(i); place >= 0 {
			c.Jobs = append(c.Jobs, place)
		}
	}
	return c, nil
}

// inRun returns the fields of a call's job, with what the run adds to them.
func inRun(r *workflow.Run, step *RunStep) rawjson.Value {
	var members []rawjson.Member
	for _, m := range rawjson.Members(step.Job) {
		if m.Name == "dialect" {
			m.Value = forStep(m.Value, r.ID, step.Key().Text())
		}
		members = append(members, m)
	}
	return rawjson.Object(members)
}

// FinishRun ends a run whose route has returned, with its result. It returns a NotFound
// fault if there is no such run, and an Invalid one if it has ended otherwise.
func (s *Service) FinishRun(ctx context.Context, owner job.Owner, id string, result []byte) error {
	if err := access.Allow(ctx, "service.FinishRun"); err != nil {
		return err
	}
	var ended *workflow.Run
	err := s.changeRun(ctx, owner, id, func(r *workflow.Run, now time.Time) (bool, error) {
		ended = r
		return workflow.Finish(r, result, now)
	})
	if err == nil {
		s.told(ctx, owner, ended)
	}
	return err
}

// changeRun changes one run.
func (s *Service) changeRun(ctx context.Context, owner job.Owner, id string,
	change func(r *workflow.Run, now time.Time) (bool, error)) error {
	if !workflow.ValidID(id) {
		return fault.NoSuch("workflow run")
	}
	w := &store.RunWrite{Account: owner.Number, Runs: []string{id}}
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		r := m.Runs[id]
		if r == nil {
			return nil, workflow.NoRun(id)
		}
		changed, err := change(r, m.Now)
		if err != nil || !changed {
			return nil, err
		}
		return &store.RunChanges{Changed: []*workflow.Run{r}}, nil
	}
	_, err := s.applyRuns(ctx, &Batch{}, w)
	return err
}

// runJobPage is how many messages of a run are read at once to be cancelled.
const runJobPage = 500

// CancelRun ends a run and cancels its jobs that have not started, and reports whether it
// was under way. Requests under way are not ended: what they store afterwards is refused.
// After an error it can be called again, which cancels the jobs that are left.
func (s *Service) CancelRun(ctx context.Context, owner job.Owner, id string) (cancelled bool, err error) {
	if err := access.Allow(ctx, "service.CancelRun"); err != nil {
		return false, err
	}
	var ended *workflow.Run
	err = s.changeRun(ctx, owner, id, func(r *workflow.Run, now time.Time) (bool, error) {
		ended, cancelled = r, workflow.Cancel(r, now)
		return cancelled, nil
	})
	if err != nil || ended.State != workflow.Cancelled {
		return false, err
	}
	s.told(ctx, owner, ended)
	for after := -1; ; {
		jobs, positions, err := s.Store.RunJobs(ctx, owner.Number, id, after, runJobPage)
		if err != nil {
			return cancelled, err
		}
		for _, one := range jobs {
			if err := s.cancelWaiting(ctx, owner, one); err != nil {
				return cancelled, err
			}
		}
		if len(jobs) < runJobPage {
			return cancelled, nil
		}
		after = positions[len(positions)-1]
	}
}

// cancelWaiting cancels a job of a run unless it is under way or final.
func (s *Service) cancelWaiting(ctx context.Context, owner job.Owner, id uuid.UUID) error {
	j, err := s.Store.JobGet(ctx, owner, job.Ref{UUID: id})
	if err == nil && j.State != job.Executing && !j.State.Final() {
		_, err = s.CancelPending(ctx, owner, job.Ref{UUID: id})
	}
	return noFault(err, fault.NotFound)
}

// Run returns one of the owner's runs, or a NotFound fault.
func (s *Service) Run(ctx context.Context, owner job.Owner, id string) (*workflow.Run, error) {
	if !workflow.ValidID(id) {
		return nil, fault.NoSuch("workflow run")
	}
	return s.Store.RunGet(ctx, owner.Number, id)
}

// RunSteps returns up to limit records of one of the owner's runs from a position on, of
// which all but the first have up to bytes together; with workflow.NoBodies, they have no
// bodies, and none is left out.
func (s *Service) RunSteps(ctx context.Context, owner job.Owner, id string, from, limit int, bytes int64) ([]*workflow.Step, error) {
	return s.Store.RunSteps(ctx, owner.Number, id, from, limit, bytes)
}
