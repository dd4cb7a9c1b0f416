package lifecycle

import (
	"bytes"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// carryOver is what a successful response leaves for the next runs of its
// schedule. It is computed before the transaction that stores it, because
// others wait for that.
type carryOver struct {
	previous rawjson.Value // the body; nil when it is not JSON
	set      rawjson.Value // $set; nil when there is none

	// The result of merging set into the state of before.
	before, merged rawjson.Value
	size           int
	fits           bool
}

// carryOver reads the response of a schedule's run. It returns nil if there is
// nothing to carry over.
func (a *Attempt) carryOver(o *job.Outcome, v Verdict) *carryOver {
	body := job.JSONBody(o.Response) // the log's too
	if a.Item.Schedule == nil || v != Succeeded {
		return nil
	}
	c := &carryOver{previous: body}
	if set := rawjson.Get(body, "$set"); set.Kind() == '{' {
		c.set = set
		c.merge(a.Item.Schedule.State)
	}
	return c
}

func (c *carryOver) merge(state rawjson.Value) {
	c.before = state
	c.merged, c.size, c.fits = job.MergeState(state, c.set)
}

// keepCarryOver stores the merged $set as the schedule's state and the response
// as $previous.
func (e *ending) keepCarryOver() {
	current, c := e.snapshot.Schedule, e.carry
	if current == nil || c == nil {
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
		s.Previous = c.previous
	}
	e.changes.Schedule = &s
}
