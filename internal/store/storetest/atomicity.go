package storetest

import (
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var atomicityTests = group{
	"FailedInsert":         atomicityInsert,
	"FailedFinish":         atomicityFinish,
	"FailedJobChange":      atomicityJobChange,
	"FailedScheduleChange": atomicityScheduleChange,
	"NeighboursOfFailures": atomicityNeighbours,
}

// everything shows all records and queue items of the owner.
func (w *world) everything() string {
	w.Helper()
	return show(w.listJobs(w.owner, job.Query{ListQuery: job.ListQuery{Limit: 1000}}), showJob) +
		show(w.listSchedules(w.owner, job.ListQuery{Limit: 1000}), showSchedule) +
		show(w.listLogs(w.owner, job.LogQuery{ListQuery: job.ListQuery{Limit: 1000}}), showLog) +
		show(w.peek(), showRef)
}

// twin returns a new job that can't be stored, because its ID is taken.
func (w *world) twin(j *job.Job) store.NewJob {
	n := w.oneOff(j.Owner, w.ahead())
	n.Job.ID = j.ID
	return n
}

// wantNothing verifies that a write failed and changed nothing.
func (w *world) wantNothing(what string, err error, before string) {
	w.Helper()
	if err == nil {
		w.Errorf("%s went well", what)
	}
	w.same(what+" left the store", w.everything(), before)
}

func atomicityInsert(w *world) {
	first := w.insertOne(w.oneOff(w.owner, w.ahead()))
	before := w.everything()
	_, err := w.s.JobInsertMany(w.ctx, []store.NewJob{w.oneOff(w.owner, w.ahead()), w.recurring(w.owner, w.past()), w.twin(first),
		w.oneOff(w.owner, w.past())})
	w.wantNothing("an insert with a twin", err, before)
	w.insertOne(w.oneOff(w.owner, w.ahead()))
}

func atomicityFinish(w *world) {
	n := w.recurring(w.owner, w.past())
	jobs := w.insert(n, w.oneOff(w.owner, w.past()))
	first, second := w.begin(jobs[0]), w.begin(jobs[1])
	before := w.everything()
	twin := w.twin(jobs[1])
	bad := w.end(jobs[0], first, func(j *job.Job, c *store.Changes) {
		w.completes(j, c)
		s := *n.Schedule
		s.Epoch = 9
		c.Schedule, c.Next = &s, &twin
		c.Deliveries = []job.Delivery{w.webhook(j, 1, "finished", w.past()), w.callback(j, 1, w.past())}
	})
	_, err := w.s.QueueFinish(w.ctx, []store.Finish{w.end(jobs[1], second, w.completes), bad})
	w.wantNothing("a finish with a twin", err, before)
	w.finish(w.end(jobs[0], first, w.completes), w.end(jobs[1], second, w.completes)) // both are still held
}

func atomicityJobChange(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.holdWithEvents(j)
	before := w.everything()
	twin := w.twin(j)
	_, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		changes := w.cancelUnstarted(m)
		changes.Logs = []job.Log{w.log(j, job.EventError, w.past())}
		changes.Next = &twin
		return changes
	})
	w.wantNothing("a change with a twin", err, before)
	w.finish(w.end(j, c, w.completes))
	if sent := w.deliverAll(); sent != "started request" {
		w.Errorf("after a change that failed %q went out", sent)
	}
}

func atomicityScheduleChange(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	before := w.everything()
	twin := w.twin(j)
	for _, dropped := range []bool{false, true} {
		_, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
			c := cancel(m)
			s := *m.Schedule
			s.DisabledAt = m.Now
			c.Schedule, c.DropSchedule, c.Next = &s, dropped, &twin
			return c
		})
		w.wantNothing("a schedule's change with a twin", err, before)
	}
}

// atomicityNeighbours: failing writes don't affect the writes that share a commit
// with them.
func atomicityNeighbours(w *world) {
	first := w.insertOne(w.oneOff(w.owner, w.ahead()))
	const workers, rounds = 8, 40
	var wg sync.WaitGroup
	stored := make([][]*job.Job, workers)
	for i := range workers {
		wg.Go(func() {
			for round := range rounds {
				if err := w.neighbour(i, round, first, &stored[i]); err != nil {
					w.Errorf("worker %d, round %d: %v", i, round, err)
				}
			}
		})
	}
	wg.Wait()
	numbers := map[int64]bool{}
	for _, jobs := range stored {
		for _, j := range jobs {
			if numbers[j.Number] {
				w.Errorf("number %d was given twice", j.Number)
			}
			numbers[j.Number] = true
			w.same("a job stored beside failures", showJob(w.get(j)), showJob(j))
		}
	}
	if n := len(w.peek()); n != len(numbers)+1 {
		w.Errorf("%d items for %d jobs", n, len(numbers)+1)
	}
}

// neighbour does one write, which fails or not.
func (w *world) neighbour(worker, round int, first *job.Job, stored *[]*job.Job) error {
	switch (worker + round) % 4 {
	case 0:
		if _, err := w.s.JobInsertMany(w.ctx, []store.NewJob{w.oneOff(w.owner, w.ahead()), w.twin(first)}); err == nil {
			return fmt.Errorf("a twin was stored")
		}
	case 1:
		_, err := w.s.JobChange(w.ctx, w.owner, job.Ref{UUID: uuid.New()}, cancel)
		if fault.CodeOf(err) != fault.NotFound {
			return fmt.Errorf("changing no job: %w", err)
		}
	default:
		n := w.oneOff(w.owner, w.ahead())
		results, err := w.s.JobInsertMany(w.ctx, []store.NewJob{n})
		if err != nil {
			return err
		}
		*stored = append(*stored, results[0].Job)
	}
	return nil
}
