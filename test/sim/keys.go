package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// history is what happened to idempotency keys: the calls of clients from when they
// were made until they were answered, and the ends of jobs that held a key.
type history struct {
	operations []porcupine.Operation
	ended      map[int64]bool
}

// keyCall is a call with a key, or the end of a job that held one.
type keyCall struct {
	account int
	key     string
	end     int64 // the job that ended; 0 for a create
	action  int
}

// keyAnswer is what the client was told.
type keyAnswer struct {
	job      int64
	conflict bool
	refused  bool
	unclear  bool
	stored   []int64 // jobs that an unclear call may have stored
}

// keyModel says what clients may be told: while no job holds a key, a create stores
// one, which holds it until its end; else the create is told of the holder. The
// state is the number of the holder, 0 for none.
var keyModel = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		places := map[string]int{}
		for _, o := range history {
			in := o.Input.(keyCall)
			name := fmt.Sprintf("%d %s", in.account, in.key)
			if _, ok := places[name]; !ok {
				places[name] = len(parts)
				parts = append(parts, nil)
			}
			parts[places[name]] = append(parts[places[name]], o)
		}
		return parts
	},
	Init: func() []any { return []any{int64(0)} },
	Step: func(state, input, output any) []any {
		holder, in := state.(int64), input.(keyCall)
		if in.end != 0 {
			if holder == in.end {
				return []any{int64(0)}
			}
			return nil
		}
		switch out := output.(keyAnswer); {
		case out.unclear:
			next := []any{holder}
			if holder == 0 {
				for _, number := range out.stored {
					next = append(next, number)
				}
			}
			return next
		case out.refused, out.conflict:
			if holder == 0 || out.conflict && holder != out.job {
				return nil
			}
			return []any{holder}
		case holder == 0:
			return []any{out.job}
		}
		return nil
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// modelled reports whether an action is a call that the model of keys knows: not
// those that replace what holds the key.
func (a *action) modelled() (key string, ok bool) {
	key = member([]byte(a.body), "idempotency_key")
	return key, a.verb == create && key != "" && !strings.Contains(a.body, "replace")
}

// stamp returns the position in time of what happens in this step.
func (c *checker) stamp() int64 { return 2 * int64(c.w.steps) }

// keyed adds the outcome of a call that began at some step.
func (c *checker) keyed(a *action, began int64, j *job.Job, conflict bool, err error) {
	key, ok := a.modelled()
	if !ok {
		return
	}
	out := keyAnswer{conflict: conflict}
	switch code := fault.CodeOf(err); {
	case err == nil:
		out.job = j.Number
	case code == fault.Conflict:
		out.refused = true
	case code == fault.Unavailable:
		out.unclear = true
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := porcupine.Operation{ClientId: a.id, Input: keyCall{account: a.account, key: key, action: a.id}, Call: began, Output: out,
		Return: c.stamp() + 1}
	if out.unclear {
		o.Return = 1 << 60 // it may take effect at any time
	}
	c.history.operations = append(c.history.operations, o)
}

// keyEnded adds the end of a job that held a key.
func (c *checker) keyEnded(r *row) {
	id := 0
	_, _ = fmt.Sscan(r.name, &id)
	a := c.w.byID[id]
	if a == nil || r.schedule != "" || c.history.ended[r.number] {
		return
	}
	key, ok := a.modelled()
	if !ok || r.key != key {
		return
	}
	if c.history.ended == nil {
		c.history.ended = map[int64]bool{}
	}
	c.history.ended[r.number] = true
	c.history.operations = append(c.history.operations, porcupine.Operation{
		ClientId: -1, Input: keyCall{account: a.account, key: key, end: r.number}, Call: c.stamp(), Output: keyAnswer{},
		Return: c.stamp() + 1,
	})
}

// checkKeys reports answers about keys that no order of the calls explains.
func (c *checker) checkKeys() {
	for i := range c.history.operations {
		o := &c.history.operations[i]
		out := o.Output.(keyAnswer)
		if !out.unclear {
			continue
		}
		for _, r := range c.jobs {
			if r.name == fmt.Sprint(o.Input.(keyCall).action) {
				out.stored = append(out.stored, r.number)
			}
		}
		slices.Sort(out.stored)
		o.Output = out
	}
	model := keyModel.ToModel()
	if porcupine.CheckOperationsTimeout(model, c.history.operations, 5*time.Second) == porcupine.Illegal {
		c.breaks(keys, "no order of the calls explains their answers: %s", c.explainKeys(model))
	}
	c.counts["keyed"] += len(c.history.operations)
}

// explainKeys lists the calls with the first key whose answers can't be explained.
func (c *checker) explainKeys(model porcupine.Model) string {
	for _, part := range keyModel.Partition(c.history.operations) {
		if porcupine.CheckOperationsTimeout(model, part, 5*time.Second) != porcupine.Illegal {
			continue
		}
		var lines []string
		for _, o := range part {
			lines = append(lines, keyModel.DescribeOperation(o.Input, o.Output))
		}
		return strings.Join(lines, "; ")
	}
	return ""
}
