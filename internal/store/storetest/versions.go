package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var markTests = group{
	"MarksEqualRecords": marksEqualRecords,
	"OfSomeJobs":        versionsOfSome,
	"EndedSince":        marksEnded,
	"LogsByTheirIDs":    marksLogsByID,
}

// versionsOf returns the expected versions of jobs.
func versionsOf(jobs []*job.Job) (versions []store.JobVersion) {
	for _, j := range jobs {
		versions = append(versions, store.JobVersion{
			Number: j.Number, ID: j.ID, State: j.State, InsertedAt: j.InsertedAt, ScheduledAt: j.ScheduledAt, DueAt: j.DueAt,
			AttemptedAt: j.AttemptedAt, Size: len(j.Args),
		})
	}
	return versions
}

func marksEqualRecords(w *world) {
	m := w.populate(80)
	for _, owner := range []job.Owner{w.owner, w.other} {
		for _, limit := range []int{1, 7, 1000} {
			page := job.ListQuery{Limit: limit}
			jobs, err := w.s.JobVersions(w.ctx, owner, limit)
			w.ok("JobVersions", err)
			w.same("the versions of jobs", fmt.Sprint(jobs), fmt.Sprint(versionsOf(m.jobList(owner, job.Query{ListQuery: page}))))
			var want []store.LogVersion
			for _, l := range m.logList(owner, job.LogQuery{ListQuery: page}) {
				want = append(want, store.LogVersion{ID: l.ID, Job: l.Job, Size: len(l.Payload)})
			}
			logs, err := w.s.LogVersions(w.ctx, owner, limit)
			w.ok("LogVersions", err)
			w.same("the versions of logs", fmt.Sprint(logs), fmt.Sprint(want))
		}
	}
}

func versionsOfSome(w *world) {
	a := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.ahead()), w.oneOff(w.owner, w.ahead()))
	foreign := w.insertOne(w.oneOff(w.other, w.ahead()))
	w.begin(a[0])
	got, err := w.s.JobVersionsOf(w.ctx, w.owner, []job.Ref{
		{Number: a[0].Number}, {UUID: a[1].ID}, {Number: foreign.Number}, {UUID: foreign.ID}, {Number: a[2].Number + 1000},
		{UUID: uuid.New()},
	})
	w.ok("JobVersionsOf", err)
	slices.SortFunc(got, func(a, b store.JobVersion) int { return int(a.Number - b.Number) })
	w.same("the versions", fmt.Sprint(got), fmt.Sprint(versionsOf([]*job.Job{w.get(a[0]), w.get(a[1])})))
	if none, err := w.s.JobVersionsOf(w.ctx, w.owner, nil); err != nil || len(none) != 0 {
		w.Errorf("no ids give %v, %v", none, err)
	}
}

func marksLogsByID(w *world) {
	m := w.populate(30)
	mine := m.logList(w.owner, job.LogQuery{ListQuery: top})
	if len(mine) < 3 {
		w.begin(w.insertOne(w.oneOff(w.owner, w.past())))
		mine = w.listLogs(w.owner, job.LogQuery{ListQuery: top})
	}
	ids := []uuid.UUID{uuid.New()}
	for _, l := range m.logs { // others' are not given
		ids = append(ids, l.ID)
	}
	for _, l := range mine {
		ids = append(ids, l.ID)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	got, err := w.s.LogGetMany(w.ctx, w.owner, ids)
	w.ok("LogGetMany", err)
	slices.SortFunc(got, func(a, b *job.Log) int { return slices.Compare(b.ID[:], a.ID[:]) })
	w.same("the logs", show(got, showLog), show(mine, showLog))
}

func marksEnded(w *world) {
	j := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.ahead()),
		w.oneOff(w.other, w.ahead()))
	ends := func(at time.Time) store.Decide {
		return func(m *store.Snapshot) *store.Changes {
			after := *m.Job
			after.Cancel(at)
			return &store.Changes{Job: &after}
		}
	}
	at := func(seconds int) time.Time { return w.past().Add(time.Duration(seconds) * time.Second) }
	second, first, foreign := w.change(j[0], ends(at(2))), w.change(j[1], ends(at(1))), w.change(j[4], ends(at(3)))
	w.settle(j[2], w.completes)
	third := w.get(j[2])
	for name, x := range map[string]struct {
		owner job.Owner
		since time.Time
		limit int
		want  []*job.Job
	}{
		"all":         {w.owner, at(0), 10, []*job.Job{third, second, first}},
		"from on":     {w.owner, at(2), 10, []*job.Job{third, second}},
		"the latest":  {w.owner, at(0), 1, []*job.Job{third}},
		"nothing yet": {w.owner, w.ahead(), 10, nil},
		"another's":   {w.other, at(0), 10, []*job.Job{foreign}},
	} {
		got, err := w.s.JobVersionsEnded(w.ctx, x.owner, x.since, x.limit)
		w.ok("JobVersionsEnded", err)
		w.same(name, fmt.Sprint(got), fmt.Sprint(versionsOf(x.want)))
	}
}
