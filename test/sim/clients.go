package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// live returns the service of a node, or of another one that serves.
func (w *world) live(i int) *service.Service {
	for k := range w.nodes {
		if s := w.nodes[(i+k)%len(w.nodes)].serving(); s != nil {
			return s
		}
	}
	return nil
}

// client carries out a client's action. It repeats what can be repeated until it
// gets an answer.
func (w *world) client(a *action) {
	for try := 0; ; try++ {
		if w.sched.await(nil, "client", fmt.Sprintf("%d. %s", a.id, a.verb)); w.ctx.Err() != nil {
			return
		}
		var err error = fault.Unreachable(nil)
		if s := w.live(a.node + try); s != nil {
			e := w.try(s, a)
			if e == nil || fault.CodeOf(e) != fault.Unavailable {
				w.check.answered(a, e)
				return
			}
			err = e
		}
		if w.check.unclear(a, err); !a.repeatable() || try == 20 || w.ctx.Err() != nil {
			return
		}
		pause.For(w.ctx, 700*time.Millisecond)
	}
}

// repeatable reports whether a call may be made again when its outcome is unclear.
func (a *action) repeatable() bool { return a.verb != rerun && a.verb != runNow && a.verb != batch }

// try makes the call of an action once.
func (w *world) try(s *service.Service, a *action) error {
	ctx, owner := w.ctx, w.db.owners[a.account]
	switch a.verb {
	case trigger, notify, notifyRun, callHook, cancelRun, resume, restart:
		return w.changeRun(a)
	case create:
		if a.group != "" {
			return w.createGroup(s, a)
		}
		began := w.check.stamp()
		j, conflict, err := s.Create(ctx, owner, []byte(w.withAfter(a)), nil)
		if err == nil {
			w.made(a, j)
		}
		w.check.keyed(a, began, j, conflict, err)
		return err
	case batch:
		item := service.BatchItem{Body: rawjson.Value(a.body)}
		var then *service.BatchItem
		if a.then != "" {
			then = &service.BatchItem{Body: rawjson.Value(a.then)}
		}
		b, err := s.ReadBatchThen(ctx, owner, []service.BatchItem{item, item, item}, then, true, false)
		if err != nil {
			return err
		}
		results, err := s.CreateBatch(ctx, b)
		if err == nil {
			for _, r := range results {
				w.made(a, r.Job)
			}
		}
		return err
	case setGroup:
		_, _, err := s.SetGroup(ctx, owner, a.key, rawjson.Value(a.body), service.Match{})
		return err
	case setLimit:
		_, _, err := s.SetLimit(ctx, owner, a.key, rawjson.Value(a.body), service.Match{})
		return err
	}
	w.mu.Lock()
	r := w.created[a.of]
	w.mu.Unlock()
	if r == nil {
		return fault.New(fault.NotFound, "it was not created")
	}
	return w.change(s, a, r)
}

// createGroup makes the call of an action that creates the jobs of a group, or a schedule
// with one.
func (w *world) createGroup(s *service.Service, a *action) error {
	created, err := s.CreateAll(w.ctx, w.db.owners[a.account], rawjson.Value(a.body), nil, nil)
	if err != nil {
		return err
	}
	for _, j := range created.Jobs {
		w.made(a, j)
	}
	return nil
}

// changeRun makes the call of an action about a workflow run.
func (w *world) changeRun(a *action) error {
	owner := w.db.owners[a.account]
	run, data := runKey{owner.Number, runOf(a.of)}, fmt.Sprintf("data of %d", a.id)
	r := &request{account: a.account, method: "POST"}
	switch a.verb {
	case trigger:
		run.id = runOf(a.id)
		r.path, r.header, r.body = "/v2/trigger/"+routeURL(a, ""), a.trigger(), `{"order":7}`
	case notify:
		r.path, r.body = "/v2/notify/"+a.key, data
	case notifyRun:
		r.path, r.body = "/v2/notify/"+run.id+"/"+a.key, data
	case callHook:
		r.account, r.path, r.body = -1, "/v2/workflows/hooks/"+owner.ID.String()+"/"+run.id+"/"+hookEvent(run.id, a.key), data
	case cancelRun:
		r.method, r.path = "DELETE", "/v2/workflows/runs/"+run.id
	case resume, restart:
		r.path = "/v2/workflows/dlq/" + string(a.verb) + "?dlqIds=" + run.id
	}
	status, body := w.call(a.node, fmt.Sprintf("client %d", a.id), r)
	switch {
	case !lasting(status):
		return fault.Unreachable(fmt.Errorf("%d %s", status, body))
	case status != http.StatusOK:
		return fault.New(fault.Conflict, body)
	}
	switch a.verb {
	case trigger:
		w.check.flows.accept(run)
	case notifyRun, callHook:
		w.check.flows.takes(run, data, a.verb == callHook)
	case cancelRun:
		w.check.flows.cancelled(run)
	}
	return nil
}

// withAfter returns the body of a create with the jobs that it waits for, as far as they
// were created.
func (w *world) withAfter(a *action) string {
	var numbers []string
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range a.awaits {
		if r := w.created[id]; r != nil && r.schedule == nil {
			numbers = append(numbers, strconv.FormatInt(r.job.Number, 10))
		}
	}
	if len(numbers) == 0 {
		return a.body
	}
	return strings.TrimSuffix(a.body, "}") + fmt.Sprintf(`, "after": {"jobs": [%s], "on": %q}}`, strings.Join(numbers, ", "), a.key)
}

// change makes the call of an action that changes a record.
func (w *world) change(s *service.Service, a *action, r *record) error {
	ctx, owner := w.ctx, w.db.owners[a.account]
	var err error
	var j *job.Job
	switch of := r.schedule; {
	case a.verb == cancel:
		if j, err = s.Cancel(ctx, owner, r.job, service.Match{}); err == nil {
			w.check.cancelled(j)
		}
	case a.verb == rerun:
		if j, _, err = s.Rerun(ctx, owner, r.job, nil, nil); err == nil {
			w.check.accepted(j)
		}
	case a.verb == edit && of != nil:
		_, err = s.EditSchedule(ctx, owner, of.ScheduleID, rawjson.Value(a.body), service.Match{})
	case a.verb == edit:
		if j, err = s.EditJob(ctx, owner, r.job, rawjson.Value(a.body), service.Match{}); err == nil {
			w.check.accepted(j)
		}
	case a.verb == runNow && of != nil:
		if j, _, err = s.RunSchedule(ctx, owner, of.ScheduleID); err == nil {
			w.check.accepted(j)
		}
	case a.verb == runNow:
		if j, err = s.RunNow(ctx, owner, r.job); err == nil {
			w.check.accepted(j)
		}
	case a.verb == disable:
		_, err = s.Disable(ctx, owner, of.ScheduleID, service.Match{})
	case a.verb == enable:
		_, err = s.Enable(ctx, owner, of.ScheduleID, service.Match{})
	case a.verb == remove:
		err = s.Delete(ctx, owner, of.ScheduleID, service.Match{})
	}
	return err
}

// made notes what a client was told of what it has created.
func (w *world) made(a *action, j *job.Job) {
	w.check.accepted(j)
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &record{job: job.Ref{Number: j.Number}}
	if strings.Contains(a.body, "repeat_every") {
		r.schedule = j
	}
	if w.created[a.id] == nil {
		w.created[a.id] = r
	}
}
