package lifecycle

import (
	"bytes"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// carryOver is what a successful response leaves for the runs to come. It is
// made before the transaction that stores it, which others wait for.
type carryOver struct {
	previous rawjson.Value // the body; nil when it is not JSON
	set      rawjson.Value // $set; nil when there is none

	// What merging set into the state of before comes to.
	before, merged rawjson.Value
	size           int
	fits           bool
}

// carryOver reads the response of a schedule's run; nil when it leaves nothing.
func (a *Attempt) carryOver(o *job.Outcome) *carryOver {
	body := job.JSONBody(o.Response) // the log's too
	if a.Run.Schedule == nil || !o.Succeeded() {
		return nil
	}
	c := &carryOver{previous: body}
	if set := rawjson.Get(body, "$set"); set.Kind() == '{' {
		c.set = set
		c.merge(a.Run.Schedule.State)
	}
	return c
}

func (c *carryOver) merge(state rawjson.Value) {
	c.before = state
	c.merged, c.size, c.fits = job.MergeState(state, c.set)
}

// keepCarryOver keeps what a successful response leaves: $set in the schedule's
// state, the response itself as $previous.
func (e *ending) keepCarryOver() {
	current, c := e.moment.Schedule, e.carry
	if current == nil || c == nil {
		return
	}
	s := *current
	if c.set != nil {
		// It was merged already, unless a client has changed the state while the
		// attempt was under way.
		if !bytes.Equal(c.before, s.State) {
			c.merge(s.State)
		}
		if c.fits {
			s.State = c.merged
		} else {
			e.changes.Logs = append(e.changes.Logs, rejectedLog(e.job, e.at, c.size))
		}
	}
	// Disabling forgets $previous, also that of a run under way.
	if e.Run.Schedule.Epoch == s.Epoch {
		s.Previous = c.previous
	}
	e.changes.Schedule = &s
}
