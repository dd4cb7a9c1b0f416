package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var filterTests = group{
	"EveryFieldIsDrawn":       filtersAllDrawn,
	"WalksEqualModel":         filtersWalksEqualModel,
	"ScansEqualModel":         filtersScansEqualModel,
	"CountsEqualModel":        filtersCountsEqualModel,
	"CountsAreBounded":        filtersCountsBounded,
	"WalksAreBounded":         filtersWalksBounded,
	"TimesReachFar":           filtersTimesReachFar,
	"CountsEndWithTheTimes":   filtersCountsEndWithTheTimes,
	"ScansRefuseOrders":       filtersScansRefuseOrders,
	"FollowChanges":           filtersFollowChanges,
	"EndWithTheRecord":        filtersEndWithTheRecord,
	"OthersTagsSelectNothing": filtersOfOthers,
}

// filterField is a field of a job.Query that filters: draw sets it, or leaves it out,
// and selects reports whether a job has what it asks for.
type filterField struct {
	draw    func(w *world, r *rapid.T, m *model, q *job.Query)
	selects func(q *job.Query, j *job.Job) bool
}

var filterFields = map[string]filterField{
	"States": {
		func(_ *world, r *rapid.T, _ *model, q *job.Query) {
			q.States = rapid.SliceOfNDistinct(rapid.SampledFrom(allStates), 0, 4, rapid.ID).Draw(r, "states")
		},
		func(q *job.Query, j *job.Job) bool { return len(q.States) == 0 || slices.Contains(q.States, j.State) },
	},
	"Schedule": {
		func(_ *world, r *rapid.T, m *model, q *job.Query) {
			if seldom(r, "by schedule") {
				q.Schedule = rapid.SampledFrom(m.schedules).Draw(r, "schedule").ID
			}
		},
		func(q *job.Query, j *job.Job) bool { return q.Schedule == uuid.Nil || q.Schedule == j.ScheduleID },
	},
	"Key": {
		func(_ *world, r *rapid.T, _ *model, q *job.Query) {
			if seldom(r, "by key") {
				key := rapid.SampledFrom([]string{"a", "b", "z"}).Draw(r, "key")
				q.Key = &key
			}
		},
		func(q *job.Query, j *job.Job) bool { return equals(q.Key, j.Key) },
	},
	"Tags": {
		func(_ *world, r *rapid.T, _ *model, q *job.Query) { q.Tags = drawTags(r) },
		func(q *job.Query, j *job.Job) bool { return hasTags(j.Args, q.Tags) },
	},
	"Host": {
		func(_ *world, r *rapid.T, _ *model, q *job.Query) {
			if seldom(r, "by host") {
				q.Host = rapid.SampledFrom([]string{"one.example", "two.example", "2001:db8::1", "one.exampl"}).Draw(r, "host")
			}
		},
		func(q *job.Query, j *job.Job) bool { return q.Host == "" || q.Host == job.LabelsOf(j.Args).Host },
	},
	"Name": {
		func(_ *world, r *rapid.T, _ *model, q *job.Query) {
			if seldom(r, "by name") {
				name := rapid.SampledFrom(append([]string{"repor"}, jobNames...)).Draw(r, "name")
				q.Name = &name
			}
		},
		func(q *job.Query, j *job.Job) bool { return equals(q.Name, j.Name) },
	},
	"Parent": {
		func(_ *world, r *rapid.T, _ *model, q *job.Query) {
			if seldom(r, "by parent") {
				q.Parent = rapid.SampledFrom(jobParents).Draw(r, "parent")
			}
		},
		func(q *job.Query, j *job.Job) bool { return q.Parent == 0 || q.Parent == j.Parent },
	},
	"Since": {
		func(w *world, r *rapid.T, _ *model, q *job.Query) { q.Since = w.drawSince(r, "since") },
		func(q *job.Query, j *job.Job) bool { return !j.InsertedAt.Before(q.Since) },
	},
	"Until": {
		func(w *world, r *rapid.T, _ *model, q *job.Query) { q.Until = w.drawSince(r, "until") },
		func(q *job.Query, j *job.Job) bool { return q.Until.IsZero() || j.InsertedAt.Before(q.Until) },
	},
}

// matches reports whether the filters of q select a job, whose owner is not compared.
func matches(q *job.Query, j *job.Job) bool {
	for _, f := range filterFields {
		if !f.selects(q, j) {
			return false
		}
	}
	return true
}

func seldom(r *rapid.T, what string) bool { return rapid.IntRange(0, 3).Draw(r, what) == 0 }

func drawTags(r *rapid.T) []string {
	if !seldom(r, "by tag") {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"b"}, jobTags...)), 1, 3, rapid.ID).Draw(r, "tags")
}

// drawFilters draws the filters of a query.
func (w *world) drawFilters(r *rapid.T, m *model) (q job.Query) {
	for _, name := range fieldsOf(filterFields) {
		filterFields[name].draw(w, r, m, &q)
	}
	return q
}

// filtersAllDrawn: a field that is added to JobQuery is compared with the model.
func filtersAllDrawn(w *world) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[job.Query]()) {
		if len(f.Index) == 1 && !f.Anonymous && filterFields[f.Name].draw == nil {
			w.Errorf("JobQuery.%s is not among filterFields: add it there", f.Name)
		}
	}
}

// filtersWalksEqualModel: the pages of a walk make up the whole list, however few
// positions each of them reads.
func filtersWalksEqualModel(w *world) {
	m := w.populate(120)
	w.check(func(r *rapid.T) {
		q := w.drawFilters(r, m)
		q.Limit = 1000
		owner := w.drawOwner(r)
		want := numbers(m.jobList(owner, q))
		q.Limit = rapid.IntRange(1, 50).Draw(r, "limit")
		look := rapid.SampledFrom([]int{1, 2, 7, 1000}).Draw(r, "look")
		found, _ := w.scan(q, owner, look, nil)
		if got := numbers(found); got != want {
			r.Errorf("the walk of %+v by %d:\n%s, want\n%s", q, look, got, want)
		}
	})
}

// filtersScansEqualModel: a search respects all filters.
func filtersScansEqualModel(w *world) {
	m := w.populate(120)
	odd := func(j *job.Job) bool { return j.Number%2 == 1 }
	w.check(func(r *rapid.T) {
		q := w.drawFilters(r, m)
		q.Limit = 1000
		owner := w.drawOwner(r)
		var want []*job.Job
		for _, j := range m.jobList(owner, q) {
			if odd(j) {
				want = append(want, j)
			}
		}
		q.Limit = rapid.IntRange(1, 50).Draw(r, "limit")
		look := rapid.SampledFrom([]int{1, 2, 7, 1000}).Draw(r, "look")
		found, _ := w.scan(q, owner, look, odd)
		if numbers(found) != numbers(want) {
			r.Errorf("the search of %+v by %d:\n%s, want\n%s", q, look, numbers(found), numbers(want))
		}
	})
}

func filtersCountsEqualModel(w *world) {
	m := w.populate(120)
	w.check(func(r *rapid.T) {
		q := w.drawFilters(r, m)
		q.Limit = 1000
		owner := w.drawOwner(r)
		want := tally(m.jobList(owner, q), owner)
		got, cut, err := w.s.JobTally(w.ctx, owner, q, 1000)
		if err != nil || cut {
			r.Fatalf("JobTally(%+v): cut %v, %v", q, cut, err)
		}
		for _, state := range allStates {
			if got[state] != want[state] {
				r.Errorf("JobTally(%+v): %d %s, want %d", q, got[state], state, want[state])
			}
		}
	})
}

// labelled returns a new job with tags.
func (w *world) labelled(tags ...string) store.NewJob {
	n := w.oneOff(w.owner, w.ahead())
	n.Job.Args = argsWith("example.com", tags...)
	return n
}

func argsWith(host string, tags ...string) rawjson.Value {
	var list []rawjson.Value
	for _, tag := range tags {
		list = append(list, rawjson.Quote(tag))
	}
	return rawjson.Value(fmt.Sprintf(`{"url":"https://%s/","tags":%s}`, host, rawjson.Array(list)))
}

func filtersCountsBounded(w *world) {
	for i := range 40 {
		w.insertOne(w.labelled([]string{"a", "b"}[i%2]))
	}
	got, cut, err := w.s.JobTally(w.ctx, w.owner, job.Query{Tags: []string{"a"}}, 20)
	if w.ok("JobTally", err); got[job.Available] != 20 || cut {
		w.Errorf("%d of 20, cut %v", got[job.Available], cut)
	}
	got, cut, err = w.s.JobTally(w.ctx, w.owner, job.Query{Tags: []string{"a"}}, 5)
	if w.ok("JobTally", err); got[job.Available] != 5 || !cut {
		w.Errorf("%d of up to 5, cut %v", got[job.Available], cut)
	}
	got, cut, err = w.s.JobTally(w.ctx, w.owner, job.Query{Tags: []string{"a", "b"}}, 5)
	if w.ok("JobTally", err); got[job.Available] != 0 || !cut {
		w.Errorf("%d with both tags, cut %v, want none and a cut", got[job.Available], cut)
	}
}

// filtersWalksBounded: two filters that exclude each other end a page after so
// many positions.
func filtersWalksBounded(w *world) {
	first := w.insertOne(w.labelled("a", "b"))
	for i := range 40 {
		w.insertOne(w.labelled([]string{"a", "b"}[i%2]))
	}
	q := job.Query{ListQuery: top, Tags: []string{"a", "b"}}
	page, next, err := w.s.JobScan(w.ctx, w.owner, q, 10, nil)
	if w.ok("JobScan", err); len(page) != 0 || next == 0 {
		w.Errorf("%d jobs, next %d, want an empty page that has a next", len(page), next)
	}
	found, pages := w.scan(q, w.owner, 10, nil)
	if len(found) != 1 || found[0].ID != first.ID || pages < 3 {
		w.Errorf("found %s on %d pages", show(found, showJob), pages)
	}
}

// filtersTimesReachFar: times that are far from those of all jobs, and from those
// of some.
func filtersTimesReachFar(w *world) {
	var all []*job.Job
	for i := range 8 {
		n := w.oneOff(w.owner, w.ahead())
		n.Job.InsertedAt = w.now.Add(time.Duration(i-8) * job.InsertWithin)
		n.Job.ID = job.NewID(n.Job.InsertedAt)
		all = append(all, w.insertOne(n))
	}
	for from := range all {
		for to := from; to < len(all); to++ {
			q := job.Query{ListQuery: top, Since: all[from].InsertedAt, Until: all[to].InsertedAt}
			var want []*job.Job
			for i := to - 1; i >= from; i-- {
				want = append(want, all[i])
			}
			found, _ := w.scan(q, w.owner, 1000, nil)
			w.same(fmt.Sprintf("from %d to %d", from, to), numbers(found), numbers(want))
		}
	}
	for _, q := range []job.Query{{Since: w.now.Add(time.Hour)}, {Until: w.now.Add(-time.Hour)}} {
		if q.Limit = 10; len(w.listJobs(w.owner, q)) != 0 {
			w.Errorf("%+v selects jobs", q)
		}
	}
}

// filtersCountsEndWithTheTimes: jobs before the times neither make counts uncertain nor
// have a page followed by another.
func filtersCountsEndWithTheTimes(w *world) {
	const before, within, limit = 20, 4, 6
	since := w.now.Add(-time.Second)
	var want []*job.Job
	for i := range before + within {
		n := w.labelled("a")
		if i < before {
			n.Job.InsertedAt = w.now.Add(-2*job.InsertWithin - time.Duration(before-i)*time.Second)
		} else {
			n.Job.InsertedAt = since
		}
		n.Job.ID = job.NewID(n.Job.InsertedAt)
		if j := w.insertOne(n); i >= before {
			want = append([]*job.Job{j}, want...)
		}
	}
	for _, q := range []job.Query{{Tags: []string{"a"}}, {Tags: []string{"a"}, States: []job.State{job.Available, job.Retryable}}, {}} {
		q.Since = since
		got, cut, err := w.s.JobTally(w.ctx, w.owner, q, limit)
		if w.ok("JobTally", err); got[job.Available] != within || cut {
			w.Errorf("%+v: %d, cut %v, want all %d", q, got[job.Available], cut, within)
		}
		q.Limit = 10
		page, next, err := w.s.JobScan(w.ctx, w.owner, q, limit+1, nil)
		if w.ok("JobScan", err); numbers(page) != numbers(want) || next != 0 {
			w.Errorf("%+v: %s, next %d, want %s and no next", q, numbers(page), next, numbers(want))
		}
	}
}

func filtersScansRefuseOrders(w *world) {
	for _, q := range []job.Query{{ListQuery: job.ListQuery{Limit: 5, Offset: 1}},
		{ListQuery: job.ListQuery{Limit: 5, Order: job.Order{Field: "id"}}}} {
		if _, _, err := w.s.JobScan(w.ctx, w.owner, q, 10, nil); !errors.Is(err, job.ErrUnsupported) {
			w.Errorf("JobScan(%+v): %v", q, err)
		}
		if _, _, err := w.s.JobTally(w.ctx, w.owner, q, 10); !errors.Is(err, job.ErrUnsupported) {
			w.Errorf("JobTally(%+v): %v", q, err)
		}
	}
}

// filtersFollowChanges: a job and a schedule that were edited are found under
// their new values only.
func filtersFollowChanges(w *world) {
	n := w.recurring(w.owner, w.ahead())
	n.Job.Args = argsWith("old.example", "old", "kept")
	n.Schedule.Args = n.Job.Args
	j := w.insertOne(n)
	w.change(j, func(m *store.Snapshot) *store.Changes {
		after, schedule, name := *m.Job, *m.Schedule, "new"
		after.Args, after.Name = argsWith("new.example", "kept", "new"), &name
		schedule.Args = after.Args
		return &store.Changes{Job: &after, Schedule: &schedule, UpdateDefinition: true}
	})
	name := "new"
	for _, c := range []struct {
		what  string
		query job.Query
		want  int
	}{
		{"the old tag", job.Query{Tags: []string{"old"}}, 0}, {"the kept tag", job.Query{Tags: []string{"kept"}}, 1},
		{"both tags", job.Query{Tags: []string{"kept", "new"}}, 1}, {"the old host", job.Query{Host: "old.example"}, 0},
		{"the new host", job.Query{Host: "new.example"}, 1}, {"the new name", job.Query{Name: &name}, 1},
	} {
		c.query.Limit = 10
		if got := len(w.listJobs(w.owner, c.query)); got != c.want {
			w.Errorf("%d jobs by %s, want %d", got, c.what, c.want)
		}
		if c.query.Host == "" && c.query.Name == nil {
			list, err := w.s.ScheduleList(w.ctx, w.owner, job.ScheduleQuery{ListQuery: top, Tags: c.query.Tags})
			if w.ok("ScheduleList", err); len(list) != c.want {
				w.Errorf("%d schedules by %s, want %d", len(list), c.what, c.want)
			}
		}
	}
	w.change(j, func(m *store.Snapshot) *store.Changes {
		after, schedule := *m.Job, *m.Schedule
		after.Args = argsWith("new.example")
		schedule.Args = after.Args
		return &store.Changes{Job: &after, Schedule: &schedule, UpdateDefinition: true}
	})
	if got := len(w.listJobs(w.owner, job.Query{ListQuery: top, Tags: []string{"kept"}})); got != 0 {
		w.Errorf("%d jobs by a tag that was removed", got)
	}
}

// filtersEndWithTheRecord: a tag of a deleted record is free for another one.
func filtersEndWithTheRecord(w *world) {
	j := w.insertOne(w.labelled("a"))
	w.change(j, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.Cancel(w.past())
		return &store.Changes{Job: &after}
	})
	n, err := w.s.JobPrune(w.ctx, w.now, store.PruneCursor{}, 10)
	if w.ok("JobPrune", err); n.Removed != 1 {
		w.Fatalf("%d jobs pruned", n.Removed)
	}
	q := job.Query{ListQuery: top, Tags: []string{"a"}}
	if found, next, err := w.s.JobScan(w.ctx, w.owner, q, 1, nil); err != nil || len(found) != 0 || next != 0 {
		w.Errorf("a tag of a deleted job: %s, next %d, %v", show(found, showJob), next, err)
	}
}

func filtersOfOthers(w *world) {
	w.insertOne(w.labelled("a"))
	for _, q := range []job.Query{{Tags: []string{"a"}}, {Host: "example.com"}, {Tags: []string{"a"}, Host: "example.com"}} {
		q.Limit = 10
		if n := len(w.listJobs(w.other, q)); n != 0 {
			w.Errorf("%+v selects %d jobs of another account", q, n)
		}
		if found, _, err := w.s.JobScan(w.ctx, w.other, q, 100, nil); err != nil || len(found) != 0 {
			w.Errorf("%+v: %d jobs of another account, %v", q, len(found), err)
		}
	}
	if n := len(w.listJobs(w.owner, job.Query{ListQuery: top, Schedule: uuid.New(), Tags: []string{"a"}})); n != 0 {
		w.Errorf("%d jobs of no schedule", n)
	}
}
