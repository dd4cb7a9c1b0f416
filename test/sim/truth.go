package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// row is a job as it is stored, read past all code of the service.
type row struct {
	number, account     int64
	state               job.State
	schedule, key, name string
	scheduled, due      time.Time
	inserted, attempted time.Time
	ended               time.Time
	follows, parent     int64
	args                rawjson.Value
	item                *item
}

func (r *row) unfinished() bool { return !r.state.Final() }

// item is a job's queue item.
type item struct {
	due     time.Time
	node    int64
	attempt int
}

// query reads the database past all faults.
func (c *checker) query(sql string, row func(*sqlite.Stmt)) {
	err := sqlitex.Execute(c.w.db.truth, sql, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		row(s)
		return nil
	}})
	if err != nil {
		panic(err) // a defect of the simulation
	}
}

func micros(s *sqlite.Stmt, i int) time.Time {
	if s.ColumnIsNull(i) {
		return time.Time{}
	}
	return time.UnixMicro(s.ColumnInt64(i)).UTC()
}

// step checks what a commit has changed.
func (c *checker) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := int64(0)
	c.query(`PRAGMA data_version`, func(s *sqlite.Stmt) { version = s.ColumnInt64(0) })
	if version == c.version {
		return
	}
	c.version = version
	c.counts["commits"]++
	c.checkStored(c.readJobs())
	if c.flows != nil {
		c.flows.checkStored()
	}
}

// stored reads a text that may be packed, with its size in the column after packed.
func stored(s *sqlite.Stmt, plain, packed int) rawjson.Value {
	if s.ColumnIsNull(packed) {
		return rawjson.Value(s.ColumnText(plain))
	}
	b := make([]byte, s.ColumnLen(packed))
	s.ColumnBytes(packed, b)
	return store.Unpack(nil, b, s.ColumnInt(packed+1))
}

// readJobs reads all jobs with their queue items.
func (c *checker) readJobs() map[int64]*row {
	jobs := map[int64]*row{}
	c.query(`SELECT j.number, j.account, j.state, hex(j.schedule_id), j.key, j.name, j.scheduled_at, j.due_at, j.inserted_at, j.attempted_at,
		coalesce(j.completed_at, j.cancelled_at, j.discarded_at), j.follows, j.args, r.due, r.node, r.attempt, j.packed, j.size, j.parent
		FROM jobs j LEFT JOIN runs r ON r.due = j.due_at AND r.kind = 0 AND r.number = j.number`, func(s *sqlite.Stmt) {
		r := &row{
			number: s.ColumnInt64(0), account: s.ColumnInt64(1), state: job.State(s.ColumnInt(2)), schedule: s.ColumnText(3),
			key:  s.ColumnText(4),
			name: s.ColumnText(5), scheduled: micros(s, 6), due: micros(s, 7), inserted: micros(s, 8), attempted: micros(s, 9),
			ended:   micros(s, 10),
			follows: s.ColumnInt64(11), args: stored(s, 12, 16), parent: s.ColumnInt64(18),
		}
		if !s.ColumnIsNull(13) {
			r.item = &item{due: micros(s, 13), node: s.ColumnInt64(14), attempt: s.ColumnInt(15)}
		}
		jobs[r.number] = r
	})
	return jobs
}

// checkStored compares the jobs of two commits, and the schedules with their jobs.
func (c *checker) checkStored(jobs map[int64]*row) {
	before := c.jobs
	c.jobs = jobs
	unfinished := map[string]int{}
	numbers := make([]int64, 0, len(jobs))
	for number := range jobs {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		r := jobs[number]
		if r.unfinished() && r.schedule != "" {
			unfinished[r.schedule]++
		}
		c.waited[number] = c.waited[number] || r.follows != 0
		c.checkTransition(before[number], r)
		followed := r.follows != 0 && jobs[r.follows] != nil && jobs[r.follows].unfinished()
		switch {
		case r.unfinished() && r.item == nil && !followed:
			c.breaks(lost, "job %d is %s and in no queue", number, r.state)
		case !r.unfinished() && r.item != nil:
			c.breaks(final, "job %d is %s and in the queue", number, r.state)
		}
	}
	c.query(`SELECT job, waits_for FROM job_waits`, func(s *sqlite.Stmt) {
		number, other := s.ColumnInt64(0), s.ColumnInt64(1)
		if !slices.Contains(c.awaits[number], other) {
			c.awaits[number] = append(c.awaits[number], other)
			c.waited[number] = true
		}
	})
	for number := range before {
		if jobs[number] == nil {
			c.breaks(lost, "job %d is gone", number)
		}
	}
	c.query(`SELECT hex(id), disabled_at IS NOT NULL FROM schedules`, func(s *sqlite.Stmt) {
		id, disabled := s.ColumnText(0), s.ColumnInt(1) != 0
		if n := unfinished[id]; n > 1 || n == 0 && !disabled {
			c.breaks(single, "the schedule %s, disabled %t, has %d unfinished jobs", id, disabled, n)
		}
	})
	c.checkHolders(jobs, numbers)
	c.checkGroups(jobs)
}

// checkTransition compares a job with what it was.
func (c *checker) checkTransition(before, r *row) {
	if before == nil {
		c.tell("job %d of %s is stored, due %s", r.number, r.name, clock(r.due))
		c.stored[r.number] = c.w.db.now()
		if c.grids[r.schedule].IsZero() {
			c.grids[r.schedule] = r.scheduled
		}
		return
	}
	if before.state != r.state {
		c.tell("job %d is %s, due %s", r.number, r.state, clock(r.due))
	}
	if before.unfinished() && !r.unfinished() {
		c.ends[r.number] = time.Now()
		c.keyEnded(r)
	}
	if !before.unfinished() && (before.state != r.state || !before.ended.Equal(r.ended)) {
		c.breaks(final, "job %d was %s and is %s", r.number, before.state, r.state)
	}
	if before.state != r.state && r.state == job.Retryable {
		c.checkGivesWay(r)
	}
	was, _ := store.OwnDue(before.due)
	is, _ := store.OwnDue(r.due)
	if !before.scheduled.Equal(r.scheduled) || before.state == job.Retryable && r.state == job.Retryable && is.Before(was) {
		c.moved[r.number] = true // an edit of its schedule may let a retry start earlier
	}
}

// checkGivesWay reports a retry of a run that is not before the next point of its
// schedule, if the schedule was not edited.
func (c *checker) checkGivesWay(r *row) {
	id, _ := strconv.Atoi(r.name)
	if r.schedule == "" || c.clockMoved() || slices.ContainsFunc(c.w.plan.actions,
		func(a *action) bool { return a.verb == edit && a.of == id }) {
		return
	}
	every, err := strconv.Atoi(member(rawjson.Value(c.w.byID[id].body), "repeat_every"))
	if err != nil {
		return
	}
	next := c.grids[r.schedule]
	for !next.After(r.scheduled) { // a run that a client asked for is not on the grid
		next = next.Add(time.Duration(every) * time.Second)
	}
	if due, _ := store.OwnDue(r.due); next.After(c.w.db.now()) && !due.Before(next) {
		c.breaks(giveWay, "run %d is retried at %s, the next point is %s", r.number, clock(due), clock(next))
	}
}

// checkHolders reports a key that several one-off jobs hold: only a follower may
// have the key of an unfinished job.
func (c *checker) checkHolders(jobs map[int64]*row, numbers []int64) {
	type key struct {
		account int64
		key     string
	}
	held := map[key]int64{}
	for _, number := range numbers {
		r := jobs[number]
		if r.key == "" || !r.unfinished() || r.schedule != "" || r.follows != 0 && jobs[r.follows] != nil && jobs[r.follows].unfinished() {
			continue
		}
		k := key{r.account, r.key}
		if held[k] != 0 {
			c.breaks(keys, "jobs %d and %d hold the key %s", held[k], number, r.key)
		}
		held[k] = number
	}
}

// settled reports whether nothing is left to do.
func (c *checker) settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.jobs {
		if r.unfinished() {
			return false
		}
	}
	waiting := 0
	c.query(`SELECT count(*) FROM deliveries`, func(s *sqlite.Stmt) { waiting = s.ColumnInt(0) })
	return waiting == 0
}

// end checks what must hold when all is over.
func (c *checker) end() {
	now := c.w.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checkStored(c.readJobs())
	for number := range c.accepts {
		if c.jobs[number] == nil {
			c.breaks(lost, "job %d was accepted and is not stored", number)
		}
	}
	for number, r := range c.jobs {
		own, _ := store.OwnDue(r.due)
		if r.unfinished() && r.schedule == "" && own.Before(now.Add(-calm)) {
			c.breaks(lost, "job %d of %s is %s %s after its due time, when nothing has failed for long", number, r.name, r.state,
				now.Sub(own))
		}
	}
	c.query(`SELECT job, event, begin_at FROM deliveries WHERE attempt = 0 ORDER BY number`, func(s *sqlite.Stmt) {
		if at := micros(s, 2); at.Before(now.Add(-calm)) {
			c.breaks(lost, "%s of job %d of %s was not tried", s.ColumnText(1), s.ColumnInt64(0), clock(at))
		}
	})
	c.checkRuns()
	c.checkEvents()
	c.checkTold()
	c.checkRetries()
	c.checkOutcomes()
	c.checkKeys()
	if c.flows != nil {
		c.flows.end(now)
	}
}

// checkRuns wants the runs of a schedule in order, and no run for a point that an
// earlier run has made up for.
func (c *checker) checkRuns() {
	runs := map[string][]*row{}
	for _, r := range c.jobs {
		if r.schedule != "" {
			runs[r.schedule] = append(runs[r.schedule], r)
		}
	}
	for _, of := range runs {
		slices.SortFunc(of, func(a, b *row) int { return int(a.number - b.number) })
		for i := 1; i < len(of); i++ {
			a, b := of[i-1], of[i]
			if !a.ended.IsZero() && b.inserted.Before(a.ended) && a.state != job.Cancelled && !c.moved[b.number] {
				c.breaks(single, "run %d was stored before run %d ended", b.number, a.number)
			}
			if job.ReadSpec(b.args).CatchUp == job.CatchUpAll || a.attempted.IsZero() || c.clockMoved() || c.moved[a.number] ||
				c.moved[b.number] {
				continue
			}
			if !b.scheduled.After(c.firstHit(a).Add(-announced)) {
				c.breaks(lateRun, "run %d is due %s, and run %d had started later, at %s", b.number, clock(b.scheduled), a.number,
					clock(c.firstHit(a)))
			}
		}
	}
}

// announced is how long the start of an attempt may lie after the one that was
// announced when it was claimed, which stays.
const announced = time.Second

// firstHit returns when the first request of a job reached its target; its own due
// time if none did.
func (c *checker) firstHit(r *row) time.Time {
	for _, h := range c.hits {
		if h.job == r.number {
			return h.at
		}
	}
	return r.scheduled
}

// followers are the events of a job that may come next after each. An attempt that
// a crash has cut off fails, and is made again under the same number. One that has
// expired fails without having started.
var followers = map[string]string{
	"":             "job.started job.error job.finished",
	"job.started":  "job.request",
	"job.request":  "job.response job.error job.finished",
	"job.response": "job.error job.finished",
	"job.error":    "job.started job.error job.finished",
	"job.finished": "",
}

// checkEvents wants the events of a job's webhook to be tried first in the order in
// which they happened.
func (c *checker) checkEvents() {
	seen := map[string]bool{}
	last := map[string]string{} // by job
	for _, h := range c.hits {
		if !strings.HasPrefix(h.url, "https://webhooks.") || seen[h.message] {
			continue
		}
		seen[h.message] = true
		c.counts["events"]++
		number := member(rawjson.Get(rawjson.Get(rawjson.Value(h.body), "data"), "job"), "id")
		event := eventOf(h.body)
		// A claim that is committed while its node hears that it failed, or hears of it too
		// late to start, is given back, and so is one of a node that stood still, or whose
		// lease seems to have expired because the clock was moved. Its events may have been
		// sent by then: they are sent again for the attempt.
		again := event == "job.started" && (last[number] == "job.started" || last[number] == "job.request") &&
			(c.lostClaims || c.clockMoved() || c.had(freeze))
		// The start of an attempt whose node stands still is reported by another node. If
		// the job is cancelled then, or has expired, it has no request.
		unsent := (event == "job.finished" || event == "job.error") && last[number] == "job.started" && c.had(freeze)
		if before := last[number]; !again && !unsent && !strings.Contains(followers[before], event) {
			c.breaks(order, "%s was tried after %q: %s", event, before, h.url)
		}
		last[number] = event
	}
}

// checkTold wants one callback of each job that has ended by itself, and one
// job.finished of each job that has ended, where there is somebody to tell.
func (c *checker) checkTold() {
	messages := map[string]map[string]bool{} // of a URL's path and a record, by id
	for _, h := range c.hits {
		if h.job != 0 || !strings.HasPrefix(h.url, "https://callbacks.") && eventOf(h.body) != "job.finished" {
			continue
		}
		body := rawjson.Value(h.body)
		if data := rawjson.Get(body, "data"); data != nil {
			body = data
		}
		key := h.url + " " + member(rawjson.Get(body, "job"), "job_id")
		if messages[key] == nil {
			messages[key] = map[string]bool{}
		}
		messages[key][h.message] = true
	}
	now := c.w.db.now()
	for number, r := range c.jobs {
		if r.unfinished() || r.ended.After(now.Add(-calm)) {
			continue
		}
		spec := job.ReadSpec(r.args)
		if url := spec.CallbackURL; url != "" {
			want := 1
			if r.state == job.Cancelled {
				want = 0
			}
			if n := len(messages[fmt.Sprint(url, " ", number)]); n != want {
				c.breaks(told, "%d callbacks tell of the end of job %d, which is %s", n, number, r.state)
			}
		}
		if url := spec.WebhookURL; url != "" {
			if n := len(messages[fmt.Sprint(url, " ", number)]); n != 1 {
				c.breaks(told, "%d messages job.finished tell of job %d, which is %s", n, number, r.state)
			}
		}
	}
}

// checkRetries counts the failures of one-off jobs that were given up.
func (c *checker) checkRetries() {
	failures, kinds := map[int64]int{}, map[int64]string{}
	c.query(`SELECT job, payload, packed, size FROM logs WHERE event IN (2, 3) ORDER BY job, id`, func(s *sqlite.Stmt) {
		payload := stored(s, 1, 2)
		kind := member(payload, "kind")
		if rawjson.Get(payload, "attempt") == nil || kind == "interrupted" {
			return
		}
		failures[s.ColumnInt64(0)]++
		kinds[s.ColumnInt64(0)] = kind
	})
	for number, r := range c.jobs {
		want := 1 + job.ReadSpec(r.args).Retries
		n := failures[number]
		if n > want {
			c.breaks(retrying, "job %d has failed %d times, and may %d times", number, n, want)
		}
		kind := kinds[number]
		if r.state == job.Discarded && r.schedule == "" && n < want && kind != "expired" && kind != "answer" {
			c.breaks(retrying, "job %d was given up after %d failures, the last of kind %q, of %d", number, n, kind, want)
		}
		if r.state == job.Discarded {
			c.counts["given up"]++
		}
	}
}

// checkOutcomes compares the end of jobs with the reports that were taken.
func (c *checker) checkOutcomes() {
	for _, h := range c.hits {
		r := c.jobs[h.job]
		if r == nil || !h.taken || r.unfinished() {
			continue
		}
		// A report before the response counts when the attempt ends; until then the job
		// can be cancelled, which takes long if the node is lost.
		if !h.clean && r.state == job.Cancelled && c.cancels[h.job].After(h.takenAt) {
			continue
		}
		switch {
		case strings.Contains(h.answer.report, "result") && r.state != job.Completed:
			c.breaks(outcome, "the result of job %d was taken, and the job is %s", h.job, r.state)
		case strings.Contains(h.answer.report, `"retry": false`) && r.state != job.Discarded:
			c.breaks(outcome, "the failure of job %d was taken, and the job is %s", h.job, r.state)
		}
	}
}
