package storetest

import (
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

var orderedLimitTests = group{
	"RetryKeepsItsPlace":        orderedRetry,
	"EndedRetryFreesItsPlace":   orderedCancel,
	"StartsAreGrantedOneByOne":  orderedSerial,
	"OtherLimitHoldsTheOrder":   orderedTogether,
	"EarlierDueComesFirst":      orderedEdit,
	"InterruptedKeepsItsPlace":  orderedInterrupted,
	"FollowerWaitsOutsideOfIt":  orderedFollower,
	"OrderOfAccountsIsApart":    orderedApart,
	"PlacesBeyondParallelStart": orderedLowered,
}

// ordered defines the limit o of both accounts.
func (w *world) ordered(l limit.Limit) {
	w.Helper()
	l.Ordered = true
	for _, owner := range []job.Owner{w.owner, w.other} {
		_, err := w.s.LimitPut(w.ctx, owner, store.Limit{Key: "o", Limit: l}, store.PutAlways)
		w.ok("LimitPut", err)
	}
}

func (w *world) wantFirst(when string, j *job.Job) {
	w.Helper()
	want := int64(0)
	if j != nil {
		want = j.Number
	}
	use, err := w.s.LimitGet(w.ctx, w.owner, "o")
	w.ok("LimitGet", err)
	if use.First != want || !use.Ordered {
		w.Errorf("%s: the first is job %d (ordered: %v), want %d", when, use.First, use.Ordered, want)
	}
}

// three are three jobs of an ordered limit, of which the last is due first. It returns
// them in the order of their due times.
func (w *world) three() []*job.Job {
	jobs := w.insert(w.limited(w.past().Add(time.Second), "o"), w.limited(w.past().Add(2*time.Second), "o"), w.limited(w.past(), "o"))
	return []*job.Job{jobs[2], jobs[0], jobs[1]}
}

func orderedRetry(w *world) {
	w.ordered(limit.Limit{Parallel: 1})
	jobs := w.three()
	w.wantFirst("at first", jobs[0])
	w.pass("o")
	w.wantFirst("with one under way", jobs[1])
	first := w.get(jobs[0])
	w.finish(w.end(first, w.begin(first), w.retries(w.now.Add(30*time.Millisecond))))
	w.wantFirst("with a retry", jobs[0])
	use, err := w.s.LimitGet(w.ctx, w.owner, "o")
	if err != nil || !use.NextAt.IsZero() {
		w.Errorf("the next start is at %v (%v), want an unknown time", use.NextAt, err)
	}
	w.pass("o")
	w.wantDue("with a retry", jobs[0])
	again := w.get(jobs[0])
	c := w.begin(again)
	if passed := w.pass("o"); passed.Granted != 0 || !passed.Blocked {
		w.Errorf("while it is retried: %+v", passed)
	}
	w.finish(w.end(again, c, w.completes))
	w.pass("o")
	w.wantDue("when it is final", jobs[1])
}

func orderedCancel(w *world) {
	w.ordered(limit.Limit{Parallel: 1})
	jobs := w.three()
	w.pass("o")
	first := w.get(jobs[0])
	w.finish(w.end(first, w.begin(first), w.retries(w.ahead())))
	if passed := w.pass("o"); passed.Granted != 0 || !passed.Blocked {
		w.Errorf("while it waits for a retry: %+v", passed)
	}
	for _, j := range jobs[:2] {
		w.change(j, func(m *store.Snapshot) *store.Changes {
			cancelled := *m.Job
			cancelled.Cancel(m.Now)
			return &store.Changes{Job: &cancelled}
		})
	}
	w.pass("o")
	w.wantDue("when the first two were cancelled", jobs[2])
	w.wantFirst("when nothing waits", nil)
}

func orderedSerial(w *world) {
	w.ordered(limit.Limit{Calls: 10, Per: time.Minute, Parallel: 2})
	jobs := w.three()
	if passed := w.pass("o"); passed.Granted != 1 || !passed.Serial {
		w.Errorf("the first pass: %+v, want 1 granted", passed)
	}
	item := w.load(*w.queued(jobs[0]))
	if passed := w.pass("o"); passed.Granted != 0 || !passed.Blocked {
		w.Errorf("while its start is not known: %+v", passed)
	}
	started := store.LimitStart{Job: jobs[0].Number, Until: item.StartBy, At: item.Due}
	if passed := w.pass("o", started); passed.Granted != 1 {
		w.Errorf("when its start is known: %+v, want 1 granted", passed)
	}
	w.wantDue("with two at once", jobs[0], jobs[1])
	w.wantLimitUse("o", 1, 2)
	item = w.load(*w.queued(jobs[1]))
	w.pass("o", store.LimitStart{Job: jobs[1].Number, Until: item.StartBy, At: item.Due})
	w.wantDue("with as many as permitted", jobs[0], jobs[1])
}

func orderedTogether(w *world) {
	w.ordered(limit.Limit{Parallel: 1})
	w.limit("r", limit.Limit{Paused: true})
	jobs := w.insert(w.limited(w.past(), "r", "o"), w.limited(w.past().Add(time.Second), "o"),
		w.limited(w.past().Add(2*time.Second), "r", "o"))
	for range 3 {
		w.pass("o")
		w.pass("r")
	}
	w.wantDue("while another limit holds the first")
	w.wantFirst("while another limit holds it", jobs[0])
	if holding, err := w.s.LimitsHolding(w.ctx, w.owner, w.get(jobs[0])); err != nil || !slices.Equal(holding, []string{"r"}) {
		w.Errorf("LimitsHolding: %v, %v, want r", holding, err)
	}
	w.limit("r", limit.Limit{})
	for _, j := range jobs {
		for range 2 {
			w.pass("r")
			w.pass("o")
		}
		w.wantDue("when the other limit is lifted", j)
		read := w.get(j)
		w.finish(w.end(read, w.begin(read), w.completes))
	}
}

func orderedEdit(w *world) {
	w.ordered(limit.Limit{Parallel: 1, Paused: true})
	jobs := w.three()
	w.change(jobs[2], func(m *store.Snapshot) *store.Changes {
		edited := *m.Job
		edited.ScheduledAt, edited.DueAt = w.past().Add(-time.Second), w.past().Add(-time.Second)
		return &store.Changes{Job: &edited, UpdateDefinition: true}
	})
	w.ordered(limit.Limit{Parallel: 1})
	w.pass("o")
	w.wantDue("after an edit", jobs[2])
}

func orderedInterrupted(w *world) {
	w.ordered(limit.Limit{Parallel: 1})
	jobs := w.three()
	w.pass("o")
	first := w.get(jobs[0])
	w.finish(w.end(first, w.begin(first), w.retries(w.now)))
	item := w.load(*w.queuedAfterPass(jobs[0]))
	w.ok("LimitHold", w.s.LimitHold(w.ctx, []store.HeldItem{{QueueKey: item.QueueKey, Keys: item.Limits, Named: item.Named}}))
	w.pass("o")
	w.wantDue("when it was held again", jobs[0])
}

// queuedAfterPass returns a job's queue item once the limit o has granted it.
func (w *world) queuedAfterPass(j *job.Job) *store.QueueKey {
	w.pass("o")
	return w.queued(j)
}

func orderedFollower(w *world) {
	w.ordered(limit.Limit{Parallel: 1, Paused: true})
	holder := w.create(w.replacement("k", 1)).Job
	read := w.get(holder)
	c := w.begin(read)
	w.create(w.limitedReplacement("k", 2, "o"))
	other := w.insertOne(w.limited(w.past().Add(time.Second), "o"))
	w.wantFirst("while one follows another job", other)
	w.ordered(limit.Limit{Parallel: 1})
	w.pass("o")
	w.wantDue("while one follows another job", other)
	w.finish(w.end(read, c, w.completes))
}

func orderedApart(w *world) {
	w.ordered(limit.Limit{Parallel: 1})
	theirs := w.limited(w.past().Add(-time.Hour), "o")
	theirs.Job.Owner = w.other
	w.insertOne(theirs)
	jobs := w.three()
	w.wantFirst("beside a job of another account", jobs[0])
	if passed := w.pass("o"); passed.Granted != 1 {
		w.Errorf("beside a job of another account: %+v, want 1 granted", passed)
	}
	w.wantDue("beside a job of another account", jobs[0])
}

func orderedLowered(w *world) {
	w.ordered(limit.Limit{Parallel: 2})
	jobs := w.three()
	for _, j := range jobs[:2] {
		w.pass("o")
		item := w.load(*w.queued(j))
		w.pass("o", store.LimitStart{Job: j.Number, Until: item.StartBy, At: item.Due})
	}
	for i, j := range jobs[:2] {
		read := w.get(j)
		w.finish(w.end(read, w.begin(read), w.retries(w.now.Add(time.Duration(i)*time.Microsecond))))
	}
	w.ordered(limit.Limit{Parallel: 1})
	w.pass("o")
	w.wantLimitUse("o", 2, 1)
	for _, j := range jobs[:2] {
		w.pass("o")
		read := w.get(j)
		w.finish(w.end(read, w.begin(read), w.completes))
	}
	w.pass("o")
	w.wantDue("when the first two are final", jobs[2])
}
