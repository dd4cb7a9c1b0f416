package postgres

import (
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

// TestStates_AreOfOneMoment: a job that begins to execute while a statement is composed is
// in one of its branches, not in two or in none.
func TestStates_AreOfOneMoment(t *testing.T) {
	const epoch = 1 << 50
	s := &Store{clock: newClock()}
	s.clock.learn(0, 0, epoch)
	owner := job.Owner{Number: 1}
	q := job.Query{ListQuery: job.ListQuery{Limit: 10}, States: []job.State{job.Available, job.Executing, job.Retryable}}
	for name, compose := range map[string]func(*condition){
		"list": func(c *condition) { s.indexedNumbers(c, owner, q) },
		"walk": func(c *condition) {
			for _, of := range s.sources(owner, q) {
				of(c, `0`)
			}
		},
	} {
		for range 100 {
			c := &condition{}
			compose(c)
			var moments []int64
			for _, arg := range c.args {
				if n, ok := arg.(int64); ok && n > epoch/2 && n < 2*epoch {
					moments = append(moments, n)
				}
			}
			if len(moments) != 3 || len(slices.Compact(moments)) != 1 {
				t.Fatalf("%s: the states are of %v", name, moments)
			}
		}
	}
}
