package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// jobsAhead: by step, how many jobs are due and the first, whether the queue or the
// pending jobs are read, and of jobs that limits hold too.
func jobsAhead(w *world) {
	in := func(owner job.Owner, minutes int) *job.Job {
		return w.insertOne(w.oneOff(owner, w.now.Add(time.Duration(minutes)*time.Minute)))
	}
	bounds := []time.Time{w.now, w.now.Add(10 * time.Minute), w.now.Add(20 * time.Minute), w.now.Add(30 * time.Minute)}
	ahead := func(limit, look, pending int) string {
		steps, err := w.s.JobsAhead(w.ctx, w.owner, bounds, limit, look, pending)
		w.ok("JobsAhead", err)
		var lines []string
		for _, s := range steps {
			line := fmt.Sprintf("%d %v:", s.Count, s.Partly)
			for _, j := range s.First {
				line += fmt.Sprintf(" %d at %s", j.Number, j.DueAt.Sub(w.now))
				if j.ScheduleID != uuid.Nil {
					line += " of a schedule"
				}
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "; ")
	}
	w.same("with nothing stored", ahead(2, 100, 100), "0 false:; 0 false:; 0 false:")
	second, first := in(w.owner, 6), in(w.owner, 5)
	edge := in(w.owner, 10)
	in(w.owner, -1)
	in(w.owner, 30)
	in(w.other, 4)
	run := w.insertOne(w.recurring(w.owner, w.now.Add(25*time.Minute)))
	w.limit("slow", limit.Limit{Paused: true})
	held := in(w.owner, 7)
	w.ok("LimitHold", w.s.LimitHold(w.ctx, []store.HeldItem{{QueueKey: *w.queued(held), Keys: []string{"slow"}}}))
	want := fmt.Sprintf("3 false: %d at 5m0s %d at 6m0s; 1 false: %d at 10m0s; 1 false: %d at 25m0s of a schedule", first.Number,
		second.Number, edge.Number, run.Number)
	w.same("of the queue", ahead(2, 100, 1), want)
	w.same("of the pending jobs", ahead(2, 2, 100), want)
	w.same("of too many", ahead(2, 2, 2), fmt.Sprintf(
		"2 true: %d at 5m0s %d at 7m0s; 1 false: %d at 10m0s; 1 false: %d at 25m0s of a schedule", first.Number, held.Number, edge.Number,
		run.Number))
}
