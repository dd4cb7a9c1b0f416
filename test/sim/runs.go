package sim

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// The promises of workflow runs, by their names in reports.
const (
	stepOnce  = "a step whose result is stored is not carried out again"
	stepStays = "the steps of a run stay what they are"
	notHung   = "a run ends or waits for something"
	runEnds   = "a run that has ended stays so and takes nothing"
	runSilent = "a run that has ended makes no request"
	runTold   = "a run learns of the end of what it has invoked"
	eventKept = "an event that was taken ends a wait"
	resumed   = "a run is resumed once"
	reported  = "a failure is reported once"
	defect    = "no call fails with a defect"
)

// runKey names a run: an account, and an id.
type runKey struct {
	account int64
	id      string
}

// runRow is a run as it is stored.
type runRow struct {
	runKey
	state           workflow.State
	ended           time.Time
	rows, open      int
	untold          bool
	origin, invoker string
	failed, failure string // jobs, in hexadecimal
	result          string
	steps           []stepRow
}

// stepRow is a record of a step as it is stored.
type stepRow struct {
	kind               workflow.Kind
	number, concurrent int
	body, waitsFor     string
	settled            bool
}

// runChecker compares what becomes of workflow runs with what is promised.
type runChecker struct {
	*checker
	runs     map[runKey]*runRow
	messages map[int64]*runJob // by job
	stored   map[runKey]map[workflow.Key]int
	ended    map[runKey]int // when the end was stored, as now counts
	cancels  map[runKey]time.Time
	asked    []runKey           // of those, since the last commit
	started  []runKey           // as clients were told
	reports  map[runKey][]int64 // jobs that have reported its failure
	events   []event
}

// runJob is what a job is for in a run.
type runJob struct {
	run runKey
	workflow.Message
}

// event is one that a run has taken; a call of a webhook may be taken by a run that resumes
// it.
type event struct {
	run  runKey
	data string
	hook bool
}

func newRunChecker(c *checker) *runChecker {
	return &runChecker{
		checker: c, runs: map[runKey]*runRow{}, messages: map[int64]*runJob{}, stored: map[runKey]map[workflow.Key]int{},
		ended: map[runKey]int{}, cancels: map[runKey]time.Time{},
		reports: map[runKey][]int64{},
	}
}

// now counts what has happened: of two reads, the one with the greater number came later.
func (c *checker) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts["steps"]
}

// wrong notes that the service has sent what can't be.
func (c *checker) wrong(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breaks(defect, format, args...)
}

// called notes the answer to a call of the API.
func (c *checker) called(r *request, status int, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["calls of the API"]++
	c.tell("%s %s %.120s is answered %d %.120s", r.method, r.path, r.body, status, strings.TrimSpace(body))
	if status >= 500 && status != http.StatusServiceUnavailable {
		c.breaks(defect, "%s %s: %d %s", r.method, r.path, status, body)
	}
}

// messaged notes a message that has reached its route.
func (c *checker) messaged(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["messages of runs"]++
	c.tell("the route of %s %s, %s", m.run, m.reply, m.hit.name)
}

func (c *checker) keyOf(m *message) runKey { return runKey{c.w.db.owners[m.a.account].Number, m.run} }

// carriesOut checks a step that a route begins, and returns its result.
func (c *checker) carriesOut(m *message, number int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["steps of runs"]++
	run := c.keyOf(m)
	c.tell("%s carries out step %d", run.id, number)
	if at, known := c.flows.stored[run][workflow.Key{Run: run.id, Kind: workflow.Result, Number: number}]; known && at < m.read {
		c.breaks(stepOnce, "%s carries out step %d, whose result was stored before its route was told of the steps: %d, %d", run.id, number,
			at, m.read)
	}
	return fmt.Sprintf("%s/%d/%d", m.run, number, c.counts["steps of runs"])
}

// finishes notes that a program has come to its end.
func (c *checker) finishes(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["programs that ended"]++
	c.tell("the program of %s ends", m.run)
}

// accept notes that a client was told that a run has been started.
func (f *runChecker) accept(run runKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, run)
}

// cancelled notes that a client was told that a run is cancelled.
func (f *runChecker) cancelled(run runKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.runs[run]
	if r == nil || r.state != workflow.Cancelled {
		return
	}
	if f.cancels[run].IsZero() {
		f.cancels[run] = time.Now()
		f.counts["cancelled runs"]++
	}
	f.asked = append(f.asked, run)
}

// checkCancelled reports jobs that wait though a client was told that their run is
// cancelled. The job that ends a wait stays if the wait has ended before: it sends nothing.
func (f *runChecker) checkCancelled() {
	soon := f.w.db.now().Add(time.Second)
	for number, m := range f.messages {
		j := f.jobs[number]
		if m != nil && slices.Contains(f.asked, m.run) && j.state == job.Available && j.item != nil && j.item.node == 0 &&
			j.item.due.After(soon) && !(m.Kind == workflow.Wait && f.settled(m)) {
			f.breaks(runSilent, "job %d of %s, %s, waits though its client was told that the run is cancelled", number, m.run.id, m.Text())
		}
	}
	f.asked = nil
}

// settled reports whether the result of the step that a job is for is stored.
func (f *runChecker) settled(m *runJob) bool {
	r := f.runs[m.run]
	return r != nil && slices.ContainsFunc(r.steps, func(s stepRow) bool { return s.kind == m.Kind && s.number == m.Number && s.settled })
}

// takes notes that a run has taken an event.
func (f *runChecker) takes(run runKey, data string, hook bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts["events of runs"]++
	f.events = append(f.events, event{run, data, hook})
}

// checkRequest checks a request of a run's job.
func (f *runChecker) checkRequest(h *hit) {
	m := f.messages[h.job]
	if m == nil {
		return
	}
	r := f.runs[m.run]
	if r == nil {
		f.breaks(runSilent, "%s is of the run %s, which does not exist", h.name, m.run.id)
		return
	}
	if m.Failure {
		if !slices.Contains(f.reports[m.run], h.job) {
			f.reports[m.run] = append(f.reports[m.run], h.job)
		}
		if r.state != workflow.Failed || len(f.reports[m.run]) > 1 {
			f.breaks(reported, "%s reports the failure of %s, which is %s; jobs %v do", h.name, r.id, r.state, f.reports[m.run])
		}
		return
	}
	if at, ok := f.ended[m.run]; ok && at < h.read {
		f.breaks(runSilent, "%s, %s, was sent though %s was %s before its message was made", h.name, m.Text(), r.id, r.state)
	}
	if at, ok := f.cancels[m.run]; ok && time.Since(at) > f.noticed() {
		f.breaks(runSilent, "%s, %s, was sent %s after its client was told that %s is cancelled", h.name, m.Text(), time.Since(at), r.id)
	}
	if at, ok := f.stored[m.run][workflow.Key{Run: m.run.id, Kind: workflow.Result, Number: m.Number}]; ok && m.Kind == workflow.Call &&
		at < h.read {
		f.breaks(stepOnce, "%s, %s, was sent though the result of its step was stored before its message was made", h.name, m.Text())
	}
}

// readRuns reads all runs with their steps.
func (f *runChecker) readRuns() map[runKey]*runRow {
	runs := map[runKey]*runRow{}
	f.query(`SELECT account, id, state, ended_at, step_rows, open, untold, origin, invoker, hex(failed_job), hex(failure), result FROM workflow_runs`, func(s *sqlite.Stmt) {
		r := &runRow{
			runKey: runKey{s.ColumnInt64(0), s.ColumnText(1)}, state: workflow.State(s.ColumnInt(2)), ended: micros(s, 3),
			rows: s.ColumnInt(4), open: s.ColumnInt(5),
			untold: s.ColumnInt(6) != 0, origin: s.ColumnText(7), invoker: s.ColumnText(8), failed: s.ColumnText(9),
			failure: s.ColumnText(10), result: s.ColumnText(11),
		}
		runs[r.runKey] = r
	})
	f.query(`SELECT account, run, position, kind, number, concurrent, body, waits_for, settled FROM workflow_steps ORDER BY account, run, position`, func(s *sqlite.Stmt) {
		r := runs[runKey{s.ColumnInt64(0), s.ColumnText(1)}]
		if r == nil || len(r.steps) != s.ColumnInt(2) {
			f.breaks(stepStays, "the record %d of %s has no run, or none before it", s.ColumnInt(2), s.ColumnText(1))
			return
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(s.ColumnReader(6)); err != nil {
			panic(err)
		}
		r.steps = append(r.steps, stepRow{
			workflow.Kind(s.ColumnInt(3)), s.ColumnInt(4), s.ColumnInt(5), body.String(), s.ColumnText(7), s.ColumnInt(8) != 0,
		})
	})
	return runs
}

// checkStored compares the runs of two commits, and each run with its jobs.
func (f *runChecker) checkStored() {
	before := f.runs
	f.runs = f.readRuns()
	underWay := map[runKey]bool{}
	counted := map[runKey]int{}
	for number, j := range f.jobs {
		m, known := f.messages[number]
		if !known {
			m = readRunJob(j)
			f.messages[number] = m
		}
		if m == nil || m.Failure || !j.unfinished() {
			continue
		}
		underWay[m.run] = true
		if !m.Callback && m.Kind != workflow.Call && m.Kind != workflow.Wait {
			counted[m.run]++
		}
	}
	f.checkCancelled()
	for key := range before {
		if f.runs[key] == nil {
			f.breaks(lost, "the run %s is gone", key.id)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(f.runs), func(a, b runKey) int { return strings.Compare(a.id, b.id) }) {
		r := f.runs[key]
		f.checkRun(before[key], r)
		if !r.state.Live() {
			continue
		}
		open, waits := counted[key], false
		for _, s := range r.steps {
			if s.settled || s.kind != workflow.Call && s.kind != workflow.Wait && s.kind != workflow.Invoke {
				continue
			}
			open++
			if invoked := f.runs[runKey{key.account, s.waitsFor}]; s.kind == workflow.Invoke && invoked != nil &&
				(invoked.state.Live() || invoked.untold) {
				waits = true
			}
		}
		if !underWay[key] && !waits {
			f.breaks(notHung, "%s has neither a job nor an invoked run that would continue it", key.id)
		}
		if open != r.open {
			f.breaks(notHung, "%s has %d messages, calls and waits under way, and says %d", key.id, open, r.open)
		}
	}
}

// readRunJob returns what a job is for in a run; nil if it is in none.
func readRunJob(j *row) *runJob {
	run, step := job.RunOf(j.args)
	m, ok := workflow.ReadMessage(run, step)
	if !ok || run == "" {
		return nil
	}
	return &runJob{runKey{j.account, run}, m}
}

// checkRun compares a run with what it was.
func (f *runChecker) checkRun(before, r *runRow) {
	if r.rows != len(r.steps) {
		f.breaks(stepStays, "%s has %d records and says %d", r.id, len(r.steps), r.rows)
	}
	if r.ended.IsZero() != r.state.Live() {
		f.breaks(runEnds, "%s is %s, and its end %s", r.id, r.state, clock(r.ended))
	}
	if f.stored[r.runKey] == nil {
		f.stored[r.runKey] = map[workflow.Key]int{}
		f.counts["runs"]++
		f.tell("the run %s is stored", r.id)
	}
	was := []stepRow(nil)
	if before != nil {
		was = before.steps
		if before.state != r.state {
			f.tell("the run %s is %s", r.id, r.state)
		}
		if !before.state.Live() && (before.state != r.state || before.rows != r.rows || !before.ended.Equal(r.ended) ||
			before.result != r.result) {
			f.breaks(runEnds, "%s was %s with %d records and is %s with %d", r.id, before.state, before.rows, r.state, r.rows)
		}
	}
	if _, known := f.ended[r.runKey]; !known && !r.state.Live() {
		f.ended[r.runKey] = f.counts["steps"]
		f.counts["runs that are "+r.state.String()]++
	}
	for i, s := range was {
		if i >= len(r.steps) {
			f.breaks(stepStays, "%s has lost its record %d", r.id, i)
			return
		}
		if is := r.steps[i]; s.settled && !is.settled || !equalButSettled(is, s) {
			f.breaks(stepStays, "the record %d of %s was %+v and is %+v", i, r.id, s, is)
		}
	}
	for _, s := range r.steps[len(was):] {
		f.stored[r.runKey][workflow.Key{Run: r.id, Kind: s.kind, Number: s.number}] = f.counts["steps"]
		f.tell("%s stores %s of step %d", r.id, workflow.Key{Kind: s.kind, Number: s.number}.Text(), s.number)
	}
}

func equalButSettled(a, b stepRow) bool {
	a.settled = b.settled
	return a == b
}

// end checks what must hold when all is over.
func (f *runChecker) end(now time.Time) {
	origins := map[runKey]int{}
	for _, key := range f.started {
		if f.runs[key] == nil {
			f.breaks(lost, "the run %s was started and is not stored", key.id)
		}
	}
	for key, r := range f.runs {
		if r.untold && r.ended.Before(now.Add(-calm)) {
			f.breaks(runTold, "%s has ended, and %s does not know it", key.id, r.invoker)
		}
		if r.origin != "" {
			origins[runKey{key.account, r.origin}]++
		}
		f.checkEvents(r)
	}
	for key, n := range origins {
		if n > 1 {
			f.breaks(resumed, "%d runs resume or restart %s", n, key.id)
		}
	}
	for _, e := range f.events {
		kept := false
		for key, r := range f.runs {
			taker := key == e.run || e.hook && key.account == e.run.account && r.origin != ""
			kept = kept || taker && slices.ContainsFunc(r.steps, func(s stepRow) bool { return s.has(e.data) })
		}
		if !kept {
			f.breaks(eventKept, "%s has taken the event %q, which is not stored", e.run.id, e.data)
		}
	}
}

// has reports whether a record has the data of an event: that of one that is kept has it as
// it is, the end of a wait in base64, and a webhook's has the body of its request.
func (s *stepRow) has(data string) bool {
	coded := base64.StdEncoding.EncodeToString([]byte(data))
	if strings.Contains(s.body, data) || strings.Contains(s.body, coded) {
		return true
	}
	var sent struct{ Out string }
	if json.Unmarshal([]byte(s.body), &sent) != nil {
		return false
	}
	out, err := base64.StdEncoding.DecodeString(sent.Out)
	return err == nil && strings.Contains(string(out), coded)
}

// checkEvents reports an event that is kept though a later step has waited for it.
func (f *runChecker) checkEvents(r *runRow) {
	for i, kept := range r.steps {
		if kept.kind != workflow.Notice || kept.settled {
			continue
		}
		for _, s := range r.steps[i:] {
			if s.kind == workflow.Wait && s.waitsFor == kept.waitsFor {
				f.breaks(eventKept, "%s keeps an event %q, and has waited for it afterwards", r.id, kept.waitsFor)
			}
		}
	}
}
