package postgres

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// operationOf is a call of the store and how many records it is about at most.
type operationOf struct {
	name string
	n    int
	run  func(*dealt) error
}

// The bounds of calls: of the API, of a claim, of a step of an operation, of a
// batch of the retention, and of a page.
const (
	callBound, claimBound, stepBound, pruneBound, pageBound = 1000, 128, 64, 200, 100
	// editBound is fewer than a call may edit, because each edit is a statement.
	editBound = 200
)

func (d *dealt) newJobs(count int, change func(i int, n *store.NewJob)) []store.NewJob {
	jobs := make([]store.NewJob, count)
	for i := range jobs {
		now := d.Now()
		jobs[i] = store.NewJob{Lane: 1, Job: &job.Job{
			ID: job.NewID(now), Owner: d.owner, InsertedAt: now, ScheduledAt: now.Add(time.Hour), DueAt: now.Add(time.Hour),
			State: job.Available,
			Args:  rawjson.Value(`{"url":"https://example.com/hook","tags":["a","c"]}`),
		}}
		if change != nil {
			change(i, &jobs[i])
		}
	}
	return jobs
}

func (d *dealt) insert(jobs []store.NewJob) error {
	_, err := d.JobInsertBatch(d.t.Context(), jobs, func([]store.Inserted) error { return nil })
	return err
}

// asSchedule makes a new job the first run of a new schedule.
func asSchedule(n *store.NewJob, key string) {
	n.Schedule = &job.Schedule{ID: job.NewID(n.Job.InsertedAt), Owner: n.Job.Owner, InsertedAt: n.Job.InsertedAt, FirstDue: n.Job.DueAt,
		Args: n.Job.Args, Key: &key}
	n.Job.ScheduleID, n.Job.Key = n.Schedule.ID, &key
}

// replace is a decision to replace the job that holds a key.
func replace(h *store.KeyHolders, n *job.Job) *store.Changes {
	j := *h.Job
	j.Revision++
	return &store.Changes{Job: &j, UpdateDefinition: true}
}

// cancelled is a decision to cancel a job.
func cancelled(m *store.Snapshot) *store.Changes {
	j := *m.Job
	j.Cancel(m.Now)
	return &store.Changes{Job: &j, EndCompletions: true, RollbackClaim: m.Claim != nil}
}

func (d *dealt) log(j *job.Job, event string) *job.Log {
	now := d.Now()
	return &job.Log{ID: job.NewID(now), Owner: d.owner, Job: j.Number, Event: event, InsertedAt: now, Payload: rawjson.Value(`{}`)}
}

func (d *dealt) event(j *job.Job) job.Delivery {
	return job.Delivery{
		MessageID: uuid.NewString(), Owner: d.owner, Job: j.Number, JobAttempt: 1, Channel: job.Webhook,
		URL: "https://example.com/", Event: "job.started", DueAt: d.Now(), Body: rawjson.Value(`{}`),
	}
}

func (d *dealt) claims(kind, from int) []store.Claim {
	jobs := d.jobs(kind, from, claimBound)
	claims := make([]store.Claim, len(jobs))
	for i, j := range jobs {
		at := d.Now()
		claims[i] = store.Claim{
			QueueKey: itemOf(j, 1), Attempt: 1, StartAt: at, Log: d.log(j, job.EventRequest), Deliveries: []job.Delivery{d.event(j)},
			Completion: &job.Completion{Token: job.TokenHash(append(make([]byte, 16), job.NewID(at).String()[20:36]...)), Owner: d.owner,
				Job: j.Number, Attempt: 1, StartedAt: at, HeardAt: at, Request: job.NewID(at)},
		}
	}
	return claims
}

// claim claims items that may be claimed already by a call without a response.
func (d *dealt) claim(claims []store.Claim) error {
	if err := d.QueueRelease(d.t.Context(), d.node, claims); err != nil {
		return err
	}
	got, err := d.QueueClaim(d.t.Context(), d.node, claims)
	for i := range got {
		if !got[i] {
			return fmt.Errorf("item %+v was not claimed", claims[i].QueueKey)
		}
	}
	return err
}

// finish claims items of jobs and ends them.
func (d *dealt) finish(kind, from int, decide store.Decide) error {
	claims := d.claims(kind, from)
	if err := d.claim(claims); err != nil {
		return err
	}
	jobs := d.jobs(kind, from, claimBound)
	d.take() // what follows is measured
	finishes := make([]store.Finish, len(claims))
	for i := range claims {
		finishes[i] = store.Finish{QueueKey: claims[i].QueueKey, Node: d.node, Attempt: 1, Job: jobs[i], Decide: decide, Completable: true}
	}
	held, err := d.QueueFinish(d.t.Context(), finishes)
	for i := range held {
		if !held[i] {
			d.t.Fatal("an item was not finished")
		}
	}
	return err
}

func (d *dealt) completed(m *store.Snapshot) *store.Changes {
	j := *m.Job
	j.State, j.CompletedAt = job.Completed, m.Now
	c := &store.Changes{
		Job: &j, EndCompletions: true, Completion: m.Completion, Logs: []job.Log{*d.log(&j, job.EventResponse)},
		Deliveries: []job.Delivery{d.event(&j), d.event(&j)},
		Outcomes: []store.AlertOutcome{{Owner: d.owner, Job: j.Number, Schedule: j.ScheduleID, Kind: store.AlertSucceeded, At: m.Now,
			Detail: rawjson.Value(`{}`)}},
	}
	if m.Schedule != nil {
		next := d.newJobs(1, nil)[0]
		next.Job.ScheduleID, next.Job.Key, next.Job.Runs = m.Schedule.ID, m.Schedule.Key, j.Runs+1
		c.Schedule, c.Next = m.Schedule, &next
	}
	return c
}

// months returns schedules whose runs are counted together.
func (d *dealt) months(from int) []store.ScheduleKey {
	d.t.Helper()
	ids := d.scheduleIDs(from, stepBound)
	d.take() // what follows is measured
	return column(ids, func(id *uuid.UUID) store.ScheduleKey {
		return store.ScheduleKey{Account: d.owner.Number, Schedule: *id}
	})
}

// countMonths counts runs of schedules.
func (d *dealt) countMonths() error {
	read, err := d.MonthsRead(d.t.Context(), d.months(1600), pageBound)
	if err != nil {
		return err
	}
	changes := make([]store.MonthsChange, len(read))
	for i := range read {
		of := &read[i]
		if len(of.Runs) == 0 {
			return fmt.Errorf("schedule %s has no runs to count", of.Schedule)
		}
		changes[i] = store.MonthsChange{ScheduleKey: of.ScheduleKey, Through: of.Through, Months: []*store.ScheduleMonth{
			{ScheduleKey: of.ScheduleKey, Month: 24322, Through: of.Through + 1, Counts: []byte{1}},
		}}
	}
	return d.MonthsWrite(d.t.Context(), changes)
}

// deliveryItems returns queue items of deliveries.
func (d *dealt) deliveryItems() (refs []store.QueueKey) {
	d.t.Helper()
	all, err := d.QueuePeek(d.t.Context(), store.QueueKey{Due: d.now.Add(59 * time.Minute)}, time.Time{}, 100_000)
	d.ok(err)
	for _, ref := range all {
		if ref.Kind == store.KindDelivery && ref.Account == d.owner.Number && ref.Number < 10_000_000 && len(refs) < claimBound {
			refs = append(refs, ref)
		}
	}
	d.take()
	return refs
}

func (d *dealt) finishDeliveries(again time.Time) error {
	refs := d.deliveryItems()
	claims := make([]store.Claim, len(refs))
	finishes := make([]store.Finish, len(refs))
	for i, ref := range refs {
		claims[i] = store.Claim{QueueKey: ref, Attempt: 1, StartAt: d.Now()}
		finishes[i] = store.Finish{QueueKey: ref, Node: d.node, Attempt: 1, Delivery: &store.DeliveryEnd{Again: again, Attempt: 1}}
	}
	if _, err := d.QueueLoad(d.t.Context(), refs); err != nil {
		return err
	}
	if err := d.claim(claims); err != nil {
		return err
	}
	_, err := d.QueueFinish(d.t.Context(), finishes)
	return err
}

func (d *dealt) putSchedules(keys []string, document string, decide func(i int, h *store.KeyHolder) *store.Changes) error {
	_, err := d.SchedulePut(d.t.Context(), d.owner, store.PutKeys{Keys: keys, Document: document},
		func(h *store.Holders) ([]*store.Changes, error) {
			changes := make([]*store.Changes, len(keys))
			for i := range keys {
				changes[i] = decide(i, &h.Keys[i])
			}
			return changes, nil
		})
	return err
}

// editSchedule is a decision to change a schedule and its next run.
func (d *dealt) editSchedule(_ int, h *store.KeyHolder) *store.Changes {
	s, j := *h.Schedule, *h.Job
	s.Revision++
	j.Revision++
	return &store.Changes{Schedule: &s, Job: &j, UpdateDefinition: true, Revisions: []job.Revision{
		{Record: s.ID, Owner: d.owner, Number: s.Revision, At: d.Now(), By: rawjson.Value(`{}`), Changes: rawjson.Value(`{}`)},
	}}
}

// step carries out a step of an operation on jobs.
func (d *dealt) step(numbers []int64, decide func(i int, m *store.Snapshot) (*store.Changes, job.Skip)) error {
	now := d.Now()
	o := &job.Operation{ID: job.NewID(now), Owner: d.owner, Action: job.CancelJobs, Filter: rawjson.Value(`{}`), InsertedAt: now,
		Matched: int64(len(numbers))}
	found := make([]int64, len(numbers))
	for i, n := range numbers {
		found[len(numbers)-1-i] = n
	}
	ctx := d.t.Context()
	if err := d.OperationInsert(ctx, o, found); err != nil {
		return err
	}
	lease := store.OperationLease{Holder: uuid.New(), Until: now.Add(time.Hour)}
	if _, err := d.OperationClaim(ctx, lease, 10); err != nil {
		return err
	}
	next, err := d.OperationNext(ctx, o, stepBound)
	if err != nil {
		return err
	}
	if _, err := d.JobErrorKinds(ctx, d.owner, next); err != nil {
		return err
	}
	if _, err := d.OperationApply(ctx, store.OperationStep{Operation: o, Lease: lease, Numbers: next, Begin: func() {},
		Decide: decide}); err != nil {
		return err
	}
	_, _, err = d.OperationStop(ctx, d.owner, o.ID)
	return err
}

// await stores jobs that wait for others, ends these and releases the others.
func (d *dealt) await() error {
	ctx := d.t.Context()
	awaited := d.newJobs(stepBound, nil)
	if err := d.insert(awaited); err != nil {
		return err
	}
	waiting := d.newJobs(stepBound, func(i int, n *store.NewJob) {
		n.Job.DueAt, n.Await = job.WaitingDue, &store.Await{Jobs: []job.AwaitedJob{{Number: awaited[i].Job.Number}}}
	})
	if err := d.insert(waiting); err != nil {
		return err
	}
	for _, n := range awaited {
		if _, err := d.WaitsOf(ctx, d.owner, n.Job.Number, pageBound); err != nil {
			return err
		}
		if _, err := d.JobChange(ctx, d.owner, job.Ref{Number: n.Job.Number}, cancelled); err != nil {
			return err
		}
	}
	if _, err := d.WaitPage(ctx, d.owner.Number, 0, 0, pageBound); err != nil {
		return err
	}
	if _, _, err := d.WaitSweep(ctx, store.WaitCursor{}, pageBound); err != nil {
		return err
	}
	for {
		account, err := d.WaitTurn(ctx, 0)
		if err != nil || account == 0 {
			return err
		}
		_, err = d.WaitApply(ctx, store.WaitStep{Account: account, Limit: store.MaxWaitLimit,
			Decide: func(_ *store.Released, m *store.Snapshot) *store.Changes {
				j := *m.Job
				j.DueAt = m.Now
				return &store.Changes{Job: &j}
			}})
		if err != nil {
			return err
		}
	}
}

// changing are the calls that create, edit and end jobs and schedules.
var changing = []operationOf{
	{"create jobs", callBound, func(d *dealt) error { return d.insert(d.newJobs(callBound, nil)) }},
	{"create jobs within limits", callBound, func(d *dealt) error {
		return d.insert(d.newJobs(callBound, func(_ int,
			n *store.NewJob) {
			n.Caps = store.Caps{Pending: 1_000_000, Schedules: 1_000_000}
		}))
	}},
	{"create jobs with names", 3 * callBound, func(d *dealt) error {
		return d.insert(d.newJobs(callBound, func(i int, n *store.NewJob) {
			n.Names = []store.Name{{Kind: store.NamesGroup, Name: "none"}, {Kind: store.NamesLimit, Name: keysOf("l-", i, 1)[0]},
				{Kind: store.NamesSecret, Name: keysOf("secret-", i, 1)[0]}}
		}))
	}},
	{"delete a group", 1, func(d *dealt) error {
		_, err := d.GroupPut(d.t.Context(), &job.Group{Account: d.owner.Number, Name: "none", Targets: rawjson.Value(`[]`)}, nil)
		if err != nil {
			return err
		}
		return d.GroupDelete(d.t.Context(), d.owner.Number, "none", nil)
	}},
	{"create jobs with keys", callBound, func(d *dealt) error {
		keys := keysOf("new-", 0, callBound)
		return d.insert(d.newJobs(callBound, func(i int, n *store.NewJob) { n.Job.Key = &keys[i] }))
	}},
	{"create jobs with taken keys", callBound, func(d *dealt) error {
		keys := append(keysOf("p-", 0, callBound/2), keysOf("s-", 0, callBound/2)...)
		return d.insert(d.newJobs(callBound, func(i int, n *store.NewJob) { n.Job.Key, n.KeyInHeader = &keys[i], true }))
	}},
	{"create jobs at the limit", callBound, func(d *dealt) error {
		keys := append(keysOf("p-", 0, callBound/2), keysOf("none-", 0, callBound/2)...)
		return d.insert(d.newJobs(callBound, func(i int, n *store.NewJob) { n.Job.Key, n.Caps = &keys[i], store.Caps{Pending: 10} }))
	}},
	{"replace jobs", editBound, func(d *dealt) error {
		keys := keysOf("p-", 0, editBound)
		return d.insert(d.newJobs(editBound, func(i int, n *store.NewJob) { n.Job.Key, n.Resolve = &keys[i], replace }))
	}},
	{"create jobs with limits", callBound, func(d *dealt) error {
		return d.insert(d.newJobs(callBound, func(_ int, n *store.NewJob) {
			n.Job.Args = rawjson.Value(`{"url":"https://example.com/hook","limits":["l-7","l-8"]}`)
		}))
	}},
	{"create schedules", callBound, func(d *dealt) error {
		keys := keysOf(fmt.Sprintf("created-%d-", d.tries), 0, callBound) // those of a call without a response may be stored
		return d.insert(d.newJobs(callBound, func(i int, n *store.NewJob) { asSchedule(n, keys[i]) }))
	}},
	{"put new schedules", callBound, func(d *dealt) error {
		keys := keysOf(fmt.Sprintf("put-%d-", d.tries), 0, callBound)
		jobs := d.newJobs(callBound, func(i int, n *store.NewJob) { asSchedule(n, keys[i]) })
		return d.putSchedules(keys, "", func(i int, _ *store.KeyHolder) *store.Changes { return &store.Changes{Next: &jobs[i]} })
	}},
	{"put schedules", editBound, func(d *dealt) error { return d.putSchedules(keysOf("s-", 0, editBound), "doc", d.editSchedule) }},
	{"drop schedules", editBound, func(d *dealt) error {
		return d.putSchedules(keysOf("s-", 0, editBound), "", func(_ int, h *store.KeyHolder) *store.Changes {
			c := cancelled(&h.Snapshot)
			c.Schedule, c.DropSchedule = h.Schedule, true
			return c
		})
	}},
	{"change a job", 1, func(d *dealt) error {
		_, err := d.JobChange(d.t.Context(), d.owner, job.Ref{Number: d.number(plainJobs, 900)}, cancelled)
		return err
	}},
	{"cancel a job that another follows", 1, func(d *dealt) error {
		_, err := d.JobChange(d.t.Context(), d.owner, job.Ref{Number: d.number(keyedJobs, 900)}, cancelled)
		return err
	}},
	{"change a schedule", 1, func(d *dealt) error {
		_, err := d.ScheduleChange(d.t.Context(), d.owner, d.scheduleIDs(1200, 1)[0], func(m *store.Snapshot) *store.Changes {
			c := cancelled(m)
			c.Schedule, c.UpdateDefinition = m.Schedule, true
			return c
		})
		return err
	}},
	{"operation that cancels", stepBound, func(d *dealt) error {
		return d.step(d.numbers(keyedJobs, 1000, stepBound),
			func(_ int, m *store.Snapshot) (*store.Changes, job.Skip) { return cancelled(m), "" })
	}},
	{"operation on runs", stepBound, func(d *dealt) error {
		return d.step(d.numbers(pendingRuns, 1100, stepBound),
			func(_ int, m *store.Snapshot) (*store.Changes, job.Skip) { return cancelled(m), "" })
	}},
	{"operation on final jobs", stepBound, func(d *dealt) error {
		return d.step(d.numbers(finalJobs, 0, stepBound), func(int, *store.Snapshot) (*store.Changes, job.Skip) { return nil, "" })
	}},
	{"jobs that wait for others", callBound, func(d *dealt) error { return d.await() }},
	{"search of an operation", callBound, func(d *dealt) error {
		_, _, err := d.JobNumbers(d.t.Context(), d.owner,
			job.Query{ListQuery: job.ListQuery{Limit: callBound}, Tags: []string{"a"}, States: []job.State{job.Available}}, 2*callBound)
		return err
	}},
}

// firing are the calls of the engine.
var firing = []operationOf{
	{"peek", callBound, func(d *dealt) error {
		_, err := d.QueuePeek(d.t.Context(), store.QueueKey{}, d.Now().Add(time.Minute), callBound)
		return err
	}},
	{"note suspects", claimBound, func(d *dealt) error {
		return d.SuspectNote(d.t.Context(), d.node, items(d.jobs(plainJobs, 0, claimBound)), false)
	}},
	{"clear suspects", claimBound, func(d *dealt) error { return d.SuspectClear(d.t.Context(), items(d.jobs(plainJobs, 0, claimBound))) }},
	{"load", claimBound, func(d *dealt) error {
		_, err := d.QueueLoad(d.t.Context(), append(items(d.jobs(plainJobs, 0, claimBound)),
			items(d.jobs(pendingRuns, 1300, claimBound))...))
		return err
	}},
	{"claim", claimBound, func(d *dealt) error { return d.claim(d.claims(plainJobs, 0)) }},
	{"held", claimBound, func(d *dealt) error {
		_, err := d.QueueHeld(d.t.Context(), d.node, d.claims(plainJobs, 0))
		return err
	}},
	{"release", claimBound, func(d *dealt) error { return d.QueueRelease(d.t.Context(), d.node, d.claims(plainJobs, 0)) }},
	{"finish", claimBound, func(d *dealt) error { return d.finish(plainJobs, 200, d.completed) }},
	{"finish runs", claimBound, func(d *dealt) error { return d.finish(pendingRuns, 1300, d.completed) }},
	{"finish jobs that others follow", claimBound, func(d *dealt) error { return d.finish(keyedJobs, 1200, d.completed) }},
	{"finish granted jobs", claimBound, func(d *dealt) error { return d.finish(limitedJobs, 1200, d.completed) }},
	{"deliver", claimBound, func(d *dealt) error { return d.finishDeliveries(time.Time{}) }},
	{"deliver again", claimBound, func(d *dealt) error { return d.finishDeliveries(d.Now()) }},
	{"move", claimBound, func(d *dealt) error {
		return d.QueueMove(d.t.Context(), items(d.jobs(plainJobs, 400, claimBound)), time.Second)
	}},
	{"abandoned", 1, func(d *dealt) error { _, err := d.QueueAbandoned(d.t.Context(), claimBound); return err }},
	{"suspects", pageBound, func(d *dealt) error { _, _, err := d.SuspectList(d.t.Context(), d.node, pageBound); return err }},
	{"complete", 1, func(d *dealt) error {
		tokens, err := d.CompletionsOverdue(d.t.Context(), 1)
		if err != nil {
			return err
		}
		a, err := d.CompletionGet(d.t.Context(), tokens[0])
		if err != nil {
			return err
		}
		_, err = d.CompletionChange(d.t.Context(), a.Completion, func(m *store.Snapshot) *store.Changes {
			c := d.completed(m)
			c.Completion = nil
			return c
		})
		return err
	}},
	{"await", claimBound, func(d *dealt) error {
		return d.finish(plainJobs, 600, func(m *store.Snapshot) *store.Changes {
			j := *m.Job
			return &store.Changes{Job: &j, Completion: m.Completion, Await: true}
		})
	}},
	{"overdue completions", pageBound, func(d *dealt) error { _, err := d.CompletionsOverdue(d.t.Context(), pageBound); return err }},
	{"hold for limits", claimBound, func(d *dealt) error {
		refs := items(d.jobs(plainJobs, 1000, claimBound))
		held := make([]store.HeldItem, len(refs))
		for i := range refs {
			held[i] = store.HeldItem{QueueKey: refs[i], Keys: []string{"l-1", "l-2"}, Named: 2}
		}
		return d.LimitHold(d.t.Context(), held)
	}},
	{"pass of a limit", pageBound, func(d *dealt) error {
		_, err := d.LimitPass(d.t.Context(), store.LimitPass{LimitKey: store.LimitKey{Account: d.owner.Number, Key: "l-0"},
			Ahead: time.Second, Grace: time.Second, Limit: pageBound})
		return err
	}},
	{"expire held items", pageBound, func(d *dealt) error {
		_, err := d.LimitExpire(d.t.Context(), pageBound)
		return err
	}},
	{"wakes of limits", pageBound, func(d *dealt) error { _, err := d.LimitWakes(d.t.Context(), d.Now(), pageBound); return err }},
	{"use of a limit", store.MaxLimitCount, func(d *dealt) error { _, err := d.LimitGet(d.t.Context(), d.owner, "l-0"); return err }},
	{"limits that hold a job", 2 * callBound, func(d *dealt) error {
		_, err := d.LimitsHolding(d.t.Context(), d.owner, d.jobs(limitedJobs, 5, 1)[0])
		return err
	}},
	{"delete a limit", 1, func(d *dealt) error { _, err := d.LimitDelete(d.t.Context(), d.owner, "l-9"); return err }},
	{"limits", pageBound, func(d *dealt) error { _, err := d.LimitList(d.t.Context(), d.owner, "", pageBound); return err }},
	{"named limits", pageBound, func(d *dealt) error {
		_, err := d.LimitsOf(d.t.Context(), d.owner, keysOf("l-", 0, pageBound))
		return err
	}},
	{"track alerts", 10 * store.MaxTracked, func(d *dealt) error {
		_, err := d.AlertTrack(d.t.Context(), d.owner.Number, items(d.jobs(pendingRuns, 1700, pageBound)),
			func(m *store.AlertSnapshot) *store.AlertChanges {
				c := &store.AlertChanges{States: m.States[:min(len(m.States), 100)]}
				for _, st := range m.States[len(c.States):] {
					c.Ended = append(c.Ended, st.AlertStateKey)
				}
				return c
			})
		return err
	}},
	{"pending alerts", pageBound, func(d *dealt) error { _, _, err := d.AlertsPending(d.t.Context(), pageBound); return err }},
}

// removing are the calls of the retention.
var removing = []operationOf{
	{"prune jobs", pruneBound, func(d *dealt) error {
		_, err := d.JobPrune(d.t.Context(), d.now.Add(time.Hour), store.PruneCursor{}, pruneBound)
		return err
	}},
	{"prune logs", pruneBound, func(d *dealt) error {
		_, err := d.LogPrune(d.t.Context(), d.now.Add(time.Hour), store.PruneCursor{}, pruneBound)
		return err
	}},
	{"prune operations", pruneBound, func(d *dealt) error { _, err := d.OperationPrune(d.t.Context(), d.now, pruneBound); return err }},
	{"prune statistics", pruneBound, func(d *dealt) error { _, err := d.StatsPrune(d.t.Context(), 10_000, pruneBound); return err }},
	{"prune months", pruneBound, func(d *dealt) error { _, err := d.MonthsPrune(d.t.Context(), 24312, pruneBound); return err }},
	{"prune months that are kept", 1, func(d *dealt) error { _, err := d.MonthsPrune(d.t.Context(), 24310, pruneBound); return err }},
	{"prune the audit log", pruneBound, func(d *dealt) error { _, err := d.AuditPrune(d.t.Context(), d.now, pruneBound); return err }},
	{"prune sessions", 2 * pruneBound, func(d *dealt) error { _, err := d.SessionPrune(d.t.Context(), d.now, pruneBound); return err }},
	{"audit", 1, func(d *dealt) error {
		now := d.Now()
		return d.AuditInsert(d.t.Context(), &identity.AuditEntry{ID: job.NewID(now), Account: d.owner.Number, InsertedAt: now, LastAt: now,
			Event: "sign_in", Count: 1})
	}},
}
