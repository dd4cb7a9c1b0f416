package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Outcome is one run in a row of marks.
type Outcome struct {
	State job.State
	At    time.Time
}

// stripWords describes a row of marks, for screen readers.
func stripWords(outcomes []Outcome, now time.Time) string {
	counts := map[job.State]int{}
	for _, o := range outcomes {
		counts[o.State]++
	}
	last := outcomes[len(outcomes)-1]
	return fmt.Sprintf("The last %s: %s. The latest: %s %s.", Plural(len(outcomes), "run", "runs"), strings.Join(stateCounts(counts), ", "),
		strings.ToLower(StateLabel(last.State)), Relative(now, last.At))
}

// stateCounts returns how many of each state there are: "3 completed", "1 failed".
func stateCounts(counts map[job.State]int) (parts []string) {
	for _, state := range []job.State{job.Completed, job.Discarded, job.Cancelled, job.Retryable, job.Executing, job.Available} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(StateLabel(state))))
		}
	}
	return parts
}

// The distance, width and height of the marks, in pixels.
const (
	markStep   = 10
	markWidth  = 7
	markHeight = 20
)

func stripBox(n int) string {
	return fmt.Sprintf("0 0 %d %d", n*markStep-(markStep-markWidth), markHeight)
}

// markPath returns the path of a mark. Each outcome has a shape of its own, since
// colour alone does not reach everyone.
func markPath(i int, state job.State) string {
	x := i * markStep
	switch state {
	case job.Completed: // a tall bar
		return fmt.Sprintf("M%d 0h%dv%dh-%dz", x, markWidth, markHeight, markWidth)
	case job.Discarded: // a cross
		return fmt.Sprintf("M%d 5l3.5 3.7 3.5-3.7v4.6l-1.6 1.8 1.6 1.8v4.6l-3.5-3.7-3.5 3.7v-4.6l1.6-1.8-1.6-1.8z", x)
	case job.Cancelled, job.Available: // a dash
		return fmt.Sprintf("M%d 9h%dv2h-%dz", x, markWidth, markWidth)
	default: // a short bar at the bottom: executing or retryable
		return fmt.Sprintf("M%d 10h%dv10h-%dz", x, markWidth, markWidth)
	}
}
