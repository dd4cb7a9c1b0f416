package service

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// WaitRun lets a run wait for an event until a time. If the event was sent to the run
// before, the wait ends at once.
func (s *Service) WaitRun(ctx context.Context, owner job.Owner, wait *workflow.Step, until time.Time) (result Appended, err error) {
	if err := access.Allow(ctx, "service.WaitRun"); err != nil {
		return Appended{}, err
	}
	run, err := s.Run(ctx, owner, wait.Run)
	if err != nil {
		return Appended{}, err
	}
	done := *wait
	done.Kind, done.WaitsFor = workflow.Result, ""
	due := rawjson.Fields{}
	due.Text("scheduled_at", job.FormatTime(until))
	jobs, err := s.readRunJobs(ctx, owner, []rawjson.Value{
		messageOf(run, wait.Key().Text(), due), messageOf(run, done.Key().Text(), nil),
	})
	if err != nil {
		return Appended{}, err
	}
	w := &store.RunWrite{Account: owner.Number, Runs: []string{wait.Run}, Keys: keysFor(&done), Events: []string{wait.WaitsFor},
		TakesKept: true, Size: len(wait.Body)}
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		one, place, settled := *wait, 0, []workflow.Key(nil)
		for _, notice := range m.Waiting {
			if notice.Kind == workflow.Notice {
				one, place = done, 1
				one.Body = waitResult(wait, notice.Body, false)
				settled = append(settled, notice.Key())
				break
			}
		}
		results := make([]Appended, 1)
		c, err := appendTo(m, wait.Run, []RunStep{{Step: &one}}, results, func(int) (int, *job.Job) { return place, w.Jobs[place].Job })
		if result = results[0]; err == nil && c != nil {
			c.Settled = append(c.Settled, settled...)
		}
		return c, err
	}
	_, err = s.applyRuns(ctx, jobs, w)
	return result, err
}

// waitResult returns the body of the result of a wait: the step as the SDK has sent it,
// with the data of the event, and whether it timed out.
func waitResult(wait *workflow.Step, data []byte, timedOut bool) []byte {
	f := stepFields(wait)
	f.Text("waitEventId", wait.WaitsFor)
	f.Add("waitTimeout", rawjson.Value(strconv.FormatBool(timedOut)))
	if !timedOut {
		f.Text("out", base64.StdEncoding.EncodeToString(data))
	}
	return f.Object()
}

// resultFields are the members that the service adds to a step that waited.
var resultFields = []string{"targetStep", "out", "waitTimeout", "waitEventId"}

// stepFields returns the members of a step that waits, as the SDK has sent it.
func stepFields(wait *workflow.Step) (f rawjson.Fields) {
	for _, m := range rawjson.Members(wait.Body) {
		if !slices.Contains(resultFields, m.Name) {
			f.Add(m.Name, m.Value)
		}
	}
	return f
}

// EndedWait is a wait that was to end.
type EndedWait struct {
	Wait    *workflow.Step
	URL     string    // of the run's workflow
	Message uuid.UUID // that tells the route of it; uuid.Nil if the wait, or its run, had ended
	Err     error     // why the run could not take the result; its wait has not ended then
}

// endWaits ends waits of an account's runs with their results, in one transaction. What
// hinders one of them does not hinder the others: its Err is set. The error is one of all.
func (s *Service) endWaits(ctx context.Context, owner job.Owner, waits []*workflow.Step,
	result func(*workflow.Step) *workflow.Step) ([]EndedWait, error) {
	ended, err := s.endTogether(ctx, owner, waits, result)
	var f *fault.Error
	if err == nil || !errors.As(err, &f) || f.Code == fault.TooMany || f.Code == fault.Unavailable {
		return ended, err
	}
	if len(waits) == 1 {
		return []EndedWait{{Wait: waits[0], Err: err}}, nil
	}
	for i := range waits { // a message of one of them is refused
		one, err := s.endWaits(ctx, owner, waits[i:i+1], result)
		if err != nil {
			return nil, err
		}
		ended = append(ended, one...)
	}
	return ended, nil
}

func (s *Service) endTogether(ctx context.Context, owner job.Owner, waits []*workflow.Step,
	result func(*workflow.Step) *workflow.Step) ([]EndedWait, error) {
	ended, steps := make([]EndedWait, len(waits)), make([]*workflow.Step, len(waits))
	runs := map[string]*workflow.Run{}
	w := &store.RunWrite{Account: owner.Number}
	var bodies []rawjson.Value
	for i, wait := range waits {
		ended[i].Wait = wait
		run, known := runs[wait.Run]
		if !known {
			var err error
			if run, err = s.Store.RunGet(ctx, owner.Number, wait.Run); noFault(err, fault.NotFound) != nil {
				return nil, err
			}
			runs[wait.Run] = run
		}
		if run == nil || !run.State.Live() {
			continue
		}
		if !known {
			w.Runs = append(w.Runs, run.ID)
		}
		ended[i].URL, steps[i] = run.URL, result(wait)
		bodies = append(bodies, messageOf(run, steps[i].Key().Text(), nil))
		w.Keys = append(w.Keys, keysFor(steps[i])...)
		w.Size += len(steps[i].Body)
	}
	if len(bodies) == 0 {
		return ended, nil
	}
	jobs, err := s.readRunJobs(ctx, owner, bodies)
	if err != nil {
		return nil, err
	}
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		return decideEnds(m, w.Jobs, steps, ended), nil
	}
	if _, err := s.applyRuns(ctx, jobs, w); err != nil {
		return nil, err
	}
	return ended, s.cancelTimeouts(ctx, owner, ended)
}

// timeoutCancels is how many jobs that would have timed out waits are cancelled at once:
// their changes share commits.
const timeoutCancels = 16

// cancelTimeouts cancels the jobs that would have timed out waits which have ended. If one
// of them stays, it does nothing when it is due.
func (s *Service) cancelTimeouts(ctx context.Context, owner job.Owner, ended []EndedWait) error {
	var pending []uuid.UUID
	for i := range ended {
		if ended[i].Message != uuid.Nil && ended[i].Wait.Message != uuid.Nil {
			pending = append(pending, ended[i].Wait.Message)
		}
	}
	errs := make([]error, timeoutCancels)
	var workers sync.WaitGroup
	for first := range min(timeoutCancels, len(pending)) {
		workers.Go(func() {
			for i := first; i < len(pending) && errs[first] == nil; i += timeoutCancels {
				errs[first] = fault.Guard(func() error { return s.cancelWaiting(ctx, owner, pending[i]) })
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

// decideEnds decides about the results of waits. jobs are their messages: those of the
// steps that are not nil, in order.
func decideEnds(m *store.RunSnapshot, jobs []store.NewJob, steps []*workflow.Step, ended []EndedWait) *store.RunChanges {
	c := &store.RunChanges{}
	place := -1
	for i, step := range steps {
		ended[i].Message, ended[i].Err = uuid.Nil, nil
		if step == nil {
			continue
		}
		place++
		run := m.Runs[step.Run]
		if run == nil || !run.State.Live() {
			continue
		}
		one := *step
		complete(&one, jobs[place].Job, m.Now)
		added, settled, err := workflow.Append(run, []*workflow.Step{&one}, m.Steps)
		if ended[i].Err = err; err != nil || len(added) == 0 {
			continue
		}
		ended[i].Message = one.Message
		c.Jobs, c.Steps, c.Settled = append(c.Jobs, place), append(c.Steps, &one), append(c.Settled, settled...)
		if !slices.Contains(c.Changed, run) {
			c.Changed = append(c.Changed, run)
		}
	}
	if len(c.Steps) == 0 {
		return nil
	}
	return c
}

// waitEnd returns the result of a wait, with a body.
func waitEnd(wait *workflow.Step, body []byte) *workflow.Step {
	return &workflow.Step{Run: wait.Run, Kind: workflow.Result, Number: wait.Number, Concurrent: wait.Concurrent, Name: wait.Name,
		Type: wait.Type, Body: body}
}

// TimeOutWait ends a wait whose time is over.
func (s *Service) TimeOutWait(ctx context.Context, owner job.Owner, key workflow.Key) error {
	if err := access.Allow(ctx, "service.TimeOutWait"); err != nil {
		return err
	}
	wait, err := s.openWait(ctx, owner, key)
	if err != nil || wait == nil {
		return err
	}
	wait.Message = uuid.Nil // it is under way
	ended, err := s.endWaits(ctx, owner, []*workflow.Step{wait}, func(w *workflow.Step) *workflow.Step {
		step := waitEnd(w, waitResult(w, nil, true))
		step.Reserved = true
		return step
	})
	if err != nil {
		return err
	}
	return ended[0].Err
}

// openWait returns the record of a wait or invocation that has not ended; nil if it has.
func (s *Service) openWait(ctx context.Context, owner job.Owner, key workflow.Key) (*workflow.Step, error) {
	found, err := s.Store.RunMessage(ctx, owner.Number, key, 0)
	if err != nil || found.Of == nil || found.Result != nil {
		return nil, err
	}
	records, err := s.Store.RunSteps(ctx, owner.Number, key.Run, found.Of.Position, 1, 0)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return records[0], nil
}

// waiterPage is how many waits end in one transaction.
const waiterPage = 100

// MaxNotified is how many waits one event may end.
const MaxNotified = 10_000

// Waiters returns up to limit waits for an event, in order of their runs.
func (s *Service) Waiters(ctx context.Context, owner job.Owner, event string, limit int) (waits []*workflow.Step, err error) {
	run, position := "", -1
	for len(waits) < limit {
		page, err := s.Store.RunWaiting(ctx, owner.Number, event, run, position, min(waiterPage, limit-len(waits)))
		if err != nil || len(page) == 0 {
			return waits, err
		}
		for _, wait := range page {
			if run, position = wait.Run, wait.Position; wait.Kind == workflow.Wait {
				wait.Body = nil
				waits = append(waits, wait)
			}
		}
	}
	return waits, nil
}

// NotifyAll sends an event to the runs that wait for it, up to MaxNotified, and reports
// whether there are more. It ends their waits in transactions of waiterPage, so that other
// accounts' changes come between.
func (s *Service) NotifyAll(ctx context.Context, owner job.Owner, event string, data []byte) (notified []EndedWait, more bool, err error) {
	if err := access.Allow(ctx, "service.NotifyAll"); err != nil {
		return nil, false, err
	}
	run, position := "", -1
	for {
		page, err := s.Store.RunWaiting(ctx, owner.Number, event, run, position, waiterPage)
		if err != nil || len(page) == 0 {
			return notified, false, err
		}
		if len(notified) >= MaxNotified {
			return notified, true, nil
		}
		last := page[len(page)-1]
		run, position = last.Run, last.Position
		waits := slices.DeleteFunc(page, func(w *workflow.Step) bool { return w.Kind != workflow.Wait })
		ended, err := s.endWaits(ctx, owner, waits, func(w *workflow.Step) *workflow.Step { return waitEnd(w, waitResult(w, data, false)) })
		if err != nil {
			return notified, false, err
		}
		for _, one := range ended {
			if one.Message != uuid.Nil || one.Err != nil {
				one.Wait.Body = nil
				notified = append(notified, one)
			}
		}
	}
}

// NotifyRun sends an event to one run. If the run does not wait for it, it is kept for the
// run's next wait for it; Wait is nil then.
func (s *Service) NotifyRun(ctx context.Context, owner job.Owner, id, event string, data []byte) (EndedWait, error) {
	if err := access.Allow(ctx, "service.NotifyRun"); err != nil {
		return EndedWait{}, err
	}
	if !workflow.ValidID(id) {
		return EndedWait{}, fault.NoSuch("workflow run")
	}
	return s.notifyRun(ctx, owner, id, &workflow.Step{WaitsFor: event, Body: data})
}

// notifyRun ends the first wait of a run for an event, or keeps the event: WaitsFor, Type
// and Body say which one it is.
func (s *Service) notifyRun(ctx context.Context, owner job.Owner, id string, event *workflow.Step) (EndedWait, error) {
	full := s.admitGrowth(ctx, owner, len(event.Body))
	for {
		waiting, err := s.waitOrKeep(ctx, owner, id, event, full)
		if err != nil || waiting == nil {
			return EndedWait{}, err
		}
		ended, err := s.endWaits(ctx, owner, []*workflow.Step{waiting},
			func(w *workflow.Step) *workflow.Step { return waitEnd(w, waitResult(w, event.Body, false)) })
		if err != nil {
			return EndedWait{}, err
		}
		if ended[0].Message != uuid.Nil || ended[0].Err != nil {
			return ended[0], ended[0].Err
		}
		// It has ended meanwhile: the event is for the next one.
	}
}

// waitOrKeep returns the run's first wait for an event; if there is none, it keeps the
// event and returns nil. full is why nothing can be kept; nil if it can.
func (s *Service) waitOrKeep(ctx context.Context, owner job.Owner, id string, event *workflow.Step,
	full error) (waiting *workflow.Step, err error) {
	w := &store.RunWrite{Account: owner.Number, Runs: []string{id}, Events: []string{event.WaitsFor}, Size: len(event.Body)}
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		run := m.Runs[id]
		if run == nil {
			return nil, workflow.NoRun(id)
		}
		waiting = nil
		if err := workflow.Accepts(run); err != nil {
			return nil, err
		}
		kept := 0
		for _, s := range m.Waiting {
			switch s.Kind {
			case workflow.Wait:
				waiting = s
				return nil, nil
			case workflow.Notice:
				kept++
			}
		}
		if full != nil {
			return nil, full
		}
		notice := *event
		notice.Kind, notice.Name, notice.Concurrent, notice.CreatedAt = workflow.Notice, "notice", 1, m.Now
		if err := workflow.Keep(run, &notice, kept); err != nil {
			return nil, err
		}
		return &store.RunChanges{Changed: []*workflow.Run{run}, Steps: []*workflow.Step{&notice}}, nil
	}
	_, err = s.applyRuns(ctx, &Batch{}, w)
	return waiting, err
}
