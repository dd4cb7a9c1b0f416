package workflow

import "github.com/punctual-dev/punctual/internal/fault"

// Restart returns what a new run takes of the records of a failed one to begin anew, and
// which of them get a message.
func Restart(steps []*Step) (kept []*Step, again map[int]bool) {
	for _, s := range steps {
		if s.Kind == Initial {
			return []*Step{s}, map[int]bool{0: true}
		}
	}
	return nil, nil
}

// Resume is Restart to go on where the failed run ended: parallel steps without a result
// are planned anew, else the last step has its message sent again.
func Resume(steps []*Step) (kept []*Step, again map[int]bool) {
	results := map[int]bool{}
	for _, s := range steps {
		if s.Kind == Result {
			results[s.Number] = true
		}
	}
	again = map[int]bool{}
	for _, s := range steps {
		if s.Kind > Result {
			continue
		}
		if s.Kind == Plan && !results[s.Number] {
			again[len(kept)] = true
		}
		kept = append(kept, s)
	}
	if len(again) == 0 && len(kept) > 0 {
		again[len(kept)-1] = true
	}
	return kept, again
}

// Repeatable returns the fault for a run that can't be resumed or restarted: only one that
// failed can, once.
func Repeatable(r *Run) error {
	switch {
	case r.State != Failed:
		return fault.New(fault.Conflict, "workflow run "+r.ID+" is "+r.State.String()+"; only one that failed can be resumed or restarted")
	case r.Archived:
		return fault.New(fault.Conflict, "workflow run "+r.ID+" was resumed, restarted or removed from the dead letter queue already")
	}
	return nil
}

// Repeat begins a run with the records of another one. Those that are not settled have
// messages. live is how many runs of the account are under way.
func Repeat(r *Run, steps []*Step, live int) error {
	if live >= MaxLive {
		return TooManyRuns()
	}
	r.State, r.Rows, r.Bytes = Started, 0, 0
	open, floor := 0, 0
	for _, s := range steps {
		if err := r.add(s); err != nil {
			return err
		}
		if s.Settled {
			s.Settled = s.Kind != Result || s.WaitsFor == "" // webhooks are called in the new run
			continue
		}
		if open++; open == 1 {
			floor = s.Position
		}
	}
	r.Open, r.Waits, r.Floor = open, 0, floor
	return nil
}
