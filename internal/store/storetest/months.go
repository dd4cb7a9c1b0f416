package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var monthTests = group{
	"FindEndedRuns":         monthsFound,
	"FindBehindDeletedJobs": monthsFoundBehind,
	"ReadRunsOnce":          monthsRead,
	"CountOnce":             monthsOnce,
	"KeepTheirMark":         monthsMark,
	"DeletedWithSchedules":  monthsDropped,
	"DeletedWithTheirOwner": monthsPurged,
	"PrunedByMonth":         monthsPruned,
}

// runs stores a schedule whose first runs have completed and whose last one is pending, and
// returns the runs.
func (w *world) runs(owner job.Owner, completed int) []*job.Job {
	w.Helper()
	n := w.recurring(owner, w.past())
	all := []*job.Job{w.insertOne(n)}
	for range completed {
		last := all[len(all)-1]
		next := w.nextOf(n.Schedule, w.past())
		w.finish(w.end(last, w.begin(last), func(j *job.Job, c *store.Changes) {
			w.completes(j, c)
			c.Next = next
			skipped := w.log(last, job.EventSkipped, w.now)
			skipped.Payload = rawjson.Value(`{"count":2,"from":"2026-01-01T00:00:00.000000Z","to":"2026-01-01T01:00:00.000000Z","reason":"down"}`)
			c.Logs = append(c.Logs, skipped)
		}))
		all = append(all, next.Job)
	}
	return all
}

func keyOf(j *job.Job) store.ScheduleKey {
	return store.ScheduleKey{Account: j.Owner.Number, Schedule: j.ScheduleID}
}

// monthsOf reads what is counted of schedules.
func (w *world) monthsOf(limit int, keys ...store.ScheduleKey) []store.RunMonths {
	w.Helper()
	found, err := w.s.MonthsRead(w.ctx, keys, limit)
	w.ok("MonthsRead", err)
	return found
}

// countMonth stores a row through a run.
func (w *world) countMonth(before int64, through *job.Job, month int64, counts string) {
	w.Helper()
	m := &store.ScheduleMonth{ScheduleKey: keyOf(through), Month: month, Through: through.Number, Counts: []byte(counts)}
	w.ok("MonthsWrite", w.s.MonthsWrite(w.ctx, []store.MonthsChange{{ScheduleKey: keyOf(through), Through: before,
		Months: []*store.ScheduleMonth{m}}}))
}

// wantMonths compares the rows of a schedule.
func (w *world) wantMonths(key store.ScheduleKey, want string) {
	w.Helper()
	page, err := w.s.MonthsPage(w.ctx, key.Account, uuid.UUID{}, 0, 100)
	w.ok("MonthsPage", err)
	var rows []string
	for _, m := range page {
		if m.ScheduleKey == key {
			rows = append(rows, fmt.Sprintf("%d=%s", m.Month, m.Counts))
		}
	}
	w.same("the months", strings.Join(rows, " "), want)
}

func monthsFound(w *world) {
	mine, theirs := w.runs(w.owner, 2), w.runs(w.other, 1)
	one := w.insertOne(w.oneOff(w.owner, w.past()))
	w.finish(w.end(one, w.begin(one), w.completes))
	seen := map[store.ScheduleKey]int{}
	mark, jobs := store.PruneCursor{}, 0
	for more := true; more; jobs++ {
		ended, err := w.s.MonthsEnded(w.ctx, mark, w.s.Now().Add(time.Minute), 1)
		w.ok("MonthsEnded", err)
		for _, key := range ended.Keys {
			seen[key]++
		}
		if mark = ended.Next; jobs > 10 {
			w.Fatalf("the search does not end: %+v", mark)
		}
		more = ended.More
	}
	w.same("the schedules", fmt.Sprint(seen), fmt.Sprint(map[store.ScheduleKey]int{keyOf(mine[0]): 2, keyOf(theirs[0]): 1}))
	w.same("the reads", fmt.Sprint(jobs), "5") // four, and that there are no more
	ended, err := w.s.MonthsEnded(w.ctx, store.PruneCursor{}, w.now.Add(-time.Hour), 10)
	if err != nil || len(ended.Keys) != 0 || ended.More {
		w.Errorf("before any ended: %+v, %v", ended, err)
	}
	ended, err = w.s.MonthsEnded(w.ctx, store.PruneCursor{}, w.s.Now().Add(time.Minute), 10)
	if err != nil || len(ended.Keys) != 2 || ended.More || ended.Next != mark {
		w.Errorf("all at once: %+v, %v, want the mark %+v", ended, err, mark)
	}
}

// monthsFoundBehind: the mark holds although jobs before it are deleted.
func monthsFoundBehind(w *world) {
	mine, theirs := w.runs(w.owner, 1), w.runs(w.other, 1)
	find := func(after store.PruneCursor, want *job.Job) store.PruneCursor {
		w.Helper()
		ended, err := w.s.MonthsEnded(w.ctx, after, w.s.Now().Add(time.Minute), 1)
		if err != nil || len(ended.Keys) != 1 || ended.Keys[0] != keyOf(want) || ended.Next.Number != want.Number {
			w.Errorf("behind %+v: %+v, %v, want %+v", after, ended, err, keyOf(want))
		}
		return ended.Next
	}
	mark := find(store.PruneCursor{}, mine[0])
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.s.Now()))
	w.purge(w.s.Now().Add(time.Minute), 10)
	find(mark, theirs[0])
}

func monthsRead(w *world) {
	mine, theirs := w.runs(w.owner, 3), w.runs(w.other, 1)
	found := w.monthsOf(2, keyOf(mine[0]), store.ScheduleKey{Account: w.other.Number, Schedule: mine[0].ScheduleID},
		store.ScheduleKey{Account: w.owner.Number, Schedule: uuid.New()}, keyOf(theirs[0]))
	if len(found) != 2 || found[0].ScheduleKey != keyOf(mine[0]) || found[1].ScheduleKey != keyOf(theirs[0]) {
		w.Fatalf("read %+v", found)
	}
	if f := found[0]; len(f.Runs) != 2 || !f.More || f.Through != 0 || !f.Created.Equal(w.schedule(w.owner, f.Schedule).InsertedAt) {
		w.Errorf("the first runs are %+v", f)
	}
	run := found[0].Runs[0]
	if run.Number != mine[0].Number || run.State != job.Completed || !run.EndedAt.Equal(w.now) || run.AttemptedAt.IsZero() ||
		!run.ScheduledAt.Equal(mine[0].ScheduledAt) || !run.InsertedAt.Equal(mine[0].InsertedAt) || run.Requests != 1 || run.FirstAt.IsZero() ||
		len(run.Skips) != 1 || rawjson.Text(rawjson.Get(run.Skips[0], "reason")) != "down" {
		w.Errorf("the first run is %+v", run)
	}
	if f := found[1]; len(f.Runs) != 1 || f.More {
		w.Errorf("the runs of the other account are %+v", f)
	}
	one, err := w.s.MonthsOf(w.ctx, keyOf(mine[0]), 2)
	if w.ok("MonthsOf", err); len(one.Runs) != 2 || !one.More || one.Runs[0].Number != mine[0].Number {
		w.Errorf("the runs of one schedule are %+v", one)
	}
	_, err = w.s.MonthsOf(w.ctx, store.ScheduleKey{Account: w.other.Number, Schedule: mine[0].ScheduleID}, 2)
	w.wantCode("another account's schedule", err, fault.NotFound)
	w.countMonth(0, mine[1], 5, "a")
	if f := w.monthsOf(2, keyOf(mine[0]))[0]; len(f.Runs) != 1 || f.Runs[0].Number != mine[2].Number || f.More || len(f.Months) != 1 ||
		f.Through != mine[1].Number {
		w.Errorf("the rest is %+v", f)
	}
}

// monthsOnce: of two that count the same runs, one stores its counts.
func monthsOnce(w *world) {
	mine := w.runs(w.owner, 2)
	w.countMonth(0, mine[0], 5, "a")
	w.countMonth(0, mine[1], 5, "b")
	w.wantMonths(keyOf(mine[0]), "5=a")
	w.countMonth(mine[0].Number, mine[1], 5, "b")
	w.countMonth(mine[0].Number, mine[1], 6, "c")
	w.wantMonths(keyOf(mine[0]), "5=b")
	w.ok("MonthsCopy", w.s.MonthsCopy(w.ctx, []*store.ScheduleMonth{
		{ScheduleKey: keyOf(mine[0]), Month: 5, Counts: []byte("x")}, {ScheduleKey: keyOf(mine[0]), Month: 4, Counts: []byte("y")}}))
	w.wantMonths(keyOf(mine[0]), "4=y 5=b")
	page, err := w.s.MonthsPage(w.ctx, w.owner.Number, mine[0].ScheduleID, 4, 10)
	if err != nil || len(page) != 1 || page[0].Month != 5 || page[0].Through != mine[1].Number {
		w.Errorf("the page behind a row is %+v, %v", page, err)
	}
}

func monthsMark(w *world) {
	want := func(want store.PruneCursor) {
		w.Helper()
		got, err := w.s.MonthsCursor(w.ctx)
		if err != nil || !got.At.Equal(want.At) || got.Number != want.Number {
			w.Errorf("the mark is %+v, %v, want %+v", got, err, want)
		}
	}
	later := store.PruneCursor{At: w.now, Number: 2}
	w.ok("MonthsCursorPut", w.s.MonthsCursorPut(w.ctx, later))
	want(later)
	for _, earlier := range []store.PruneCursor{{At: w.now.Add(-1000), Number: 9}, {At: w.now, Number: 1}} {
		w.ok("MonthsCursorPut", w.s.MonthsCursorPut(w.ctx, earlier))
		want(later)
	}
}

func monthsDropped(w *world) {
	mine, theirs := w.runs(w.owner, 1), w.runs(w.other, 1)
	w.countMonth(0, mine[0], 5, "a")
	w.countMonth(0, theirs[0], 5, "x")
	w.drop(w.schedule(w.owner, mine[0].ScheduleID))
	w.wantMonths(keyOf(mine[0]), "")
	w.countMonth(0, mine[0], 5, "late")
	w.wantMonths(keyOf(mine[0]), "")
	w.wantMonths(keyOf(theirs[0]), "5=x")
}

func monthsPurged(w *world) {
	mine, theirs := w.runs(w.owner, 1), w.runs(w.other, 1)
	w.countMonth(0, mine[0], 5, "a")
	w.countMonth(0, theirs[0], 5, "x")
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.s.Now()))
	w.purge(w.s.Now().Add(time.Minute), 10)
	w.wantMonths(keyOf(mine[0]), "")
	w.wantMonths(keyOf(theirs[0]), "5=x")
}

func monthsPruned(w *world) {
	mine := w.runs(w.owner, 2)
	w.countMonth(0, mine[0], 5, "a")
	w.countMonth(mine[0].Number, mine[1], 6, "b")
	for _, want := range []int{1, 0} {
		if n, err := w.s.MonthsPrune(w.ctx, 6, 10); err != nil || n != want {
			w.Errorf("MonthsPrune: %d, %v, want %d", n, err, want)
		}
	}
	w.wantMonths(keyOf(mine[0]), "6=b")
}
