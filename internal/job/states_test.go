package job

import (
	"errors"
	"strings"
	"testing"
)

func TestTransitions_OnlyFromTheirStates(t *testing.T) {
	steps := map[string]func(*Job) error{
		"begin": func(j *Job) error { return j.Begin(noon) }, "complete": func(j *Job) error { return j.Complete(noon) },
		"retry": func(j *Job) error { return j.Retry(noon) }, "discard": func(j *Job) error { return j.Discard(noon) },
		"cancel": func(j *Job) error { return j.Cancel(noon) },
	}
	allowed := map[State]string{
		Available: "begin cancel", Retryable: "begin cancel", Executing: "complete retry discard cancel",
		Completed: "", Cancelled: "", Discarded: "",
	}
	for state, names := range allowed {
		for name, step := range steps {
			j := &Job{Number: 7, State: state}
			err := step(j)
			if strings.Contains(names, name) {
				if err != nil || j.State == state {
					t.Errorf("%s from %s: %v, now %s", name, state, err, j.State)
				}
				continue
			}
			var impossible *TransitionError
			if !errors.As(err, &impossible) || impossible.From != state || impossible.Job != 7 || j.State != state ||
				!j.AttemptedAt.IsZero() || j.Attempt != 0 {
				t.Errorf("%s from %s: %v, now %+v", name, state, err, j)
			}
		}
	}
	if err := (&Job{Number: 7, State: Completed}).Begin(noon); err.Error() != "job 7 is completed and can't become executing" {
		t.Error(err)
	}
}
