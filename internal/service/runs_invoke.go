package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// InvokeRun starts a run that another one waits for. The wait is stored with it. A step
// that has invoked a run already is a duplicate.
func (s *Service) InvokeRun(ctx context.Context, owner job.Owner, start RunStart, by *workflow.Step) (Appended, error) {
	if err := access.Allow(ctx, "service.InvokeRun"); err != nil {
		return Appended{}, err
	}
	return s.startRun(ctx, owner, &start, by)
}

// invokedBy adds to changes the wait of the run that invokes the new one, if there is one.
// It reports false if the step has invoked a run already.
func invokedBy(c *store.RunChanges, m *store.RunSnapshot, by *workflow.Step) (invoked bool, err error) {
	if by == nil {
		return true, nil
	}
	invoker := m.Runs[by.Run]
	if invoker == nil {
		return false, workflow.NoRun(by.Run)
	}
	wait := *by
	wait.CreatedAt = m.Now
	added, settled, err := workflow.Append(invoker, []*workflow.Step{&wait}, m.Steps)
	if err != nil || len(added) == 0 {
		return false, err
	}
	c.Steps, c.Settled, c.Changed = append(c.Steps, added...), append(c.Settled, settled...), append(c.Changed, invoker)
	return true, nil
}

// refuseTaken returns why a step can't invoke a run whose id is taken: nil if the step has
// invoked it.
func refuseTaken(m *store.RunSnapshot, by *workflow.Step, id string) error {
	if by == nil || m.Steps[by.Key()] != nil || m.Steps[workflow.Key{Run: by.Run, Kind: workflow.Result, Number: by.Number}] != nil {
		return nil
	}
	return fault.New(fault.Stale, "workflow run "+id+" exists already and can't be invoked; leave out workflowRunId or choose another")
}

// tellInvoker tells the run that has invoked another one of its end.
func (s *Service) tellInvoker(ctx context.Context, owner job.Owner, run *workflow.Run) error {
	number, _ := strconv.Atoi(string(rawjson.Get(run.Invoker, "number")))
	by := workflow.Key{Run: rawjson.Text(rawjson.Get(run.Invoker, "run")), Kind: workflow.Invoke, Number: number}
	wait, err := s.openWait(ctx, owner, by)
	if err != nil {
		return err
	}
	if wait != nil && wait.WaitsFor == run.ID {
		if err := s.endInvocation(ctx, owner, wait, run); err != nil {
			return err
		}
	}
	return s.changeRun(ctx, owner, run.ID, func(r *workflow.Run, _ time.Time) (bool, error) {
		changed := r.Unreported
		r.Unreported = false
		return changed, nil
	})
}

// endInvocation stores the result of an invocation. If the invoker can't take the result
// of the run, it gets the reason in its place.
func (s *Service) endInvocation(ctx context.Context, owner job.Owner, wait *workflow.Step, run *workflow.Run) error {
	failed := run.State == workflow.Failed
	body := run.Result
	for {
		ended, err := s.endWaits(ctx, owner, []*workflow.Step{wait}, func(w *workflow.Step) *workflow.Step {
			step := waitEnd(w, invokeResult(w, run, body, failed))
			step.Reserved = body == nil || failed
			return step
		})
		if err != nil {
			return err
		}
		if fault.CodeOf(ended[0].Err) != fault.Stale || failed {
			return ended[0].Err
		}
		body, failed = rawjson.Quote("the result of the invoked workflow run is lost: "+ended[0].Err.Error()), true
	}
}

// invokeResult returns the body of the result of an invocation.
func invokeResult(wait *workflow.Step, run *workflow.Run, body []byte, failed bool) []byte {
	var out rawjson.Fields
	out.Text("workflowRunId", run.ID)
	out.Text("body", string(body))
	if failed {
		out.Add("isFailed", rawjson.Value("true"))
	}
	if run.State == workflow.Cancelled {
		out.Add("isCanceled", rawjson.Value("true"))
	}
	f := stepFields(wait)
	f.Text("out", string(out.Object()))
	return f.Object()
}

// unreportedPage is how many ends are read at once.
const unreportedPage = 100

// TellInvokers notifies runs of the ends of those that they have invoked, as far as that was
// not done at once. It returns the error of one that could not be notified; the others are
// told, but for those of an account that may store nothing more at the moment. ownerOf
// returns an account.
func (s *Service) TellInvokers(ctx context.Context, ownerOf func(context.Context, int64) (job.Owner, error)) (err error) {
	account, id, full := int64(0), "", int64(0)
	for ctx.Err() == nil {
		page, failed := s.Store.RunsUnreported(ctx, account, id, unreportedPage)
		if failed != nil {
			return errors.Join(err, failed)
		}
		for _, listed := range page {
			if account, id = listed.Account, listed.ID; account == full {
				continue // each of its runs would cost several reads for nothing
			}
			failed := fault.Guard(func() error {
				owner, err := ownerOf(ctx, listed.Account)
				if err != nil {
					return noFault(err, fault.NotFound) // it is being deleted
				}
				run, err := s.Store.RunGet(ctx, owner.Number, listed.ID)
				if err != nil {
					return noFault(err, fault.NotFound)
				}
				return s.tellInvoker(ctx, owner, run)
			})
			if failed != nil {
				err = failed // one is enough for the log
			}
			if code := fault.CodeOf(failed); failed != nil && (code == fault.TooMany || code == fault.Forbidden) {
				full = account
			}
		}
		if len(page) < unreportedPage {
			return err
		}
	}
	return err
}

// told reports to the invoker of a run that was ended by this call. What fails is done by
// TellInvokers.
func (s *Service) told(ctx context.Context, owner job.Owner, run *workflow.Run) {
	if run != nil && run.Unreported {
		_ = s.tellInvoker(ctx, owner, run)
	}
}
