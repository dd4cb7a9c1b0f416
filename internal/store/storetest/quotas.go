package storetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var quotaTests = group{
	"LimitsReadBack":            quotaLimitsReadBack,
	"PendingIsExact":            quotaPendingExact,
	"PendingEndsMakeRoom":       quotaPendingEnds,
	"RunsOfSchedulesDontCount":  quotaScheduleRuns,
	"CountedWhenFirstLimited":   quotaCountedLate,
	"LimitsChange":              quotaLimitsChange,
	"AccountsAreApart":          quotaApart,
	"DuplicatesAtTheLimit":      quotaDuplicates,
	"RepeatsInABatchOverIt":     quotaRepeats,
	"SchedulesIncludeDisabled":  quotaSchedules,
	"FullAccounts":              quotaFull,
	"ConcurrentCreates":         quotaConcurrent,
	"UseIsCountedUpToALimit":    quotaUse,
	"UseAfterAccountsArePurged": quotaPurged,
	"BytesAddUp":                quotaBytes,
	"BytesOfAnotherAccount":     quotaBytesApart,
}

// capped returns a one-off job of an account with a limit of pending jobs.
func (w *world) capped(owner job.Owner, most int64) store.NewJob {
	n := w.oneOff(owner, w.ahead())
	n.Caps.Pending = most
	return n
}

// cappedSchedule returns a recurring job of an account with a limit of schedules.
func (w *world) cappedSchedule(most int64) store.NewJob {
	n := w.recurring(w.owner, w.ahead())
	n.Caps.Schedules = most
	return n
}

// outcomes inserts jobs in one call and returns the result of each.
func (w *world) outcomes(jobs ...store.NewJob) string {
	w.Helper()
	results, err := w.s.JobInsertMany(w.ctx, jobs)
	w.ok("JobInsertMany", err)
	var shown []string
	for _, r := range results {
		switch {
		case r.Over != store.QuotaNone && r.Job != nil:
			w.Errorf("a job over a limit has a record")
		case r.Over != store.QuotaNone:
			shown = append(shown, "over "+string(r.Over))
		case r.Conflict:
			shown = append(shown, "held")
		case r.Job.Number == 0:
			w.Errorf("a stored job has no number")
		default:
			shown = append(shown, "stored")
		}
	}
	return strings.Join(shown, ", ")
}

func (w *world) wantUse(pending, schedules int64) {
	w.Helper()
	got, err := w.s.AccountUse(w.ctx, w.owner.Number, 1000)
	w.ok("AccountUse", err)
	if want := (store.Use{Pending: pending, Schedules: schedules}); got != want {
		w.Errorf("in use are %+v, want %+v", got, want)
	}
}

func quotaLimitsReadBack(w *world) {
	show := func() string {
		a, err := w.s.AccountOf(w.ctx, w.owner.Number)
		w.ok("AccountOf", err)
		text := ""
		for _, n := range []*int64{a.Limits.Pending, a.Limits.Schedules, a.Limits.Stored} {
			if n == nil {
				text += "- "
			} else {
				text += fmt.Sprint(*n, " ")
			}
		}
		if a.Limits.Rate == nil {
			return text + "-"
		}
		return text + fmt.Sprint(*a.Limits.Rate)
	}
	w.same("the limits at first", show(), "- - - -")
	pending, schedules, stored, rate := int64(7), int64(0), int64(1<<40), 2.5
	w.ok("AccountLimit", w.s.AccountLimit(w.ctx, w.owner.Number,
		identity.Overrides{Pending: &pending, Schedules: &schedules, Stored: &stored, Rate: &rate}))
	w.same("the limits", show(), "7 0 1099511627776 2.5")
	w.ok("AccountLimit", w.s.AccountLimit(w.ctx, w.owner.Number, identity.Overrides{Stored: &stored}))
	w.same("the limits afterwards", show(), "- - 1099511627776 -")
	other, err := w.s.AccountOf(w.ctx, w.other.Number)
	if err != nil || other.Limits != (identity.Overrides{}) {
		w.Errorf("another's limits are %+v, %v", other.Limits, err)
	}
	w.wantCode("limits of nobody", w.s.AccountLimit(w.ctx, 1<<40, identity.Overrides{}), fault.NotFound)
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.wantCode("limits of a deleted account", w.s.AccountLimit(w.ctx, w.owner.Number, identity.Overrides{}), fault.NotFound)
}

func quotaPendingExact(w *world) {
	one := func() string { return w.outcomes(w.capped(w.owner, 3)) }
	w.same("the first", one(), "stored")
	w.same("a batch", w.outcomes(w.capped(w.owner, 3), w.capped(w.owner, 3), w.capped(w.owner, 3)), "stored, stored, over pending")
	w.same("one more", one(), "over pending")
	w.wantUse(3, 0)
	if n := len(w.listJobs(w.owner, job.Query{ListQuery: top})); n != 3 {
		w.Errorf("%d jobs are stored", n)
	}
}

// quotaPendingEnds: each end of a job, however it ends, makes room for one.
func quotaPendingEnds(w *world) {
	ends := map[string]func(*job.Job){
		"completed": func(j *job.Job) { w.settle(j, w.completes) },
		"discarded": func(j *job.Job) { w.settle(j, w.discards) },
		"cancelled": func(j *job.Job) { w.change(j, cancel) },
		"cancelled while under way": func(j *job.Job) {
			w.begin(j)
			w.change(j, cancel)
		},
	}
	for name, end := range ends {
		n := w.capped(w.owner, 1)
		w.same(name+": the first", w.outcomes(n), "stored")
		w.same(name+": another", w.outcomes(w.capped(w.owner, 1)), "over pending")
		w.finish(w.end(n.Job, w.begin(n.Job), w.retries(w.ahead())))
		w.same(name+": another while it is retried", w.outcomes(w.capped(w.owner, 1)), "over pending")
		again := w.get(n.Job)
		end(again)
		next := w.capped(w.owner, 1)
		w.same(name+": when it has ended", w.outcomes(next, w.capped(w.owner, 1)), "stored, over pending")
		end(next.Job)
		w.wantUse(0, 0)
	}
}

func quotaScheduleRuns(w *world) {
	n := w.recurring(w.owner, w.ahead())
	n.Caps.Pending = 1
	w.same("a schedule and a one-off", w.outcomes(n, w.capped(w.owner, 1)), "stored, stored")
	w.settle(n.Job, func(j *job.Job, c *store.Changes) {
		w.completes(j, c)
		c.Next = w.nextOf(n.Schedule, w.ahead())
	})
	w.wantUse(1, 1)
	w.same("another one-off", w.outcomes(w.capped(w.owner, 1)), "over pending")
}

// quotaCountedLate: jobs stored before the limit was set count.
func quotaCountedLate(w *world) {
	w.insert(w.oneOff(w.owner, w.ahead()), w.oneOff(w.owner, w.ahead()), w.recurring(w.owner, w.ahead()))
	w.endedAt(w.oneOff(w.owner, w.past()), job.Completed, w.past())
	w.same("creates", w.outcomes(w.capped(w.owner, 3), w.capped(w.owner, 3)), "stored, over pending")
	w.insertOne(w.oneOff(w.owner, w.ahead())) // without a limit
	w.wantUse(4, 1)
	w.same("one more", w.outcomes(w.capped(w.owner, 4)), "over pending")
}

func quotaLimitsChange(w *world) {
	w.same("under 2", w.outcomes(w.capped(w.owner, 2), w.capped(w.owner, 2), w.capped(w.owner, 2)), "stored, stored, over pending")
	w.same("under 4", w.outcomes(w.capped(w.owner, 4), w.capped(w.owner, 4), w.capped(w.owner, 4)), "stored, stored, over pending")
	w.same("under 3", w.outcomes(w.capped(w.owner, 3)), "over pending")
	w.same("without", w.outcomes(w.capped(w.owner, 0)), "stored")
	w.wantUse(5, 0)
}

func quotaApart(w *world) {
	w.same("of one and another", w.outcomes(w.capped(w.owner, 1), w.capped(w.other, 2), w.capped(w.owner, 1), w.capped(w.other, 2),
		w.capped(w.other, 2)),
		"stored, stored, over pending, stored, over pending")
}

func quotaDuplicates(w *world) {
	keyed := func(key string) store.NewJob {
		n := w.keyed(w.owner, key)
		n.Caps.Pending = 1
		return n
	}
	first := keyed("a")
	w.same("the first", w.outcomes(first), "stored")
	w.same("its duplicate, and another key", w.outcomes(keyed("a"), keyed("b")), "held, over pending")
	w.wantHeld(keyed("a"), first.Job)
	w.change(first.Job, cancel)
	w.same("when the key is free", w.outcomes(keyed("a"), keyed("a"), keyed("b")), "stored, held, over pending")
}

// quotaRepeats: if a job exceeds the limit, so does another one of the same call
// with its key.
func quotaRepeats(w *world) {
	n, m := w.keyed(w.owner, "a"), w.keyed(w.owner, "a")
	n.Caps.Pending, m.Caps.Pending = 1, 1
	w.same("creates", w.outcomes(w.capped(w.owner, 1), n, m), "stored, over pending, over pending")
}

func quotaSchedules(w *world) {
	n := w.cappedSchedule(2)
	w.same("schedules", w.outcomes(n, w.cappedSchedule(2), w.cappedSchedule(2)), "stored, stored, over schedules")
	w.changeSchedule(w.owner, n.Schedule.ID, func(s *job.Schedule) { s.DisabledAt = w.now })
	w.same("when one is disabled", w.outcomes(w.cappedSchedule(2)), "over schedules")
	w.wantUse(0, 2)
	w.drop(n.Schedule)
	w.same("when one is deleted", w.outcomes(w.cappedSchedule(2), w.cappedSchedule(2)), "stored, over schedules")
	if n := len(w.listSchedules(w.owner, top)); n != 2 {
		w.Errorf("%d schedules are stored", n)
	}
}

// quotaFull: duplicates are returned to an account that stores too many bytes.
func quotaFull(w *world) {
	full := func(n store.NewJob) store.NewJob {
		n.Caps = store.Caps{Pending: 5, Full: true}
		return n
	}
	first := w.keyed(w.owner, "a")
	first.Caps.Pending = 5
	w.same("before", w.outcomes(first), "stored")
	w.same("full", w.outcomes(full(w.oneOff(w.owner, w.ahead())), full(w.keyed(w.owner, "a")), full(w.recurring(w.owner, w.ahead()))),
		"over stored, held, over stored")
	w.same("full, another key", w.outcomes(full(w.keyed(w.owner, "b"))), "over stored")
	w.same("afterwards", w.outcomes(w.capped(w.owner, 5)), "stored")
	w.wantUse(2, 0)
}

// quotaConcurrent: simultaneous creates fill the limit exactly, also while jobs
// end.
func quotaConcurrent(w *world) {
	const most = 10
	stored := make([][]*job.Job, 8)
	var callers []func()
	for i := range stored {
		callers = append(callers, func() {
			for range 6 {
				results, err := w.s.JobInsertMany(w.ctx, []store.NewJob{w.capped(w.owner, most), w.capped(w.other, most)})
				if err != nil {
					w.Errorf("JobInsertMany: %v", err)
					return
				}
				if results[0].Job != nil {
					stored[i] = append(stored[i], results[0].Job)
				}
			}
		})
	}
	race(w.random(), callers...)
	var all []*job.Job
	for _, some := range stored {
		all = append(all, some...)
	}
	if len(all) != most {
		w.Fatalf("%d of 48 were stored, want %d", len(all), most)
	}
	var wg sync.WaitGroup
	for _, j := range all[:4] {
		wg.Go(func() { w.change(j, cancel) })
	}
	wg.Wait()
	again := make([]string, 6)
	for i := range again {
		wg.Go(func() { again[i] = w.outcomes(w.capped(w.owner, most)) })
	}
	wg.Wait()
	if n := strings.Count(strings.Join(again, " "), "stored"); n != 4 {
		w.Errorf("%d were stored in place of 4: %q", n, again)
	}
	w.wantUse(most, 0)
}

func quotaUse(w *world) {
	for range 5 {
		w.insert(w.oneOff(w.owner, w.ahead()), w.recurring(w.owner, w.ahead()))
	}
	for _, limited := range []bool{false, true} {
		got, err := w.s.AccountUse(w.ctx, w.owner.Number, 3)
		if want := (store.Use{Pending: 3, Schedules: 3}); err != nil || got != want {
			w.Errorf("limited %t: %+v, %v", limited, got, err)
		}
		w.wantUse(5, 5)
		w.outcomes(w.capped(w.owner, 5))
	}
}

func quotaPurged(w *world) {
	w.outcomes(w.capped(w.owner, 9), w.capped(w.owner, 9), w.cappedSchedule(9))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.purge(w.past(), 5)
	w.wantUse(0, 0)
}

// bytes returns the sum of the sizes of an account's records, read a few at a time.
func (w *world) bytes(owner job.Owner, rows int) (total int64) {
	w.Helper()
	mark := &store.ByteCursor{}
	for steps := 0; mark != nil; steps++ {
		n, next, err := w.s.AccountBytes(w.ctx, owner.Number, *mark, rows)
		w.ok("AccountBytes", err)
		if steps > 1000 {
			w.Fatal("AccountBytes does not end")
		}
		total, mark = total+n, next
	}
	return total
}

func quotaBytes(w *world) {
	want := int64(0)
	count := func(texts ...string) {
		for _, text := range texts {
			want += int64(len(text))
		}
	}
	var jobs []*job.Job
	for range 7 {
		n := w.oneOff(w.owner, w.past())
		count(string(n.Job.Args))
		for _, text := range []*string{n.Job.Name, n.Job.Description} {
			if text != nil {
				count(*text)
			}
		}
		jobs = append(jobs, w.insertOne(n))
	}
	d := w.callback(jobs[0], 1, w.past())
	w.send(jobs[0], d)
	count(string(d.Body))
	l := w.log(jobs[1], job.EventError, w.past())
	w.change(jobs[1], func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{l}} })
	count(string(l.Payload))
	for _, rows := range []int{1, 2, 3, 100} {
		if got := w.bytes(w.owner, rows); got != want {
			w.Errorf("%d rows at a time: %d bytes, want %d", rows, got, want)
		}
	}
	s := w.recurring(w.owner, w.past())
	w.insertOne(s)
	w.changeSchedule(w.owner, s.Schedule.ID, func(changed *job.Schedule) {
		changed.State, changed.Previous = []byte(`{"ä":1}`),
			[]byte(`[2]`)
	})
	more := int64(len(s.Job.Args)+len(s.Schedule.Args)) + 8 + 3
	for _, text := range []*string{s.Job.Name, s.Job.Description} {
		if text != nil {
			more += int64(len(*text))
		}
	}
	if got := w.bytes(w.owner, 3); got != want+more {
		w.Errorf("with a schedule: %d bytes, want %d", got, want+more)
	}
}

func quotaBytesApart(w *world) {
	w.clutter(w.other)
	if got := w.bytes(w.owner, 2); got != 0 {
		w.Errorf("%d bytes, want none", got)
	}
	if n, next, err := w.s.AccountBytes(w.ctx, 1<<40, store.ByteCursor{ID: uuid.Nil}, 5); n != 0 || next == nil || err != nil {
		w.Errorf("of nobody: %d, %v, %v", n, next, err)
	}
}
