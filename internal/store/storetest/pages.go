package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var pageTests = group{
	"JobsEndAtTheirBudget":      pagesOfJobs,
	"SchedulesEndAtTheirBudget": pagesOfSchedules,
	"LogsEndAtTheirBudget":      pagesOfLogs,
	"WalksEndAtTheirBudget":     pagesOfWalks,
	"ScansEndAtTheirBudget":     pagesOfScans,
	"CopiesEndAtTheirBudget":    pagesOfCopies,
}

// large returns a value of about the given size in bytes.
func large(size int) rawjson.Value {
	return rawjson.Value(`{"url":"` + target + `","body":"` + strings.Repeat("x", size) + `"}`)
}

// fit returns the expected page of a whole list with a budget: all records up to
// and including the first that exceeds it.
func fit[T any](all []T, budget int, size func(T) int) []T {
	sum := 0
	for i, r := range all {
		if sum += size(r); sum > budget {
			return all[:i+1]
		}
	}
	return all
}

func pagesOfJobs(w *world) {
	for i := range 12 {
		n := w.oneOff(w.owner, w.ahead())
		if i%2 == 0 {
			n = w.recurring(w.owner, w.ahead())
		}
		n.Job.Args = large(500 * (1 + i%3))
		w.insert(n)
	}
	for field := range jobFields {
		for _, order := range []job.Order{{}, {Field: field}, {Field: field, Desc: true}} {
			for _, budget := range []int{1, 600, 3000, 100_000} {
				for _, offset := range []int{0, 3} {
					q := job.Query{ListQuery: job.ListQuery{Limit: 11, Order: order, Offset: offset}}
					all := w.listJobs(w.owner, q)
					q.Bytes = budget
					what := fmt.Sprintf("jobs by %+v from %d within %d bytes", order, offset, budget)
					w.same(what, show(w.listJobs(w.owner, q), showJob), show(fit(all, budget, job.Size), showJob))
				}
			}
		}
	}
}

func pagesOfSchedules(w *world) {
	for i := range 8 {
		n := w.recurring(w.owner, w.ahead())
		n.Schedule.Args = large(500 * (1 + i%3))
		w.insert(n)
	}
	for field := range scheduleFields {
		for _, order := range []job.Order{{}, {Field: field}, {Field: field, Desc: true}} {
			for _, budget := range []int{1, 600, 3000, 100_000} {
				q := job.ListQuery{Limit: 7, Order: order}
				all := w.listSchedules(w.owner, q)
				q.Bytes = budget
				what := fmt.Sprintf("schedules by %+v within %d bytes", order, budget)
				w.same(what, show(w.listSchedules(w.owner, q), showSchedule), show(fit(all, budget, job.ScheduleSize), showSchedule))
			}
		}
	}
}

// storeLogs stores logs of runs of a schedule, including large ones.
func (w *world) storeLogs() (schedule uuid.UUID) {
	j := w.insertOne(w.recurring(w.owner, w.past()))
	for i := range 9 {
		l := w.log(j, events[i%len(events)], w.past().Add(time.Duration(i/2)*time.Microsecond))
		l.Payload = large(500 * (1 + i%3))
		w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{l}} })
	}
	return j.ScheduleID
}

func pagesOfLogs(w *world) {
	w.storeLogs()
	for field := range logFields {
		for _, order := range []job.Order{{}, {Field: field}, {Field: field, Desc: true}} {
			for _, budget := range []int{1, 600, 3000, 100_000} {
				q := job.LogQuery{ListQuery: job.ListQuery{Limit: 8, Order: order, Offset: 1}}
				all := w.listLogs(w.owner, q)
				q.Bytes = budget
				what := fmt.Sprintf("logs by %+v within %d bytes", order, budget)
				w.same(what, show(w.listLogs(w.owner, q), showLog), show(fit(all, budget, job.LogSize), showLog))
			}
		}
	}
}

// pagesOfWalks: logs that don't fit on a page of a walk come with the next one.
func pagesOfWalks(w *world) {
	schedule := w.storeLogs()
	all := w.listLogs(w.owner, job.LogQuery{ListQuery: top})
	for _, budget := range []int{1, 600, 3000, 100_000} {
		var walked []*job.Log
		for q := (job.LogQuery{ListQuery: job.ListQuery{Limit: 4, Bytes: budget}}); ; {
			walk, err := w.s.LogWalk(w.ctx, w.owner, schedule, q, 10)
			w.ok("LogWalk", err)
			if size := job.TotalSize(walk.Logs, job.LogSize); size > budget && len(walk.Logs) > 1 {
				w.Fatalf("%d bytes on a page of %d", size, budget)
			}
			walked = append(walked, walk.Logs...)
			if walk.Next == nil {
				break
			}
			q.After, q.AfterID = walk.Next.Run, walk.Next.ID
		}
		w.same(fmt.Sprintf("the walk by %d bytes", budget), show(walked, showLog), show(all, showLog))
	}
}

// pagesOfCopies: pages of a copy, one after the other, have each job of the account once,
// the newest first, whether another account has jobs between them or not.
func pagesOfCopies(w *world) {
	s, copied := w.s.(store.Copyable)
	if !copied {
		w.Skip("nothing is copied from a simulated database")
	}
	other := w.account("copied@example.com")
	for i := range 24 {
		n := w.oneOff(w.owner, w.ahead())
		if i >= 8 && i%8 > 0 {
			n = w.oneOff(other, w.ahead())
		}
		n.Job.Args = large(500 * (1 + i%3))
		j := w.insertOne(n)
		if i%4 == 0 {
			w.change(j, cancel)
		}
	}
	for _, owner := range []job.Owner{w.owner, other} {
		all := w.listJobs(owner, job.Query{ListQuery: top})
		for _, budget := range []int{1, 600, 3000, 100_000} {
			copied := []*job.Job{}
			for below := int64(0); ; {
				page, err := s.JobPage(w.ctx, owner, below, 4, budget)
				w.ok("JobPage", err)
				if len(page) == 0 {
					break
				}
				rest := all[len(copied):]
				w.same(fmt.Sprintf("the page within %d bytes", budget), show(page, showJob),
					show(fit(rest[:min(4, len(rest))], budget, job.Size), showJob))
				copied, below = append(copied, page...), page[len(page)-1].Number
			}
			w.same(fmt.Sprintf("the copy by %d bytes", budget), show(copied, showJob), show(all, showJob))
		}
	}
}

// pagesOfScans: the same applies to searches.
func pagesOfScans(w *world) {
	for i := range 9 {
		n := w.oneOff(w.owner, w.ahead())
		n.Job.Args = large(500 * (1 + i%3))
		w.insert(n)
	}
	all := w.listJobs(w.owner, job.Query{ListQuery: top})
	for _, budget := range []int{1, 600, 3000, 100_000} {
		q := job.Query{ListQuery: job.ListQuery{Limit: 4, Bytes: budget}}
		page, _, err := w.s.JobScan(w.ctx, w.owner, q, 100, func(*job.Job) bool { return true })
		w.ok("JobScan", err)
		if size := job.TotalSize(page, job.Size); size > budget && len(page) != 1 {
			w.Errorf("%d jobs of %d bytes on a page of %d", len(page), size, budget)
		}
		found, _ := w.scan(q, w.owner, 100, func(*job.Job) bool { return true })
		w.same(fmt.Sprintf("the scan by %d bytes", budget), show(found, showJob), show(all, showJob))
	}
}
