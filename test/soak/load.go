package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// soak is a run on one store.
type soak struct {
	*ledger
	size

	t       testing.TB
	began   time.Time
	service *harness.Service
	clients []*harness.Client // of the accounts
	target  string
	work    sync.WaitGroup
	keys    atomic.Int64

	// With the ledger's mu held.
	schedules map[string]*schedule
	alerted   map[int64]string // by job, the type of the message
	all       []time.Duration  // the lateness of all requests that the samples count
	overslept []time.Duration  // of a timer, since the last sample
}

// schedule is what is known of a schedule and its last run.
type schedule struct {
	id      string
	account int
	every   time.Duration
	version int64
	changed time.Time

	job     string
	due, at time.Time
}

// within is how long after its due time a job may take to be final, faults and a busy
// machine included. The retention is longer.
var within = pace.Limit(90 * time.Second)

// shares are how many of 100 calls create each kind; the rest are plain jobs.
var shares = []struct {
	kind  kind
	share int
}{{edited, 12}, {cancelled, 8}, {retried, 8}, {doomed, 2}, {slotted, 8}, {rated, 6}, {reported, 8}}

// batchShare is how many of 100 calls create a batch of plain jobs.
const batchShare, batchSize = 4, 5

func draw() kind {
	n := rand.IntN(100)
	for _, s := range shares {
		if n -= s.share; n < 0 {
			return s.kind
		}
	}
	return plain
}

// members returns what a create of a kind has beside a url, a key, a body and a time.
func (k kind) members() string {
	switch k {
	case retried:
		return `,"retries":2,"backoff":[1]`
	case doomed, healed:
		return `,"retries":0`
	case slotted:
		return `,"limits":["slots"]`
	case rated:
		return `,"limits":["rate"]`
	case reported:
		return `,"completion":{"within":[2,"minutes"]}`
	}
	return ""
}

// prepare creates what exists throughout: limits, alerts and schedules.
func (s *soak) prepare() {
	for account, c := range s.clients {
		c.Do(http.MethodPut, "/api/limits/slots", fmt.Sprintf(`{"parallel":%d}`, parallel)).Want(201)
		c.Do(http.MethodPut, "/api/limits/rate", fmt.Sprintf(`{"rate":{"calls":%d,"per":%g}}`, rateCalls, ratePer.Seconds())).Want(201)
		if account < watchers {
			c.Do(http.MethodPut, "/api/alerts/watch",
				fmt.Sprintf(`{"on":["failed","recovered"],"match":{"tags":["watched"]},"to":[{"webhook":"%s/alert/"}]}`,
					s.target)).Want(201)
		}
		name := fmt.Sprint("s", account)
		every := time.Duration(2+account%9) * time.Second
		s.do(func() { s.schedules[name] = &schedule{account: account, every: every, version: 1} })
		made := c.Post("/api/jobs", fmt.Sprintf(`{"url":"%s/run/%s","body":{"v":1},"schedule_in":%.2f,"repeat_every":%g}`,
			s.target, name, 1+rand.Float64(), every.Seconds())).Want(201)
		s.do(func() { s.schedules[name].id = made.Data().Get("schedule_id").Str() })
	}
}

// ask repeats a call until a node answers other than 503. It returns nil if none has
// by a time, when the outcome is not known.
func (s *soak) ask(c *harness.Client, until time.Time, method, path, body string) *harness.Answer {
	for {
		a, err := c.Try(method, path, body)
		if err == nil && a.Status != http.StatusServiceUnavailable {
			return a
		}
		if time.Now().After(until) {
			return nil
		}
		pause(200 * time.Millisecond)
	}
}

// jobs creates jobs at the rate until ctx ends. Calls under way are bounded, so that
// a busy machine gets less to do.
func (s *soak) jobs(ctx context.Context) {
	callers := make(chan struct{}, 64)
	for ctx.Err() == nil {
		pause(time.Duration((0.5 + rand.Float64()) / s.rate * float64(time.Second)))
		select {
		case callers <- struct{}{}:
		default:
			s.do(func() { s.counts["creates left out"]++ })
			continue
		}
		s.work.Go(func() {
			defer func() { <-callers }()
			account := rand.IntN(len(s.clients))
			if rand.IntN(100) < batchShare {
				s.create(account, plain, batchSize, "")
			} else {
				s.create(account, draw(), 1, "")
			}
		})
	}
}

// create creates jobs of a kind and follows each to its end. A call that gets no
// answer is repeated only until the jobs may start: then a key may be free again.
func (s *soak) create(account int, k kind, n int, more string) []*entry {
	in := 3 + 4*rand.Float64()
	until := time.Now().Add(time.Duration((in - 2) * float64(time.Second)))
	var made []*entry
	var items []string
	for range n {
		e := &entry{key: fmt.Sprint(s.keys.Add(1)), kind: k, account: account, version: 1}
		made = append(made, e)
		s.do(func() { s.entries[e.key] = e })
		items = append(items, fmt.Sprintf(`{"url":"%s/job/%s","method":"post","body":{"v":1},"idempotency_key":"k%s","schedule_in":%.3f%s%s}`,
			s.target, e.key, e.key, in, k.members(), more))
	}
	path, body := "/api/jobs", items[0]
	if n > 1 {
		path, body = "/api/jobs/batch", "["+strings.Join(items, ",")+"]"
	}
	a := s.ask(s.clients[account], until, http.MethodPost, path, body)
	if a == nil || a.Status != http.StatusCreated && a.Status != http.StatusOK {
		if a != nil {
			s.complain("creating a job: %s", a)
		}
		s.giveUp(made)
		return nil
	}
	for i, e := range made {
		record := a.Data()
		if n > 1 {
			record = record.Get(fmt.Sprint(i))
		}
		due, err := time.Parse(time.RFC3339Nano, record.Get("job.scheduled_at").Str())
		if err != nil {
			s.complain("the record of a job has no due time: %s", a)
		}
		s.do(func() {
			s.counts["jobs acknowledged"]++
			e.number, e.due, e.stored = record.Get("job_id").Int(), due, time.Now()
		})
		s.work.Go(func() { s.follow(e) })
	}
	return made
}

// giveUp forgets jobs of which no client knows whether they are stored.
func (s *soak) giveUp(entries []*entry) {
	s.do(func() {
		s.counts["creates without an answer"]++
		for _, e := range entries {
			delete(s.entries, e.key)
		}
	})
}

// follow changes a job if it is of such a kind, waits for its end and checks it.
func (s *soak) follow(e *entry) {
	c, path := s.clients[e.account], fmt.Sprint("/api/jobs/", e.number)
	switch e.kind {
	case edited:
		pause(rand.N(2 * time.Second))
		s.do(func() { e.unsure = true })
		a := s.ask(c, e.due, http.MethodPatch, path, `{"body":{"v":2}}`)
		s.do(func() {
			if a != nil && a.Status == http.StatusOK {
				e.version, e.changed, e.unsure = 2, time.Now(), false
				s.counts["edits of jobs"]++
			}
		})
	case cancelled:
		pause(rand.N(max(0, time.Until(e.due)) + 50*time.Millisecond))
		s.do(func() { e.unsure = true })
		a := s.ask(c, e.due.Add(within), http.MethodPost, path+"/cancel", "")
		s.do(func() {
			if a != nil && a.Data().Get("job.state").Str() == "cancelled" {
				e.ended = time.Now()
				s.counts["cancels"]++
			}
		})
	}
	pause(time.Until(e.due.Add(2 * time.Second)))
	for deadline := e.due.Add(within); ; pause(2 * time.Second) {
		a := s.ask(c, deadline, http.MethodGet, path, "")
		if a == nil || a.Status != http.StatusOK {
			s.complain("job %s was acknowledged and can't be read: %v", e.key, a)
			s.giveUp([]*entry{e})
			return
		}
		switch state := a.Data().Get("job.state").Str(); state {
		case "completed", "cancelled", "discarded":
			s.judge(e, state)
			return
		}
		if time.Now().After(deadline) {
			s.complain("job %s of kind %s is not final %s after its due time: %s", e.key, e.kind, within, a)
			s.giveUp([]*entry{e})
			return
		}
	}
}

// watchers is how many accounts have an alert.
const watchers = 4

// pulses lets an account's alert report a failure and a recovery in turns.
func (s *soak) pulses(ctx context.Context, account int) {
	for i := 0; ctx.Err() == nil; i++ {
		k, want := doomed, "alert.failed"
		if i%2 == 1 {
			k, want = healed, "alert.recovered"
		}
		made := s.create(account, k, 1, `,"tags":["watched"]`)
		if made == nil {
			i--
			continue
		}
		told := func() (is string) {
			s.do(func() { is = s.alerted[made[0].number] })
			return is
		}
		if !harness.Within(2*within, func() bool { pause(500 * time.Millisecond); return told() != "" }) || told() != want {
			s.complain("the alert reports %q of job %s, want %q", told(), made[0].key, want)
			return
		}
		s.do(func() { delete(s.alerted, made[0].number) })
		wait(ctx, 5*time.Second)
	}
}

// edits changes the definition of schedules, and looks how many unfinished jobs they
// have.
func (s *soak) edits(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		wait(ctx, 500*time.Millisecond)
		name := fmt.Sprint("s", i%len(s.clients))
		var r schedule
		s.do(func() { r = *s.schedules[name] })
		c := s.clients[r.account]
		if i/len(s.clients)%2 == 0 {
			version := r.version + 1
			a := s.ask(c, time.Now().Add(within), http.MethodPatch, "/api/schedules/"+r.id, fmt.Sprintf(`{"body":{"v":%d}}`, version))
			if a == nil || a.Status != http.StatusOK {
				s.complain("editing the schedule %s: %v", name, a)
				continue
			}
			s.do(func() {
				s.counts["edits of schedules"]++
				s.schedules[name].version, s.schedules[name].changed = version, time.Now()
			})
			continue
		}
		a := s.ask(c, time.Now().Add(within), http.MethodGet, "/api/jobs?limit=10&schedule_id="+r.id, "")
		unfinished := 0
		if a != nil {
			for _, record := range a.Data().Items() {
				switch record.Get("job.state").Str() {
				case "available", "executing", "retryable":
					unfinished++
				}
			}
		}
		if unfinished != 1 {
			s.complain("the schedule %s has %d unfinished jobs: %v", name, unfinished, a)
		}
		s.do(func() { s.counts["looks at schedules"]++ })
	}
}

// pause waits, and wait does so until ctx ends at most.
func pause(d time.Duration) { <-time.After(d) }

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
