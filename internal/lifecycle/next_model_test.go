package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// scheduleWorld runs one schedule through the decisions of this package, as a
// store and a node would, and keeps everything that they store.
type scheduleWorld struct {
	*rapid.T
	now      time.Time
	s        *job.Schedule
	jobs     []*job.Job // the last one may be unfinished
	logs     []job.Log
	disabled []disabledSpan
	spec     job.Spec
	settled  bool // a run was under way, or due, while the schedule was disabled
}

type disabledSpan struct{ from, to time.Time }

func newScheduleWorld(t *rapid.T) *scheduleWorld {
	w := &scheduleWorld{T: t, now: time.Date(2026, 3, 28, 12, 0, 0, 0,
		time.UTC).Add(time.Duration(rapid.IntRange(0, 24*3600).Draw(t, "begin")) * time.Second)}
	var members []string
	add := func(label, member string) {
		if rapid.Bool().Draw(t, label) {
			members = append(members, member)
		}
	}
	if rapid.Bool().Draw(t, "cron") {
		members = append(members, rapid.SampledFrom([]string{`"cron":"* * * * *"`, `"cron":"*/7 * * * *","timezone":"Europe/London"`,
			`"cron":"20,50 1-3 * * *","timezone":"Europe/London"`}).Draw(t, "expression"))
	} else {
		members = append(members, fmt.Sprintf(`"repeat_every":%d`, rapid.IntRange(1, 100).Draw(t, "every")))
		if rapid.IntRange(0, 3).Draw(t, "in the past") == 0 {
			members = append(members, fmt.Sprintf(`"scheduled_at":%d`, w.now.Unix()-rapid.Int64Range(0, 1e5).Draw(t, "past")))
		}
	}
	members = append(members, fmt.Sprintf(`"catch_up":%q`, rapid.SampledFrom(catchUpNames).Draw(t, "catch up")))
	add("retries", `"retries":0`)
	add("expires", fmt.Sprintf(`"expires_in":%d`, rapid.IntRange(0, 200).Draw(t, "expires in")))
	add("jitter", `"jitter":0.5`)
	add("except", `"except":["2026-03-29"]`)
	if rapid.IntRange(0, 4).Draw(t, "ends") == 0 {
		members = append(members, fmt.Sprintf(`"ends_at":%d`, w.now.Unix()+rapid.Int64Range(0, 1e5).Draw(t, "ends at")))
	}
	if rapid.IntRange(0, 4).Draw(t, "limited") == 0 {
		members = append(members, fmt.Sprintf(`"max_runs":%d`, rapid.IntRange(1, 12).Draw(t, "max runs")))
	}
	body := `{"url":"https://example.com/",` + strings.Join(members, ",") + `}`
	draft, err := job.Read(rawjson.Value(body), job.ReadOptions{Now: w.now})
	if err != nil {
		t.Skip(err)
	}
	w.spec = draft.Spec
	w.s = &job.Schedule{ID: draft.ScheduleID, InsertedAt: w.now, FirstDue: draft.Grid.Begin, Args: draft.Args}
	w.jobs = []*job.Job{{Number: 1, ScheduleID: w.s.ID, InsertedAt: w.now, ScheduledAt: draft.ScheduledAt, DueAt: draft.DueAt,
		State: job.Available, Args: draft.Args}}
	return w
}

var catchUpNames = []string{"one", "none", "all"}

// unfinished returns the unfinished job, or nil.
func (w *scheduleWorld) unfinished() *job.Job {
	if j := w.jobs[len(w.jobs)-1]; !j.State.Final() {
		return j
	}
	return nil
}

func (w *scheduleWorld) apply(c *store.Changes) {
	if c == nil {
		return
	}
	if c.Job != nil {
		*w.jobs[len(w.jobs)-1] = *c.Job
	}
	w.logs = append(w.logs, c.Logs...)
	if c.Schedule != nil {
		w.s = c.Schedule
	}
	if c.Next != nil {
		if w.unfinished() != nil {
			w.Fatalf("a next run while %+v is unfinished", w.unfinished())
		}
		c.Next.Job.Number = int64(len(w.jobs) + 1)
		for _, log := range c.Next.Logs {
			log.Job = c.Next.Job.Number
			w.logs = append(w.logs, log)
		}
		w.jobs = append(w.jobs, c.Next.Job)
	}
}

// seconds draws a time that is mostly short and sometimes long.
func (w *scheduleWorld) seconds(label string) time.Duration {
	most := rapid.SampledFrom([]int64{0, 1e6, 1e8, 1e9, 3e11}).Draw(w.T, label+" at most")
	return time.Duration(rapid.Int64Range(0, most).Draw(w.T, label)) * time.Microsecond
}

// run carries out an attempt of the unfinished job after a delay.
func (w *scheduleWorld) run(delay, takes time.Duration, status int, toggle bool) {
	j := w.unfinished()
	w.now = schedule.Later(w.now, j.DueAt).Add(delay)
	item := &store.QueueItem{QueueKey: store.QueueKey{Due: j.DueAt}, Attempt: j.Attempt, Job: j, Schedule: w.s}
	began := w.now
	a := Begin(item, began, nil)
	span := Span{Began: began, Ended: began.Add(takes + time.Microsecond)}
	if a.Expired != nil {
		w.now = span.Ended
		w.apply(a.Expire(1, span).Decide(&store.Snapshot{Now: w.now, Schedule: w.s}))
		return
	}
	if w.spec.ExpiresIn != nil && began.After(schedule.Later(j.ScheduledAt, w.s.InsertedAt).Add(*w.spec.ExpiresIn)) {
		w.Fatalf("an attempt of the run due at %v starts at %v", j.ScheduledAt, began)
	}
	if toggle {
		claim := &store.ClaimInfo{StartAt: began}
		w.now = began.Add(takes / 2)
		w.toggle(claim)
		w.now = began.Add(takes * 3 / 4)
		if rapid.Bool().Draw(w.T, "and back") {
			w.toggle(claim)
		}
	}
	w.now = span.Ended
	w.apply(a.Finish(1, job.Outcome{Response: &job.Response{Status: status}}, span).Decide(&store.Snapshot{Now: w.now, Schedule: w.s}))
	if done := w.jobs[j.Number-1]; done.State.Final() && !w.settled && a.Points != 1+w.skippedOf(j.Number) {
		w.Fatalf("run %d said that it stands for %d points, but %d were skipped", j.Number, a.Points, w.skippedOf(j.Number))
	}
}

func (w *scheduleWorld) skippedOf(number int64) (n int64) {
	for i := range w.logs {
		if points, ok := readSkip(&w.logs[i]); ok && w.logs[i].Job == number {
			n += points.Count
		}
	}
	return n
}

// toggle disables or enables the schedule.
func (w *scheduleWorld) toggle(claim *store.ClaimInfo) {
	m := &store.Snapshot{Now: w.now, Job: w.unfinished(), Claim: claim, Schedule: w.s}
	if w.s.Live() {
		if m.Job != nil && !m.Job.DueAt.After(w.now) {
			w.settled = true
		}
		w.apply(Disable(func(*job.Job, *store.ClaimInfo, time.Time) bool { return true })(m))
		w.disabled = append(w.disabled, disabledSpan{from: w.now})
		return
	}
	c, err := Enable(m)
	if err != nil {
		return
	}
	w.apply(c)
	w.disabled[len(w.disabled)-1].to = w.now
}

func TestNext_AccountsForEachPointOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newScheduleWorld(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			status := rapid.SampledFrom([]int{200, 200, 500}).Draw(t, "status")
			switch j := w.unfinished(); {
			case j == nil && w.s.Ended != "":
			case j == nil || rapid.IntRange(0, 9).Draw(t, "toggle") == 0:
				w.now = w.now.Add(w.seconds("wait"))
				w.toggle(nil)
			case rapid.IntRange(0, 9).Draw(t, "cancel") == 0:
				w.now = schedule.Later(w.now, j.InsertedAt).Add(w.seconds("wait"))
				w.apply(Cancel(func(*job.Job, *store.ClaimInfo, time.Time) bool { return false })(&store.Snapshot{Now: w.now, Job: j,
					Schedule: w.s}))
			default:
				w.run(w.seconds("delay"), w.seconds("takes"), status, rapid.IntRange(0, 9).Draw(t, "toggle under way") == 0)
			}
		}
		for range 3000 { // catch up, until the next run is ahead
			j := w.unfinished()
			if j == nil || j.State == job.Available && j.ScheduledAt.After(w.now) {
				break
			}
			w.run(0, 0, 200, false)
		}
		w.check()
	})
}

// check compares what was stored with a walk over all points of the grid.
func (w *scheduleWorld) check() {
	times := map[time.Time]int{} // how often a point was accounted for
	// A schedule that is disabled and enabled again may run at a time for which a
	// run was cancelled.
	cancelled := map[time.Time]bool{}
	counted := int64(0)
	ended := 0
	for _, j := range w.jobs {
		if j.State == job.Cancelled {
			cancelled[j.ScheduledAt] = true
		} else {
			times[j.ScheduledAt]++
		}
		if j.State == job.Completed || j.State == job.Discarded {
			counted++
		}
		if !w.spec.EndsAt.IsZero() && j.ScheduledAt.After(w.spec.EndsAt) {
			w.Fatalf("a run is due at %v, after the end", j.ScheduledAt)
		}
	}
	if w.spec.MaxRuns > 0 && counted > w.spec.MaxRuns {
		w.Fatalf("%d runs", counted)
	}
	grid, _ := w.s.Grid()
	for i := range w.logs {
		if w.logs[i].Event == job.EventEnded {
			ended++
		}
		points, ok := readSkip(&w.logs[i])
		if !ok {
			continue
		}
		n := int64(0)
		for p := points.From; !p.IsZero() && !p.After(points.To); p = grid.Next(time.Time{}, p) {
			times[p]++
			n++
			if cancelled[p] && len(w.disabled) == 0 {
				w.Fatalf("the point %v of a cancelled run was skipped, too", p)
			}
		}
		if n != points.Count {
			w.Fatalf("%s: %d points", w.logs[i].Payload, n)
		}
	}
	if (ended > 0) != (w.s.Ended != "") || ended > 1 {
		w.Fatalf("the schedule ended %d times, %q", ended, w.s.Ended)
	}
	last := w.jobs[len(w.jobs)-1]
	until := last.ScheduledAt
	if w.s.Ended == job.EndedAt {
		until = w.now
	}
	for p := grid.First(w.s.FirstDue); !p.IsZero() && !p.After(until); p = grid.Next(time.Time{}, p) {
		n := times[p]
		delete(times, p)
		mayMiss := !p.After(w.s.InsertedAt)
		for _, span := range w.disabled {
			mayMiss = mayMiss || !p.Before(span.from) && (span.to.IsZero() || p.Before(span.to))
		}
		if n == 0 && !mayMiss && !cancelled[p] || n > 1 {
			w.Fatalf("the point %v is accounted for %d times", p, n)
		}
	}
	for p, n := range times {
		if n > 1 {
			w.Fatalf("the point %v is accounted for %d times", p, n)
		}
	}
}
