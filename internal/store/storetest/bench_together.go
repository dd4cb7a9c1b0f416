package storetest

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// orderedBench is the ordered limit of benchmarks, and orderedArgs the args of its jobs.
const (
	orderedBench = "order"
	orderedArgs  = `{"url":"https://example.com/hook","method":"post","limits":["` + orderedBench + `"]}`
)

// benchTogether measures groups, chains of jobs, and jobs beside those that an ordered
// limit holds back.
func benchTogether(b *testing.B, open func(b *testing.B, clock func() time.Time) store.Store) {
	b.Run("Group/100", func(b *testing.B) { newBench(b, open).together(100) })
	b.Run("Chain/1000", func(b *testing.B) { newBench(b, open).chain(1000) })
	b.Run("Herd/beside10000", func(b *testing.B) { newBench(b, open).herd(10_000, benchArgs, 128) })
	b.Run("Herd/beside10000ordered", func(b *testing.B) { newBench(b, open).herd(10_000, orderedArgs, 128) })
}

// together measures a group: so many jobs in one transaction.
func (c *bench) together(size int) {
	for c.Loop() {
		_, err := c.s.JobInsertBatch(c.ctx, c.batch(size), func([]store.Inserted) error { return nil })
		c.ok(err)
	}
	c.perItem(size)
}

// chain measures a chain: each job waits for the one before it, is released when that is
// final, and ends.
func (c *bench) chain(size int) {
	for c.Loop() {
		last := c.insert(1)[0].Job
		for range size - 1 {
			next := c.batch(1)
			next[0].Job.DueAt = job.WaitingDue
			next[0].Await = &store.Await{Jobs: []job.AwaitedJob{{Number: last.Number, State: last.State}}}
			_, err := c.s.JobInsertMany(c.ctx, next)
			c.ok(err)
			c.final(last)
			c.released(next[0].Job)
			last = next[0].Job
		}
		c.final(last)
	}
	c.perItem(size)
}

// final completes a job.
func (c *bench) final(j *job.Job) {
	_, err := c.s.JobChange(c.ctx, c.owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.State, after.CompletedAt = job.Completed, m.Now
		return &store.Changes{Job: &after}
	})
	c.ok(err)
}

// released releases the job that waited for one that is final.
func (c *bench) released(j *job.Job) {
	free := false
	_, err := c.s.WaitApply(c.ctx, store.WaitStep{
		Account: c.owner.Number, Limit: 100, Begin: func() { free = false },
		Decide: func(r *store.Released, m *store.Snapshot) *store.Changes {
			free = free || r.Job == j.Number && !r.Open
			after := *m.Job
			after.DueAt, after.ScheduledAt = m.Now, m.Now
			return &store.Changes{Job: &after, UpdateDefinition: true}
		},
	})
	if c.ok(err); !free {
		c.Fatal("the job that waited was not released")
	}
}

// herd measures jobs without limits, from their creation to their end, beside others that
// are due later: with an ordered limit, or with none. The difference is what the limit's
// jobs cost others.
func (c *bench) herd(others int, args string, size int) {
	_, err := c.s.LimitPut(c.ctx, c.owner, store.Limit{Key: orderedBench, Limit: limit.Limit{Parallel: 1, Ordered: true}}, store.PutAlways)
	c.ok(err)
	for begun := 0; begun < others; begun += 1000 {
		jobs := c.batch(1000)
		for i := range jobs {
			at := jobs[i].Job.DueAt.Add(time.Hour)
			jobs[i].Job.Args, jobs[i].Job.ScheduledAt, jobs[i].Job.DueAt = rawjson.Value(args), at, at
		}
		_, err := c.s.JobInsertMany(c.ctx, jobs)
		c.ok(err)
	}
	c.herdOnce(size) // with what the store does once
	for c.Loop() {
		c.herdOnce(size)
	}
	c.perItem(size)
}

func (c *bench) herdOnce(size int) {
	jobs := c.insert(size)
	claims := c.claims(jobs)
	c.claim(claims)
	ends := make([]store.Finish, size)
	for i, n := range jobs {
		ends[i] = c.end(n.Job, claims[i])
	}
	_, err := c.s.QueueFinish(c.ctx, ends)
	c.ok(err)
	_, err = c.s.QueuePeek(c.ctx, store.QueueKey{}, c.s.Now(), size)
	c.ok(err)
}
