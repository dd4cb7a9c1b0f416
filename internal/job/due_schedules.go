package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// DueSchedule is a schedule with an unfinished run, without its definition.
type DueSchedule struct {
	ID    uuid.UUID
	Name  *string
	DueAt time.Time // of the run
}

// DueSchedules are schedules with an unfinished run, ordered by its due time.
type DueSchedules struct {
	Schedules []DueSchedule
	// Partly is set if not all schedules could be read: others may be due earlier.
	Partly bool
}

// Add adds schedules in order, without those that are known. At most limit remain.
func (d *DueSchedules) Add(more []DueSchedule, limit int) {
	known := make(map[uuid.UUID]bool, len(d.Schedules))
	for _, s := range d.Schedules {
		known[s.ID] = true
	}
	for _, s := range more {
		if !known[s.ID] {
			known[s.ID] = true
			d.Schedules = append(d.Schedules, s)
		}
	}
	slices.SortStableFunc(d.Schedules, func(a, b DueSchedule) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	d.Schedules = d.Schedules[:min(limit, len(d.Schedules))]
}
