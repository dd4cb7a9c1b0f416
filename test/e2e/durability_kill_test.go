package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// storm is the state of the test of many kills: a service under load that is
// killed again and again, what it acknowledged, and when it was killed.
type storm struct {
	t        *testing.T
	service  *harness.Service
	client   *harness.Client
	target   *harness.Route // of jobs; always answers 200 after a little
	receiver *harness.Route // of callbacks

	end   func(*harness.Service) // kills or stops it
	times int

	schedules []string

	mu    sync.Mutex
	acked map[int64]harness.JSON
	kills [][2]time.Time // before and after each
	gap   time.Duration  // the longest from a response to the kill that caused a retry
}

// The size of the storm. recordWithin is how much later than its response an
// attempt may be recorded on a busy machine: one killed in between is retried,
// as it should be.
const (
	kills        = 15 // 50 in a long run
	stormLasts   = 90 * time.Second
	creators     = 4
	recordWithin = 2 * time.Second
	longestLife  = 2800 * time.Millisecond
	// mostAside is how many jobs may be set aside, since kills met their preparation
	// three times, twice of these with no other being prepared.
	mostAside = 1
)

// TestDurabilityKill_UnderLoadLosesNothingAndRepeatsOnlyWhatWasUnderWay
// kills the service at random moments, always on the same database.
func TestDurabilityKill_UnderLoadLosesNothingAndRepeatsOnlyWhatWasUnderWay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	times := kills
	if full() {
		times = 50
	}
	s := newStorm(t, times, (*harness.Service).Kill)
	s.run(seeded(t))
	s.judge()
}

func newStorm(t *testing.T, times int, end func(*harness.Service)) *storm {
	t.Helper()
	s := &storm{t: t, service: harness.Start(t), acked: map[int64]harness.JSON{}, end: end, times: times}
	s.client = s.service.Account(t).Client
	s.target, s.receiver = harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	return s
}

// run runs the storm and waits until all jobs are final.
func (s *storm) run(seed uint64) {
	s.target.Respond(dawdle(seed))
	s.startSchedules()
	ctx, end := context.WithCancel(context.Background())
	var work sync.WaitGroup
	for worker := range creators {
		work.Go(func() { s.create(ctx, rand.New(rand.NewPCG(seed, uint64(worker)))) })
	}
	work.Go(func() { s.watch(ctx) })
	s.rage(rand.New(rand.NewPCG(seed, 99)))
	end()
	work.Wait()
	for _, schedule := range s.schedules {
		s.client.Post("/api/schedules/"+schedule+"/disable", nil).Want(200)
	}
	s.settle()
	s.judgeStates()
}

// dawdle responds after up to 60 ms, and records the job in its schedule's
// state.
func dawdle(seed uint64) http.Handler {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 100))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		wait := time.Duration(r.Int64N(int64(60 * time.Millisecond)))
		mu.Unlock()
		set := `{"$set":{"` + req.Header.Get("X-Punctual-Job-Id") + `":1}}`
		harness.Delay(wait, harness.JSONReply(set)).ServeHTTP(w, req)
	})
}

func (s *storm) startSchedules() {
	for i := range 4 {
		job := create(s.client, fmt.Sprintf(`{"schedule_in":%.1f,"repeat_every":1,"method":"post","body":{},"url":"%s"}`, float64(i)/4,
			s.target.URL))
		s.schedules = append(s.schedules, job.Get("schedule_id").Str())
	}
}

// create stores jobs as fast as a client would, whether the service is there or
// not. A third of them call back.
func (s *storm) create(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		callback := ""
		if r.IntN(3) == 0 {
			callback = `,"callback_url":"` + s.receiver.URL + `"`
		}
		body := fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s"%s}`, r.Float64()*1.2, s.target.URL, callback)
		answer, err := s.client.Try(http.MethodPost, "/api/jobs", body)
		switch {
		case err != nil:
			aside(r, 40*time.Millisecond) // it is down
		case answer.Status == 201:
			job := answer.Data()
			s.mu.Lock()
			s.acked[job.Get("job_id").Int()] = job
			s.mu.Unlock()
			aside(r, 60*time.Millisecond)
		}
	}
}

// watch checks that each schedule has one unfinished job throughout.
func (s *storm) watch(ctx context.Context) {
	looks, r := 0, rand.New(rand.NewPCG(0, 0))
	for i := 0; ctx.Err() == nil; i++ {
		aside(r, 20*time.Millisecond)
		schedule := s.schedules[i%len(s.schedules)]
		answer, err := s.client.Try(http.MethodGet, "/api/jobs?limit=20&schedule_id="+schedule, nil)
		if err != nil || answer.Status != 200 {
			continue
		}
		looks++
		left := 0
		for _, job := range answer.Data().Items() {
			switch job.Get("job.state").Str() {
			case "available", "executing", "retryable":
				left++
			}
		}
		if left != 1 {
			s.t.Errorf("a schedule has %d unfinished jobs: %s", left, answer)
			return
		}
	}
	s.t.Logf("looked %d times at the schedules' unfinished jobs", looks)
}

// rage ends and restarts the service at random times.
func (s *storm) rage(r *rand.Rand) {
	until := time.Now().Add(stormLasts)
	for range s.times {
		if time.Now().After(until) {
			s.t.Logf("the machine is slow: it was ended %d times", len(s.kills))
			return
		}
		if r.IntN(4) > 0 { // now and then it dies while it starts
			aside(r, longestLife)
		}
		before := time.Now()
		s.end(s.service)
		s.kills = append(s.kills, [2]time.Time{before, time.Now()})
		s.service.Restart(s.t)
	}
}

// settle waits until nothing that was acknowledged is unfinished.
func (s *storm) settle() {
	s.t.Helper()
	harness.Eventually(s.t, 60*time.Second, "everything to be final", func() bool {
		for _, state := range []string{"scheduled", "executing"} {
			if len(s.client.Get("/api/jobs?limit=1&state="+state).Want(200).Data().Items()) > 0 {
				return false
			}
		}
		return true
	})
	harness.Eventually(s.t, 30*time.Second, "all messages to be delivered", func() bool {
		return metric(s.t, s.client, `punctual_runs_in_use{kind="delivery"}`) == 0 && s.receiver.Quiet(700*time.Millisecond)
	})
}

// judgeStates lets each schedule run once more. That run must see in $state
// exactly the runs that completed: $set is stored with the end of its run or
// not at all.
func (s *storm) judgeStates() {
	for _, schedule := range s.schedules {
		completed := map[string]bool{}
		for _, run := range runsOf(s.t, s.client, schedule) {
			if run.Get("job.state").Str() == "completed" {
				completed[run.Get("job_id").Raw()] = true
			}
		}
		before := len(s.target.Hits())
		s.client.Post("/api/schedules/"+schedule+"/enable", nil).Want(200)
		hit := s.target.AwaitEnds(s.t, before+1, soon)[before]
		s.client.Post("/api/schedules/"+schedule+"/disable", nil).Want(200)
		noted := hit.JSON().Member("$state").Keys()
		for _, id := range noted {
			if !completed[id] {
				s.t.Errorf("$state has what job %s set, which is not completed", id)
			}
		}
		if len(noted) != len(completed) {
			s.t.Errorf("$state knows %d runs of %d completed ones", len(noted), len(completed))
		}
	}
}

// judge compares the outcome with what was promised.
func (s *storm) judge() {
	l := takeLedger(s.t, s.client, s.target)
	called := map[int64]string{}
	for _, hit := range s.receiver.Hits() {
		if !json.Valid(hit.Body) {
			continue // a kill truncated it; it is sent again
		}
		id, message := hit.JSON().Get("job.job_id").Int(), hit.Header.Get("Webhook-Id")
		if before := called[id]; before != "" && before != message {
			s.t.Errorf("job %d called back with two messages", id)
		}
		called[id] = message
	}
	discarded := 0
	for id, acked := range s.acked {
		job, there := l.jobs[id]
		switch {
		case !there:
			s.t.Errorf("a job acknowledged is lost: %s", acked.Raw())
		case s.setAside(job, l.logs[id]):
			discarded++
		case job.Get("job.state").Str() != "completed":
			s.t.Errorf("a job is not completed: %s with logs %q", job.Raw(), l.logs[id])
		case acked.Get("args.callback_url").Exists() && called[id] == "":
			s.t.Errorf("a job did not call back: %s", job.Raw())
		}
	}
	if discarded > mostAside {
		s.t.Errorf("%d jobs were set aside, want %d at most", discarded, mostAside)
	}
	repeated := 0
	for id, hits := range l.hits {
		job, there := l.jobs[id]
		if !there {
			s.t.Errorf("a request for a job that is not there: %d", id)
			continue
		}
		repeated += len(hits) - 1
		s.judgeHits(job, hits, l.logs[id])
		s.judgeLogs(job, len(hits), l.logs[id])
	}
	s.t.Logf("%d kills, %d jobs acknowledged, %d in all, %d requests repeated, at most %s after their answer",
		len(s.kills), len(s.acked), len(l.jobs), repeated, s.gap)
}

// setAside reports whether a job was set aside because the service ended three times while
// it prepared the request, which it must have done then. On a slow machine to prepare one
// takes long enough for that. Each request in the log was prepared, so if the service ended
// meanwhile, that was another time.
func (s *storm) setAside(job harness.JSON, logs []string) bool {
	if !slices.Contains(logs, "error poisoned") {
		return false
	}
	from, until := instant(s.t, job.Get("job.inserted_at")), instant(s.t, job.Get("job.discarded_at"))
	ends := 0
	for _, log := range logs {
		if log == "request" {
			ends--
		}
	}
	for _, kill := range s.kills {
		if kill[1].After(from) && kill[0].Before(until) {
			ends++
		}
	}
	return ends >= 3
}

// judgeHits fails the test if a request was early, or if one that was repeated
// was not under way when the service was killed.
func (s *storm) judgeHits(job harness.JSON, hits []harness.Hit, logs []string) {
	due := instant(s.t, job.Get("job.scheduled_at"))
	for i, hit := range hits {
		if hit.At.Before(due) {
			s.t.Errorf("job %s came %s before it was due", job.Get("job_id").Raw(), due.Sub(hit.At))
		}
		if i == len(hits)-1 {
			continue
		}
		if gap := s.untilKill(hit); gap > harness.Allowed(recordWithin, hit.End) {
			s.t.Errorf("job %s was made again though the next kill came %s after the attempt from %s to %s; logs %q",
				job.Get("job_id").Raw(), gap, hit.At, hit.End, logs)
		} else {
			s.gap = max(s.gap, gap)
		}
	}
}

// judgeLogs fails the test unless each attempt's end is logged: all were
// interrupted but the last, which got the response.
func (s *storm) judgeLogs(job harness.JSON, hits int, logs []string) {
	count := map[string]int{}
	for _, log := range logs {
		count[log]++
	}
	interrupted, skipped := count["error interrupted"], count["worker.schedule.skipped"]
	switch {
	case skipped > 0 && job.Get("schedule_id").IsNull(): // a run's are points that passed while the service was down
		s.t.Errorf("job %s skipped points with logs %q", job.Get("job_id").Raw(), logs)
	case job.Get("job.state").Str() != "completed":
	case count["request"] != interrupted+1 || count["response"] != 1 || len(logs) != 2*interrupted+2+skipped:
		s.t.Errorf("job %s is completed with logs %q", job.Get("job_id").Raw(), logs)
	case hits > interrupted+1:
		s.t.Errorf("job %s made %d requests with logs %q", job.Get("job_id").Raw(), hits, logs)
	}
}

// untilKill returns how long after the end of a request its sender was killed;
// 0 or less if it was still under way then. A busy target may read a request
// only after its sender was killed, so the connection identifies the sender:
// here only kills end connections.
func (s *storm) untilKill(hit harness.Hit) time.Duration {
	if hit.Aborted {
		return 0
	}
	for _, kill := range slices.Backward(s.kills) {
		if broken := hit.Broken(); !broken.IsZero() && !kill[0].After(broken) {
			return kill[0].Sub(hit.End)
		}
	}
	return time.Since(hit.End) // after the last kill
}
