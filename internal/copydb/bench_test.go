package copydb

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// BenchmarkCopy copies completed jobs, each with two logs, and as many pending
// ones. Its result is per record: jobs and logs count alike.
func BenchmarkCopy(b *testing.B) {
	const jobs = 10_000
	for name, pair := range pairs {
		b.Run(name, func(b *testing.B) {
			from := pair.from(b)
			newFiller(b, from).many(jobs)
			for b.Loop() {
				b.StopTimer()
				to := pair.to(b)
				b.StartTimer()
				if _, err := Copy(b.Context(), from, to, func(Progress) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*4*jobs)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// many stores completed jobs with two logs each, and pending ones.
func (f *filler) many(n int) {
	f.Helper()
	owner := f.account("many@example.com")
	body := rawjson.Value(`{"url":"https://example.com/hook","body":"` + strings.Repeat("x", 200) + `","method":"post","headers":{}}`)
	for done := 0; done < n; done += maxPage {
		var waiting []store.NewJob
		for range maxPage {
			w := f.newJob(owner, f.now)
			w.Job.Args = body
			waiting = append(waiting, w)
		}
		_, err := f.s.JobInsertMany(f.ctx, waiting)
		f.ok(err)
		f.complete(owner, body)
	}
}

// complete stores completed jobs with their logs.
func (f *filler) complete(owner job.Owner, body rawjson.Value) {
	f.Helper()
	var jobs []store.NewJob
	for range maxPage {
		f.now = f.now.Add(time.Millisecond)
		n := f.newJob(owner, f.now)
		n.Job.Args = body
		jobs = append(jobs, n)
	}
	stored, err := f.s.JobInsertMany(f.ctx, jobs)
	f.ok(err)
	var claims []store.Claim
	var ends []store.Finish
	for _, s := range stored {
		j := s.Job
		f.now = f.now.Add(time.Millisecond)
		log := f.log(j, job.EventRequest)
		claims = append(claims, store.Claim{QueueKey: refOf(j), Attempt: 1, StartAt: f.now, Log: &log})
		ends = append(ends, store.Finish{QueueKey: refOf(j), Node: f.node, Attempt: 1, Job: j,
			Decide: func(*store.Snapshot) *store.Changes {
				ended := *j
				ended.Begin(f.now)
				ended.Complete(f.now)
				return &store.Changes{Job: &ended, Logs: []job.Log{{
					ID: job.NewID(f.now), Owner: owner, Job: j.Number, Event: job.EventResponse, InsertedAt: f.now, Payload: body,
				}}}
			}})
	}
	_, err = f.s.QueueClaim(f.ctx, f.node, claims)
	f.ok(err)
	_, err = f.s.QueueFinish(f.ctx, ends)
	f.ok(err)
}
