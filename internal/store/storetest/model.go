package storetest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// model keeps all stored records in memory.
type model struct {
	jobs      []*job.Job // as clients see them
	schedules []*job.Schedule
	logs      []*job.Log // those that are shown
}

// populate stores about n jobs of two owners in every state, with many equal and
// many absent values, and returns them as clients should see them.
func (w *world) populate(n int) *model {
	w.Helper()
	seed := rand.Uint64()
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("records made from seed %d", seed)
		}
	})
	r := rand.New(rand.NewPCG(seed, 0))
	m := &model{}
	for range n {
		m.addJob(w, r)
	}
	return m
}

// tied returns one of a few times at random, so that many are equal.
func (w *world) tied(r *rand.Rand) time.Time {
	return w.past().Add(time.Duration(r.IntN(6)) * time.Microsecond)
}

func (m *model) addJob(w *world, r *rand.Rand) {
	owner := w.owner
	if r.IntN(4) == 0 {
		owner = w.other
	}
	n := w.oneOff(owner, w.tied(r))
	switch r.IntN(4) {
	case 0:
		n = w.recurring(owner, w.tied(r))
		m.addSchedule(w, r, n)
	case 1:
		if s := m.anySchedule(r, owner); s != nil {
			n.Job.ScheduleID = s.ID
		}
	case 2:
		key := string(rune('a' + r.IntN(3)))
		n.Job.Key = &key
	}
	m.label(w, r, n)
	results, err := w.s.JobInsertMany(w.ctx, []store.NewJob{n})
	w.ok("JobInsertMany", err)
	if !results[0].Conflict {
		m.jobs = append(m.jobs, m.live(w, r, n.Job))
	}
}

// label gives a new job a time, a name, a host and tags, of which there are few.
func (m *model) label(w *world, r *rand.Rand, n store.NewJob) {
	n.Job.InsertedAt = w.tied(r)
	n.Job.ID = job.NewID(n.Job.InsertedAt)
	if r.IntN(2) == 0 {
		name := jobNames[r.IntN(len(jobNames))]
		n.Job.Name = &name
	}
	tags := rawjson.Array(nil)
	for _, tag := range jobTags {
		if r.IntN(2) == 0 {
			tags = rawjson.Array(append(rawjson.Elements(tags), rawjson.Quote(tag)))
		}
	}
	n.Job.Args = rawjson.Value(fmt.Sprintf(`{"url":"https://%s:8443/","tags":%s,"method":"get","headers":{}}`,
		jobHosts[r.IntN(len(jobHosts))], tags))
	if n.Schedule != nil {
		n.Schedule.Args = n.Job.Args
	} else if r.IntN(2) == 0 {
		n.Job.Parent = jobParents[r.IntN(len(jobParents))]
	}
}

var (
	jobNames   = []string{"report", "Report", "réport"}
	jobTags    = []string{"a", "b:c", "d.e_f-"}
	jobParents = []int64{1, 2}
	jobHosts   = []string{"one.example", "TWO.example", "[2001:db8::1]"}
)

func (m *model) anySchedule(r *rand.Rand, owner job.Owner) *job.Schedule {
	for range 3 {
		if len(m.schedules) == 0 {
			return nil
		}
		if s := m.schedules[r.IntN(len(m.schedules))]; s.Owner == owner {
			return s
		}
	}
	return nil
}

func (m *model) addSchedule(w *world, r *rand.Rand, n store.NewJob) {
	n.Schedule.InsertedAt = w.tied(r)
	if r.IntN(3) > 0 {
		name := awkward[r.IntN(len(awkward))]
		n.Schedule.Name = &name
	}
	m.schedules = append(m.schedules, n.Schedule)
}

// live moves a new job to a random state and returns it.
func (m *model) live(w *world, r *rand.Rand, j *job.Job) *job.Job {
	w.Helper()
	after := *j
	if s := slices.IndexFunc(m.schedules, func(s *job.Schedule) bool { return s.ID == j.ScheduleID }); s >= 0 {
		m.disable(w, r, m.schedules[s])
	}
	switch r.IntN(7) {
	case 0: // waiting
		return &after
	case 1: // claimed ahead
		w.claim(w.claimOf(j, w.ahead()))
		return &after
	}
	c := w.claimOf(j, w.tied(r))
	w.claim(c)
	m.logs = append(m.logs, c.Log)
	after.Begin(c.StartAt)
	changes := store.Changes{Logs: []job.Log{w.log(j, events[r.IntN(len(events))], w.tied(r))}}
	end := w.tied(r)
	switch r.IntN(6) {
	case 0: // under way
		return &after
	case 1:
		after.Complete(end)
	case 2:
		after.Discard(end)
	case 3:
		after.Cancel(end)
	default:
		after.Retry(end)
	}
	stored := after
	changes.Job = &stored
	w.finish(store.Finish{QueueKey: c.QueueKey, Node: w.node, Attempt: 1, Job: j,
		Decide: func(*store.Snapshot) *store.Changes { return &changes }})
	m.logs = append(m.logs, &changes.Logs[0])
	if after.State == job.Retryable && r.IntN(2) == 0 {
		again := w.claimOf(&after, w.tied(r))
		w.claim(again)
		m.logs = append(m.logs, again.Log)
		after.Begin(again.StartAt)
	}
	return &after
}

// disable sometimes changes a schedule.
func (m *model) disable(w *world, r *rand.Rand, s *job.Schedule) {
	w.Helper()
	if r.IntN(2) == 0 {
		return
	}
	s.DisabledAt, s.State = w.tied(r), rawjson.Value(fmt.Sprintf(`{"n":%d}`, r.IntN(9)))
	stored := *s
	_, err := w.s.ScheduleChange(w.ctx, s.Owner, s.ID, func(*store.Snapshot) *store.Changes { return &store.Changes{Schedule: &stored} })
	w.ok("ScheduleChange", err)
}

var events = []string{
	job.EventResponse, job.EventError, job.EventCallbackFailed, job.EventWebhookFailed, job.EventStateRejected, job.EventRequest,
	job.EventSkipped, job.EventEnded, job.EventAlertFailed, job.EventCompletion,
}

// sorted returns a page of the selected records, sorted by a field, nulls last,
// then by tie.
func sorted[T any](selected []T, q job.ListQuery, by func(a, b T) (order int, aNull, bNull bool), tie func(a, b T) int) []T {
	slices.SortFunc(selected, func(a, b T) int {
		if by != nil {
			order, aNull, bNull := by(a, b)
			switch {
			case aNull && !bNull:
				return 1
			case bNull && !aNull:
				return -1
			case aNull && bNull:
			case order != 0 && q.Order.Desc:
				return -order
			case order != 0:
				return order
			}
		}
		return tie(a, b)
	})
	selected = selected[min(q.Offset, len(selected)):]
	return selected[:min(q.Limit, len(selected))]
}

func never(order int) (int, bool, bool) { return order, false, false }

func nullable(a, b time.Time) (int, bool, bool) { return a.Compare(b), a.IsZero(), b.IsZero() }

var jobFields = map[string]func(a, b *job.Job) (int, bool, bool){
	"inserted_at":  func(a, b *job.Job) (int, bool, bool) { return nullable(a.InsertedAt, b.InsertedAt) },
	"scheduled_at": func(a, b *job.Job) (int, bool, bool) { return never(a.ScheduledAt.Compare(b.ScheduledAt)) },
	"attempted_at": func(a, b *job.Job) (int, bool, bool) { return nullable(a.AttemptedAt, b.AttemptedAt) },
	"completed_at": func(a, b *job.Job) (int, bool, bool) { return nullable(a.CompletedAt, b.CompletedAt) },
	"cancelled_at": func(a, b *job.Job) (int, bool, bool) { return nullable(a.CancelledAt, b.CancelledAt) },
	"discarded_at": func(a, b *job.Job) (int, bool, bool) { return nullable(a.DiscardedAt, b.DiscardedAt) },
	"state":        func(a, b *job.Job) (int, bool, bool) { return never(cmp.Compare(a.State.String(), b.State.String())) },
	"job_id":       func(a, b *job.Job) (int, bool, bool) { return never(cmp.Compare(a.Number, b.Number)) },
	"id":           func(a, b *job.Job) (int, bool, bool) { return never(compareIDs(a.ID, b.ID)) },
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

func (m *model) jobList(owner job.Owner, q job.Query) []*job.Job {
	var selected []*job.Job
	for _, j := range m.jobs {
		if j.Owner == owner && matches(&q, j) && (q.After == 0 || j.Number < q.After) {
			selected = append(selected, j)
		}
	}
	return sorted(selected, q.ListQuery, jobFields[q.Order.Field], func(a, b *job.Job) int { return cmp.Compare(b.Number, a.Number) })
}

// equals reports whether a text is the one that is wanted, if any.
func equals(want, got *string) bool { return want == nil || got != nil && *got == *want }

// hasTags reports whether args have all tags.
func hasTags(args rawjson.Value, tags []string) bool {
	l := job.LabelsOf(args)
	return !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(l.Tags, tag) })
}

var scheduleFields = map[string]func(a, b *job.Schedule) (int, bool, bool){
	"inserted_at": func(a, b *job.Schedule) (int, bool, bool) { return never(a.InsertedAt.Compare(b.InsertedAt)) },
	"disabled_at": func(a, b *job.Schedule) (int, bool, bool) { return nullable(a.DisabledAt, b.DisabledAt) },
	"name": func(a, b *job.Schedule) (int, bool, bool) {
		return strings.Compare(deref(a.Name), deref(b.Name)), a.Name == nil, b.Name == nil
	},
	"id": func(a, b *job.Schedule) (int, bool, bool) { return never(compareIDs(a.ID, b.ID)) },
}

func (m *model) scheduleList(owner job.Owner, q job.ScheduleQuery) []*job.Schedule {
	var selected []*job.Schedule
	for _, s := range m.schedules {
		if s.Owner == owner && hasTags(s.Args, q.Tags) && (q.AfterID == uuid.Nil || compareIDs(s.ID, q.AfterID) < 0) {
			selected = append(selected, s)
		}
	}
	return sorted(selected, q.ListQuery, scheduleFields[q.Order.Field], func(a, b *job.Schedule) int { return compareIDs(b.ID, a.ID) })
}

var logFields = map[string]func(a, b *job.Log) (int, bool, bool){
	"inserted_at": func(a, b *job.Log) (int, bool, bool) { return never(a.InsertedAt.Compare(b.InsertedAt)) },
	"event":       func(a, b *job.Log) (int, bool, bool) { return never(strings.Compare(a.Event, b.Event)) },
	"job_id":      func(a, b *job.Log) (int, bool, bool) { return never(cmp.Compare(a.Job, b.Job)) },
	"id":          func(a, b *job.Log) (int, bool, bool) { return never(compareIDs(a.ID, b.ID)) },
}

func (m *model) logList(owner job.Owner, q job.LogQuery) []*job.Log {
	var selected []*job.Log
	for _, l := range m.logs {
		if l.Owner == owner && inQuery(l, q) && (q.AfterID == uuid.Nil || byTime(q)(l, &job.Log{ID: q.AfterID}) > 0) &&
			(q.Job == nil || l.Job == m.numberOf(*q.Job)) {
			selected = append(selected, l)
		}
	}
	return sorted(selected, q.ListQuery, logFields[q.Order.Field], byTime(q))
}

func inQuery(l *job.Log, q job.LogQuery) bool {
	return (q.Event == "" || q.Event == l.Event) && !l.InsertedAt.Before(q.Since) && (q.Until.IsZero() || l.InsertedAt.Before(q.Until))
}

func byTime(q job.LogQuery) func(a, b *job.Log) int {
	return func(a, b *job.Log) int {
		if q.Oldest {
			a, b = b, a
		}
		return compareIDs(b.ID, a.ID)
	}
}

// logWalk returns the logs of a schedule's runs in the order of LogWalk.
func (m *model) logWalk(owner job.Owner, schedule uuid.UUID, q job.LogQuery) []*job.Log {
	var selected []*job.Log
	for _, l := range m.logs {
		run := slices.IndexFunc(m.jobs, func(j *job.Job) bool { return j.Number == l.Job })
		if l.Owner == owner && inQuery(l, q) && m.jobs[run].ScheduleID == schedule {
			selected = append(selected, l)
		}
	}
	slices.SortFunc(selected, func(a, b *job.Log) int {
		byRun := cmp.Compare(b.Job, a.Job)
		if q.Oldest {
			byRun = -byRun
		}
		return cmp.Or(byRun, byTime(q)(a, b))
	})
	return selected
}

func (m *model) numberOf(id job.Ref) int64 {
	for _, j := range m.jobs {
		if id.Number == 0 && j.ID == id.UUID {
			return j.Number
		}
	}
	return id.Number
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func show[T any](list []T, one func(T) string) string {
	var b strings.Builder
	for _, v := range list {
		b.WriteString("\n  " + one(v))
	}
	return b.String()
}

func numbers(jobs []*job.Job) string {
	var b strings.Builder
	for _, j := range jobs {
		fmt.Fprintf(&b, "%d ", j.Number)
	}
	return b.String()
}

// drawPage returns a random page of a list. Cursors are only used with the
// default order and no offset.
func drawPage(r *rapid.T, fields []string) (q job.ListQuery, cursor bool) {
	q.Limit = rapid.IntRange(1, 100).Draw(r, "limit")
	if rapid.Bool().Draw(r, "cursor") {
		return q, true
	}
	q.Offset = rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 200)).Draw(r, "offset")
	if rapid.Bool().Draw(r, "ordered") {
		q.Order = job.Order{Field: rapid.SampledFrom(fields).Draw(r, "field"), Desc: rapid.Bool().Draw(r, "desc")}
	}
	return q, false
}

func fieldsOf[T any](orders map[string]T) []string {
	var names []string
	for name := range orders {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// check runs a property of lists. It writes no failure file, because the records
// differ each time.
func (w *world) check(property func(*rapid.T)) {
	w.Helper()
	const noFile = "rapid.nofailfile"
	if before := flag.Lookup(noFile); before != nil {
		old := before.Value.String()
		w.ok("setting a flag", flag.Set(noFile, "true"))
		defer func() { _ = flag.Set(noFile, old) }()
	}
	rapid.Check(w.T, property)
}

func (w *world) drawOwner(r *rapid.T) job.Owner {
	return rapid.SampledFrom([]job.Owner{w.owner, w.owner, w.other}).Draw(r, "owner")
}

func listsJobsEqualModel(w *world) {
	m := w.populate(120)
	w.check(func(r *rapid.T) {
		page, cursor := drawPage(r, fieldsOf(jobFields))
		q := w.drawFilters(r, m)
		q.ListQuery = page
		if cursor {
			q.After = rapid.SampledFrom(m.jobs).Draw(r, "after").Number
		}
		owner := w.drawOwner(r)
		got, err := w.s.JobList(w.ctx, owner, q)
		if want := show(m.jobList(owner, q), showJob); err != nil || show(got, showJob) != want {
			r.Errorf("JobList(%+v) = %v:%s\nwant:%s", q, err, show(got, showJob), want)
		}
	})
}

func listsSchedulesEqualModel(w *world) {
	m := w.populate(120)
	w.check(func(r *rapid.T) {
		page, cursor := drawPage(r, fieldsOf(scheduleFields))
		q := job.ScheduleQuery{ListQuery: page, Tags: drawTags(r)}
		if cursor {
			q.AfterID = rapid.SampledFrom(m.schedules).Draw(r, "after").ID
		}
		owner := w.drawOwner(r)
		got, err := w.s.ScheduleList(w.ctx, owner, q)
		if want := show(m.scheduleList(owner, q), showSchedule); err != nil || show(got, showSchedule) != want {
			r.Errorf("ScheduleList(%+v) = %v:%s\nwant:%s", q, err, show(got, showSchedule), want)
		}
	})
}

func listsLogsEqualModel(w *world) {
	m := w.populate(120)
	w.check(func(r *rapid.T) {
		page, cursor := drawPage(r, fieldsOf(logFields))
		q := job.LogQuery{ListQuery: page}
		if cursor {
			q.AfterID = rapid.SampledFrom(m.logs).Draw(r, "after").ID
		}
		if rapid.Bool().Draw(r, "by event") {
			q.Event = rapid.SampledFrom(append([]string{"no.such.event"}, events...)).Draw(r, "event")
		}
		if rapid.Bool().Draw(r, "by job") {
			j := rapid.SampledFrom(m.jobs).Draw(r, "job")
			q.Job = rapid.SampledFrom([]*job.Ref{{Number: j.Number}, {UUID: j.ID}}).Draw(r, "id")
		}
		q.Oldest = rapid.Bool().Draw(r, "oldest first") && q.Order.Field == ""
		w.drawTimes(r, &q)
		owner := w.drawOwner(r)
		got, err := w.s.LogList(w.ctx, owner, q)
		if want := show(m.logList(owner, q), showLog); err != nil || show(got, showLog) != want {
			r.Errorf("LogList(%+v) = %v:%s\nwant:%s", q, err, show(got, showLog), want)
		}
	})
}

// drawTimes returns a random range of times.
func (w *world) drawTimes(r *rapid.T, q *job.LogQuery) {
	q.Since, q.Until = w.drawSince(r, "since"), w.drawSince(r, "until")
}

func (w *world) drawSince(r *rapid.T, name string) (at time.Time) {
	if rapid.IntRange(0, 3).Draw(r, name+" given") == 0 {
		at = w.past().Add(time.Duration(rapid.IntRange(-1, 7).Draw(r, name)) * time.Microsecond)
	}
	return at
}

func walksLogsAsModel(w *world) {
	m := w.populate(120)
	w.check(func(r *rapid.T) {
		q := job.LogQuery{ListQuery: job.ListQuery{Limit: rapid.IntRange(1, 20).Draw(r, "limit")},
			Oldest: rapid.Bool().Draw(r, "oldest first")}
		if rapid.Bool().Draw(r, "by event") {
			q.Event = rapid.SampledFrom(events).Draw(r, "event")
		}
		w.drawTimes(r, &q)
		look := rapid.IntRange(1, 5).Draw(r, "look")
		owner, schedule := w.drawOwner(r), rapid.SampledFrom(m.schedules).Draw(r, "schedule").ID
		want := show(m.logWalk(owner, schedule, q), showLog)
		var got []*job.Log
		for pages := 0; ; pages++ {
			walk, err := w.s.LogWalk(w.ctx, owner, schedule, q, look)
			if err != nil || pages > 500 || len(walk.Logs) > q.Limit {
				r.Fatalf("LogWalk(%+v) = %+v, %v on page %d", q, walk, err, pages)
			}
			got = append(got, walk.Logs...)
			if walk.Next == nil {
				break
			}
			q.After, q.AfterID = walk.Next.Run, walk.Next.ID
		}
		if show(got, showLog) != want {
			r.Errorf("the walk by %d runs gives:%s\nwant:%s", look, show(got, showLog), want)
		}
	})
}
