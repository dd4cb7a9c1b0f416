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

var searchTests = group{
	"ManyInTheOrderGiven": searchGetMany,
	"TallyEqualsModel":    searchTallyEqualsModel,
	"TallyIsBounded":      searchTallyBounded,
	"ScanEqualsModel":     searchScanEqualsModel,
	"ScanLooksAtSoMany":   searchScanBounded,
	"ScanStopsAtLarge":    searchScanLarge,
}

func searchGetMany(w *world) {
	a := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.ahead()))
	foreign := w.insertOne(w.oneOff(w.other, w.ahead()))
	w.begin(a[0])
	ids := []job.Ref{
		{Number: a[1].Number}, {UUID: a[0].ID}, {Number: foreign.Number}, {UUID: foreign.ID}, {Number: a[1].Number + 1000},
		{UUID: uuid.New()}, {Number: a[1].Number}, {Number: a[0].Number},
	}
	got, err := w.s.JobGetMany(w.ctx, w.owner, ids)
	w.ok("JobGetMany", err)
	if len(got) != len(ids) {
		w.Fatalf("%d results for %d ids", len(got), len(ids))
	}
	for i, want := range []*job.Job{a[1], a[0], nil, nil, nil, nil, a[1], a[0]} {
		if want != nil {
			want = w.get(want)
		}
		w.same(fmt.Sprintf("result %d", i), showJob(got[i]), showJob(want))
	}
	if none, err := w.s.JobGetMany(w.ctx, w.owner, nil); err != nil || len(none) != 0 {
		w.Errorf("no ids give %v, %v", none, err)
	}
}

func tally(jobs []*job.Job, owner job.Owner) map[job.State]int64 {
	counts := map[job.State]int64{}
	for _, j := range jobs {
		if j.Owner == owner {
			counts[j.State]++
		}
	}
	return counts
}

var allStates = []job.State{job.Available, job.Executing, job.Retryable, job.Completed, job.Cancelled, job.Discarded}

func searchTallyEqualsModel(w *world) {
	m := w.populate(150)
	for _, limit := range []int{1, 3, 1000} {
		for _, owner := range []job.Owner{w.owner, w.other} {
			got, _, err := w.s.JobTally(w.ctx, owner, job.Query{}, limit)
			w.ok("JobTally", err)
			want := tally(m.jobs, owner)
			for _, state := range allStates {
				if n := min(want[state], int64(limit)); got[state] != n {
					w.Errorf("%s: counted %d up to %d, want %d", state, got[state], limit, n)
				}
			}
		}
	}
}

// searchTallyBounded: executing jobs don't count as available, however many of
// either there are.
func searchTallyBounded(w *world) {
	for range 6 {
		w.begin(w.insertOne(w.oneOff(w.owner, w.past())))
		w.insertOne(w.oneOff(w.owner, w.ahead()))
	}
	for limit, want := range map[int]int64{4: 4, 6: 6, 7: 6} {
		got, _, err := w.s.JobTally(w.ctx, w.owner, job.Query{}, limit)
		w.ok("JobTally", err)
		if got[job.Available] != want || got[job.Executing] != want {
			w.Errorf("up to %d: %d available, %d executing, want %d of both", limit, got[job.Available], got[job.Executing], want)
		}
	}
}

// scan repeats a search to its end.
func (w *world) scan(q job.Query, owner job.Owner, look int, match func(*job.Job) bool) (found []*job.Job, pages int) {
	w.Helper()
	for {
		page, next, err := w.s.JobScan(w.ctx, owner, q, look, match)
		w.ok("JobScan", err)
		if len(page) > q.Limit {
			w.Fatalf("%d jobs on a page of %d", len(page), q.Limit)
		}
		found, pages = append(found, page...), pages+1
		if next == 0 {
			return found, pages
		}
		if q.After != 0 && next >= q.After {
			w.Fatalf("the walk goes back, from %d to %d", q.After, next)
		}
		q.After = next
	}
}

func searchScanEqualsModel(w *world) {
	m := w.populate(80)
	odd := func(j *job.Job) bool { return j.Number%2 == 1 && strings.Contains(string(j.Args), target) }
	for _, states := range [][]job.State{nil, {job.Available, job.Retryable}, {job.Executing}, {job.Completed}} {
		for _, look := range []int{1, 7, 1000} {
			var want []*job.Job
			for _, j := range m.jobList(w.owner, job.Query{ListQuery: job.ListQuery{Limit: 1000}, States: states}) {
				if odd(j) {
					want = append(want, j)
				}
			}
			got, _ := w.scan(job.Query{ListQuery: job.ListQuery{Limit: 3}, States: states}, w.owner, look, odd)
			w.same(fmt.Sprintf("the search of %v", states), show(got, showJob), show(want, showJob))
		}
	}
}

func searchScanBounded(w *world) {
	name := "the one"
	n := w.oneOff(w.owner, w.ahead())
	n.Job.Name = &name
	first := w.insertOne(n)
	for range 20 {
		w.insert(w.oneOff(w.owner, w.ahead()), w.oneOff(w.other, w.ahead()))
	}
	looked := 0
	named := func(j *job.Job) bool {
		looked++
		return j.Name != nil && *j.Name == name
	}
	page, next, err := w.s.JobScan(w.ctx, w.owner, job.Query{ListQuery: top}, 5, named)
	w.ok("JobScan", err)
	if len(page) != 0 || next == 0 || looked != 5 {
		w.Errorf("%d jobs, next %d after a look at %d, want an empty page that has a next", len(page), next, looked)
	}
	found, pages := w.scan(job.Query{ListQuery: top}, w.owner, 5, named)
	if len(found) != 1 || found[0].ID != first.ID || pages < 5 || pages > 6 {
		w.Errorf("found %s on %d pages", show(found, showJob), pages)
	}
}

// searchScanLarge: large jobs are read a few at a time.
func searchScanLarge(w *world) {
	large := rawjson.Value(`{"url":"` + target + `","body":"` + strings.Repeat("x", store.ScanBytes/2-100) + `"}`)
	for range 5 {
		n := w.oneOff(w.owner, w.now.Add(time.Hour))
		n.Job.Args = large
		w.insertOne(n)
	}
	found, pages := w.scan(job.Query{ListQuery: top}, w.owner, 1000, func(*job.Job) bool { return true })
	if len(found) != 5 || pages != 2 && pages != 3 {
		w.Errorf("%d jobs on %d pages, want 5 on 2 or 3", len(found), pages)
	}
}
