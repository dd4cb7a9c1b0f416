package storetest

import (
	"strconv"
	"sync"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// conflictRaces: calls replace a key's job while it is claimed, ended and
// cancelled. There are never two followers, and the last content is stored.
func conflictRaces(w *world) {
	r := w.random()
	for round := range rounds(100) {
		key := strconv.Itoa(round)
		first := w.create(w.replacement(key, 0)).Job
		var mu sync.Mutex
		numbers := map[int64]bool{}
		var together []func()
		for i := range 6 {
			together = append(together, func() {
				n := w.replacement(key, i+1)
				if i%2 == 0 {
					n.Job.ScheduledAt, n.Job.DueAt = w.past(), w.now
				}
				results, err := w.s.JobInsertMany(w.ctx, []store.NewJob{n})
				if err != nil || results[0].Job == nil {
					w.Errorf("JobInsertMany: %v", err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				numbers[results[0].Job.Number] = true
			})
		}
		together = append(together, func() { w.change(first, cancel) })
		race(r, together...)
		pending := 0
		for number := range numbers {
			if j := w.get(&job.Job{Number: number, Owner: w.owner}); !j.State.Final() {
				pending++
				w.change(j, cancel)
			}
		}
		if pending > 2 {
			w.Fatalf("round %d: %d pending jobs with one key", round, pending)
		}
	}
	w.wantQueue("in the end")
}

// conflictModel draws calls, starts, ends, cancels and crashes, and compares the
// jobs of a key with a model after each.
func conflictModel(w *world) {
	r := w.random()
	for key := range rounds(20) {
		m := &conflictState{world: w, key: strconv.Itoa(key)}
		for step := range 30 {
			switch n := r.IntN(10); {
			case n < 4:
				m.call(step, r.IntN(2) == 0)
			case n < 6:
				m.start()
			case n < 7:
				m.end(func(f ending) ending { return w.retries(w.ahead()) }, true)
			case n < 8:
				m.end(func(f ending) ending { return w.completes }, false)
			case n < 9:
				m.cancel(r.IntN(2) == 0)
			default:
				m.crash()
			}
			m.check(step)
		}
		m.drain()
	}
}

// conflictState is the model of a key: the job that holds it and its follower.
type conflictState struct {
	*world
	key             string
	first, follower *modelJob
	claim           *store.Claim
	last            string // the content of the last call that nothing has cancelled
	started         []string
}

type modelJob struct {
	job     *job.Job
	content string
	soon    bool
	retry   bool
}

func (m *conflictState) call(content int, soon bool) {
	n := m.replacement(m.key, content)
	if soon {
		n.Job.ScheduledAt, n.Job.DueAt = m.past(), m.now
	}
	text := strconv.Itoa(content)
	m.last = text
	switch {
	case m.first == nil:
		m.first = &modelJob{m.wantResult("a free key", m.create(n), false, false, text), text, soon, false}
	case m.follower != nil:
		m.follower.content, m.follower.soon = text, soon
		m.wantResult("behind a follower", m.create(n), true, true, text)
	case m.claim != nil || m.first.soon || m.first.retry:
		m.follower = &modelJob{m.wantResult("behind a started job", m.create(n), false, false, text), text, soon, false}
	default:
		m.first.content, m.first.soon = text, soon
		m.wantResult("a pending job", m.create(n), true, true, text)
	}
}

func (m *conflictState) start() {
	if m.first == nil || m.claim != nil {
		return
	}
	c := m.begin(m.get(m.first.job))
	m.claim = &c
	m.started = append(m.started, m.first.content)
}

func (m *conflictState) end(how func(ending) ending, retry bool) {
	if m.claim == nil {
		return
	}
	read := m.get(m.first.job)
	read.State, read.Attempt = job.Available, m.claim.Attempt-1
	if m.first.retry {
		read.State = job.Retryable
	}
	m.finish(m.world.end(read, *m.claim, how(nil)))
	m.claim = nil
	if retry {
		m.first.retry = true
		return
	}
	m.first, m.follower = m.follower, nil
}

func (m *conflictState) cancel(follower bool) {
	switch {
	case m.first == nil:
	case follower && m.follower != nil:
		m.change(m.follower.job, cancel)
		m.follower = nil
	default:
		m.change(m.first.job, cancel)
		m.first, m.follower, m.claim = m.follower, nil, nil
	}
}

// crash abandons the claims, and the next node interrupts the attempt.
func (m *conflictState) crash() {
	held := m.claim
	m.node = m.replace()
	if held == nil {
		return
	}
	m.reclaim(m.abandoned())
	m.claim = nil
	if m.first != nil {
		m.first.retry = m.get(m.first.job).State == job.Retryable
	}
}

func (m *conflictState) check(step int) {
	m.Helper()
	jobs := m.listJobs(m.owner, job.Query{ListQuery: job.ListQuery{Limit: 100}, Key: &m.key,
		States: []job.State{job.Available, job.Retryable, job.Executing}})
	want := 0
	for _, expected := range []*modelJob{m.first, m.follower} {
		if expected == nil {
			continue
		}
		want++
		stored := m.get(expected.job)
		if contentOf(stored) != expected.content || stored.State.Final() || (stored.Follows != 0) != (expected == m.follower) {
			m.Fatalf("step %d: %s, want body %s", step, showJob(stored), expected.content)
		}
	}
	if len(jobs) != want {
		m.Fatalf("step %d: %d pending jobs with the key, want %d", step, len(jobs), want)
	}
}

// drain runs what is left: no call that was not cancelled may be lost.
func (m *conflictState) drain() {
	for m.first != nil {
		m.start()
		m.end(func(ending) ending { return m.completes }, false)
	}
	if left := m.peek(); len(left) > 0 {
		m.Fatalf("%d items are left in the queue", len(left))
	}
}
