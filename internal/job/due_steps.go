package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// DueJob is a pending job, without its definition.
type DueJob struct {
	Number     int64
	Name       *string
	ScheduleID uuid.UUID // uuid.Nil for a one-off job
	Host       string
	DueAt      time.Time
}

// DueStep is a period with the jobs that are due in it.
type DueStep struct {
	Count int
	// Partly is set if not all jobs could be read: there may be more.
	Partly bool
	First  []DueJob // the earliest, in order of due time
}

// MaxDueSteps is how many periods one query may have.
const MaxDueSteps = 100

// Add adds count jobs to the step, of which first are the earliest. At most limit
// remain in First.
func (s *DueStep) Add(count int, partly bool, first []DueJob, limit int) {
	s.Count += count
	s.Partly = s.Partly || partly
	s.First = append(s.First, first...)
	slices.SortFunc(s.First, func(a, b DueJob) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.Number, b.Number)) })
	s.First = s.First[:min(limit, len(s.First))]
}

// DescribeDue sets the fields of the jobs in steps from those found by number. A job
// that is missing has just ended.
func DescribeDue(steps []DueStep, found map[int64]DueJob) {
	for i := range steps {
		s := &steps[i]
		s.First = slices.DeleteFunc(s.First, func(j DueJob) bool { _, known := found[j.Number]; return !known })
		for k, j := range s.First {
			described := found[j.Number]
			described.Number, described.DueAt = j.Number, j.DueAt
			s.First[k] = described
		}
	}
}

// DueNumbers returns the numbers of the jobs in steps.
func DueNumbers(steps []DueStep) []int64 {
	numbers := []int64{}
	for _, s := range steps {
		for _, j := range s.First {
			numbers = append(numbers, j.Number)
		}
	}
	return numbers
}

// AnyPartly reports whether some step may have more jobs.
func AnyPartly(steps []DueStep) bool {
	return slices.ContainsFunc(steps, func(s DueStep) bool { return s.Partly })
}
