package lifecycle

import (
	"bytes"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// carryOver is what a successful response leaves for the next runs of its
// schedule, and which of its members are ignored. It is computed before the transaction that stores it, because
// others wait for that.
type carryOver struct {
	previous rawjson.Value // the body; nil when it is not JSON
	hidden   string        // its token, if it is not shown; previous is nil then
	set      rawjson.Value // $set; nil when there is none
	steering
	wrong []rejection

	// The result of merging set into the state of before.
	before, merged rawjson.Value
	size           int
	fits           bool
}

// carryOver reads the response of an attempt that ended at a time.
func (a *Attempt) carryOver(o *job.Outcome, v Verdict, at time.Time) *carryOver {
	body := job.JSONBody(o.Response) // the log's too
	if v != Succeeded {
		return nil
	}
	return a.carryOverOf(body, wrongFail(body), at)
}

// carryOverOf reads what a successful attempt has returned; wrong are members that
// are ignored. It returns nil if there is nothing to carry over.
func (a *Attempt) carryOverOf(body rawjson.Value, wrong []rejection, at time.Time) *carryOver {
	if a.Item.Schedule == nil {
		if wrong == nil {
			return nil
		}
		return &carryOver{wrong: wrong}
	}
	c := a.previousOf(body)
	c.steering, c.wrong = steer(body, at)
	c.wrong = append(c.wrong, wrong...)
	switch set := rawjson.Get(body, steerSet); {
	case set.Kind() == '{':
		c.set = set
		c.merge(a.Item.Schedule.State)
	case !rawjson.IsNull(set):
		c.wrong = append(c.wrong, rejection{steerSet, "must be an object, whose members are merged into $state"})
	}
	return c
}

// previousOf returns a response as it becomes $previous. One that can't be hidden is not
// kept.
func (a *Attempt) previousOf(body rawjson.Value) *carryOver {
	if body == nil || !a.Spec.Redact.Response && !job.LooksHidden(body) {
		return &carryOver{previous: body}
	}
	token, err := job.HidePrevious(a.sealer, a.Item.Job.Owner, body)
	if err != nil {
		return &carryOver{}
	}
	return &carryOver{hidden: token}
}

func (c *carryOver) merge(state rawjson.Value) {
	c.before = state
	c.merged, c.size, c.fits = job.MergeState(state, c.set)
}

// keepCarryOver stores the merged $set as the schedule's state and the response
// as $previous.
func (e *ending) keepCarryOver() {
	current, c := e.snapshot.Schedule, e.carry
	if c == nil {
		return
	}
	for _, wrong := range c.wrong {
		e.changes.Logs = append(e.changes.Logs, wrong.log(e.job, e.at))
	}
	if current == nil || e.Item.Schedule == nil {
		return
	}
	s := *current
	if c.set != nil {
		// It is merged already, unless a client has changed the state during
		// the attempt.
		if !bytes.Equal(c.before, s.State) {
			c.merge(s.State)
		}
		if c.fits {
			s.State = c.merged
		} else {
			e.changes.Logs = append(e.changes.Logs, rejectedLog(e.job, e.at, c.size))
		}
	}
	// Disabling clears $previous, also for a run under way.
	if e.Item.Schedule.Epoch == s.Epoch {
		s.Previous, s.HiddenPrevious = c.previous, c.hidden
	}
	e.changes.Schedule = &s
}
