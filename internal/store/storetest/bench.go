package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// benchArgs are as long as those of a typical job.
const benchArgs = `{"url":"https://example.com/hook","method":"post","body":{"author":"alex","content":"Hello world!","n":12345},` +
	`"headers":{"x-trace":"0123456789abcdef0123456789abcdef"},"schedule_in":[30,"seconds"]}`

// Benchmark measures the hot operations of a store. Each benchmark reports the
// cost of a call and the cost per job or queue item.
func Benchmark(b *testing.B, open func(b *testing.B, clock func() time.Time) store.Store) {
	for _, size := range []int{1, 16, 128, 1024} {
		b.Run(fmt.Sprintf("Insert/%d", size), func(b *testing.B) {
			newBench(b, open).insertMany(size)
		})
	}
	for _, size := range []int{1, 128} {
		b.Run(fmt.Sprintf("InsertLimited/%d", size), func(b *testing.B) {
			newBench(b, open).insertLimited(size, 1_000_000_000)
		})
	}
	b.Run("InsertAtLimit/1000", func(b *testing.B) { newBench(b, open).insertAtLimit(1000) })
	for _, size := range []int{128, 500} {
		b.Run(fmt.Sprintf("Claim/%d", size), func(b *testing.B) {
			newBench(b, open).claimMany(size)
		})
	}
	b.Run("Finish/128", func(b *testing.B) { newBench(b, open).finishMany(128) })
	b.Run("Peek/500", func(b *testing.B) { newBench(b, open).peek(500) })
	for _, list := range []struct {
		name  string
		query job.Query
	}{
		{"First", job.Query{}},
		{"Middle", job.Query{ListQuery: job.ListQuery{After: benchStored / 2}}},
		{"Scheduled", job.Query{States: []job.State{job.Available, job.Retryable}}},
		{"Executing", job.Query{States: []job.State{job.Executing}}},
	} {
		b.Run("List/"+list.name, func(b *testing.B) { newBench(b, open).list(list.query) })
	}
	benchTogether(b, open)
}

// benchStored is how many jobs are stored for reads.
const benchStored = 20_000

type bench struct {
	*testing.B
	ctx   context.Context
	s     store.Store
	owner job.Owner
	node  int64
}

func newBench(b *testing.B, open func(b *testing.B, clock func() time.Time) store.Store) *bench {
	b.Helper()
	c := &bench{B: b, ctx: b.Context(), s: open(b, time.Now)}
	b.Cleanup(func() { c.ok(c.s.Close()) })
	a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: "bench@example.com", CreatedAt: c.s.Now()}
	c.ok(c.s.AccountInsert(c.ctx, a))
	c.owner = a.Owner
	var err error
	c.node, err = c.s.NodeStart(c.ctx)
	c.ok(err)
	return c
}

func (c *bench) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *bench) batch(size int) []store.NewJob {
	jobs := make([]store.NewJob, size)
	now := c.s.Now()
	for i := range jobs {
		due := now.Add(time.Duration(i) * time.Microsecond)
		jobs[i] = store.NewJob{Lane: 1, Job: &job.Job{
			ID: job.NewID(now), Owner: c.owner, InsertedAt: now, ScheduledAt: due, State: job.Available, DueAt: due,
			Args: rawjson.Value(benchArgs),
		}}
	}
	return jobs
}

func (c *bench) insert(size int) []store.NewJob {
	c.Helper()
	jobs := c.batch(size)
	_, err := c.s.JobInsertMany(c.ctx, jobs)
	c.ok(err)
	return jobs
}

// fill stores the jobs for reads.
func (c *bench) fill() {
	c.Helper()
	for range benchStored / 1000 {
		c.insert(1000)
	}
}

// perItem reports the cost per item of a call.
func (c *bench) perItem(size int) {
	c.ReportMetric(float64(c.Elapsed().Nanoseconds())/float64(c.N*size), "ns/item")
}

func (c *bench) insertMany(size int) {
	for c.Loop() {
		c.insert(size)
	}
	c.perItem(size)
}

// limited returns jobs of an account with a limit.
func (c *bench) limited(size int, most int64) []store.NewJob {
	jobs := c.batch(size)
	for i := range jobs {
		jobs[i].Caps.Pending = most
	}
	return jobs
}

func (c *bench) insertLimited(size int, most int64) {
	for c.Loop() {
		_, err := c.s.JobInsertMany(c.ctx, c.limited(size, most))
		c.ok(err)
	}
	c.perItem(size)
}

// insertAtLimit measures creates that exceed a limit.
func (c *bench) insertAtLimit(most int64) {
	c.insert(int(most))
	for c.Loop() {
		results, err := c.s.JobInsertMany(c.ctx, c.limited(1, most))
		c.ok(err)
		if results[0].Over != store.QuotaPending {
			c.Fatal("a job over the limit is stored")
		}
	}
}

func (c *bench) claims(jobs []store.NewJob) []store.Claim {
	claims := make([]store.Claim, len(jobs))
	for i, n := range jobs {
		at := n.Job.DueAt
		log := job.Log{ID: job.NewID(at), Owner: c.owner, Job: n.Job.Number, Event: job.EventRequest, InsertedAt: at,
			Payload: rawjson.Value(payload)}
		claims[i] = store.Claim{
			QueueKey: store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: n.Job.Number}, Due: at, Account: c.owner.Number,
				Lane: 1, Revision: n.Job.Revision},
			Attempt: 1, StartAt: at, Log: &log,
		}
	}
	return claims
}

func (c *bench) claimMany(size int) {
	for c.Loop() {
		c.StopTimer()
		claims := c.claims(c.insert(size))
		c.StartTimer()
		c.claim(claims)
	}
	c.perItem(size)
}

// claim claims items, all of which must be unclaimed.
func (c *bench) claim(claims []store.Claim) {
	c.Helper()
	got, err := c.s.QueueClaim(c.ctx, c.node, claims)
	c.ok(err)
	if slices.Contains(got, false) {
		c.Fatal("a claim was refused")
	}
}

func (c *bench) finishMany(size int) {
	for c.Loop() {
		c.StopTimer()
		jobs := c.insert(size)
		claims := c.claims(jobs)
		c.claim(claims)
		ends := make([]store.Finish, size)
		for i, n := range jobs {
			ends[i] = c.end(n.Job, claims[i])
		}
		c.StartTimer()
		held, err := c.s.QueueFinish(c.ctx, ends)
		c.ok(err)
		if slices.Contains(held, false) {
			c.Fatal("an item was not held")
		}
	}
	c.perItem(size)
}

func (c *bench) end(j *job.Job, claim store.Claim) store.Finish {
	return store.Finish{QueueKey: claim.QueueKey, Node: c.node, Attempt: 1, Job: j, Decide: func(m *store.Snapshot) *store.Changes {
		after := *j
		after.Begin(claim.StartAt)
		after.Complete(m.Now)
		return &store.Changes{Job: &after, Logs: []job.Log{{
			ID: job.NewID(m.Now), Owner: c.owner, Job: j.Number, Event: job.EventResponse, InsertedAt: m.Now,
			Payload: rawjson.Value(`{"status":200,"headers":{},"body":null,"duration_ms":12.3,"truncated":false}`),
		}}}
	}}
}

func (c *bench) peek(limit int) {
	c.fill()
	for c.Loop() {
		refs, err := c.s.QueuePeek(c.ctx, store.QueueKey{}, time.Time{}, limit)
		c.ok(err)
		if len(refs) != limit {
			c.Fatalf("%d items, want %d", len(refs), limit)
		}
	}
	c.perItem(limit)
}

func (c *bench) list(q job.Query) {
	c.fill()
	c.claim(c.claims(c.insert(500)))
	q.Limit = 100
	for c.Loop() {
		jobs, err := c.s.JobList(c.ctx, c.owner, q)
		c.ok(err)
		if len(jobs) != q.Limit {
			c.Fatalf("%d jobs, want %d", len(jobs), q.Limit)
		}
	}
}
