package storetest

import (
	"cmp"
	"slices"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var nodeTests = group{
	"AbandonedAreTakenUp": nodesAbandoned,
	"NoneAbandoned":       nodesNoneAbandoned,
	"Beat":                nodesHeartbeat,
	"Held":                nodesHeld,
	"HeldNoMore":          nodesHeldNoMore,
	"HeldOutdated":        nodesHeldOutdated,
	"FinishRedefines":     nodesFinishRedefines,
	"StoppedWithoutRuns":  nodesStopped,
}

func nodesAbandoned(w *world) {
	n := w.recurring(w.owner, w.past())
	stored := w.insert(n, w.oneOff(w.owner, w.past()), w.oneOff(w.other, w.past()))
	c := w.begin(stored[0])
	w.hold(stored[1])
	w.change(stored[2], func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Deliveries: []job.Delivery{w.callback(m.Job, 1, w.past())}}
	})
	delivery := w.peekKind(store.KindDelivery)[0]
	w.claim(store.Claim{QueueKey: delivery, Attempt: 1, StartAt: w.past()})
	w.replace()
	runs := w.abandoned()
	if len(runs) != 3 {
		w.Fatalf("%d items abandoned, want 3", len(runs))
	}
	slices.SortFunc(runs, func(a, b *store.QueueItem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Number, b.Number))
	})
	if a := runs[0]; showRef(a.QueueKey) != showRef(c.QueueKey) || a.Schedule == nil || a.Claim == nil || a.Attempt != 1 ||
		a.Claim.Attempt != 1 || !a.Claim.StartAt.Equal(c.StartAt) {
		w.Errorf("an abandoned item is %+v, claim %+v", a, a.Claim)
	}
	if few, err := w.s.QueueAbandoned(w.ctx, 2); err != nil || len(few) != 2 {
		w.Errorf("QueueAbandoned with limit 2 returned %d, %v", len(few), err)
	}
	w.reclaim(runs)
	if left, err := w.s.QueueAbandoned(w.ctx, 10); err != nil || len(left) != 0 {
		w.Errorf("%d items are still abandoned (%v)", len(left), err)
	}
	if len(w.peek()) != 4 {
		w.Errorf("the queue is %s, want three jobs and a delivery", show(w.peek(), showRef))
	}
}

// abandoned reads the runs whose node is gone.
func (w *world) abandoned() []*store.QueueItem {
	w.Helper()
	found, err := w.s.QueueAbandoned(w.ctx, 10)
	w.ok("QueueAbandoned", err)
	refs := make([]store.QueueKey, len(found))
	for i := range found {
		refs[i] = found[i].QueueKey
	}
	runs, err := w.s.QueueLoad(w.ctx, refs)
	w.ok("QueueLoad", err)
	for i, run := range runs {
		if run == nil || run.Claim == nil || run.Claim.Node != found[i].Node || run.Claim.Attempt != found[i].Attempt {
			w.Fatalf("the run of %+v is %+v", found[i], run)
		}
	}
	return runs
}

// reclaim puts abandoned items back into the queue, as interrupted.
func (w *world) reclaim(runs []*store.QueueItem) {
	w.Helper()
	var ends []store.Finish
	for _, run := range runs {
		f := store.Finish{QueueKey: run.QueueKey, Node: run.Claim.Node, Attempt: run.Claim.Attempt}
		if run.Kind == store.KindDelivery {
			f.Delivery = &store.DeliveryEnd{Again: w.now, Attempt: run.Claim.Attempt - 1}
		} else {
			f = w.end(run.Job, store.Claim{QueueKey: run.QueueKey, Attempt: run.Claim.Attempt, StartAt: run.Claim.StartAt},
				func(j *job.Job, c *store.Changes) {
					j.Retry(w.now)
					j.Attempt--
				})
			f.Node = run.Claim.Node
		}
		ends = append(ends, f)
	}
	w.finish(ends...)
}

func nodesNoneAbandoned(w *world) {
	w.begin(w.insertOne(w.oneOff(w.owner, w.past())))
	if runs, err := w.s.QueueAbandoned(w.ctx, 10); err != nil || len(runs) != 0 {
		w.Errorf("%d items abandoned (%v) while their node is there", len(runs), err)
	}
}

// nodesHeartbeat: a node that has just started is alive and holds its claims.
func nodesHeartbeat(w *world) {
	beat, err := w.s.NodeHeartbeat(w.ctx, w.node)
	if err != nil || beat.LeaseExpired || !slices.Contains(beat.Nodes, w.node) {
		w.Errorf("the first heartbeat returned %+v, %v", beat, err)
	}
	if !w.s.NodeHoldsLease(w.node) {
		w.Error("a node that lives is not certain of its claims")
	}
	node := w.replace()
	beat, err = w.s.NodeHeartbeat(w.ctx, node)
	if err != nil || beat.LeaseExpired || !slices.Contains(beat.Nodes, node) || len(beat.Nodes) != 1 {
		w.Errorf("after the first node has stopped the second one's heartbeat returned %+v, %v", beat, err)
	}
}

// wantHolding verifies which claims a node holds.
func (w *world) wantHolding(when string, node int64, claims []store.Claim, want ...store.ClaimStatus) {
	w.Helper()
	held, err := w.s.QueueHeld(w.ctx, node, claims)
	if err != nil || !slices.Equal(held, want) {
		w.Errorf("%s QueueHeld returned %v, %v, want %v", when, held, err, want)
	}
}

func nodesHeld(w *world) {
	jobs := w.pending(3, w.past())
	claims := []store.Claim{w.claimOf(jobs[0], w.past()), w.claimOf(jobs[1], w.ahead()), w.claimOf(jobs[2], w.past())}
	w.wantHolding("before", w.node, claims, store.NotHeld, store.NotHeld, store.NotHeld)
	w.claim(claims[:2]...)
	w.wantHolding("after two claims", w.node, claims, store.Held, store.Held, store.NotHeld)
	w.wantHolding("for another", w.node+1, claims, store.NotHeld, store.NotHeld, store.NotHeld)
	later := slices.Clone(claims)
	for i := range later {
		later[i].Attempt++
	}
	w.wantHolding("for another attempt", w.node, later, store.NotHeld, store.NotHeld, store.NotHeld)
	w.wantHolding("of none", w.node, nil)
}

func nodesHeldNoMore(w *world) {
	jobs := w.pending(4, w.past())
	var claims []store.Claim
	for _, j := range jobs {
		claims = append(claims, w.hold(j))
	}
	w.finish(w.end(jobs[0], claims[0], w.completes))
	w.change(jobs[1], cancel)
	w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, claims[2:3]))
	w.wantHolding("after finish, cancel and release", w.node, claims, store.NotHeld, store.NotHeld, store.NotHeld, store.Held)
	w.replace()
	w.wantHolding("after the node's end", w.node, claims[:3], store.NotHeld, store.NotHeld, store.NotHeld)
}

// nodesStopped: a node that has released all items leaves nothing abandoned.
func nodesStopped(w *world) {
	j := w.pending(1, w.past())[0]
	c := w.hold(j)
	w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{c}))
	w.replace()
	if runs, err := w.s.QueueAbandoned(w.ctx, 10); err != nil || len(runs) != 0 {
		w.Errorf("%d items abandoned, %v", len(runs), err)
	}
	if w.queued(j) == nil {
		w.Error("the released item is not in the queue")
	}
}

// nodesHeldOutdated: a claim of a run is held for its schedule as it was.
func nodesHeldOutdated(w *world) {
	for name, change := range map[string]func(s *job.Schedule) *store.Changes{
		"an edit": func(s *job.Schedule) *store.Changes {
			s.Revision++
			return &store.Changes{Schedule: s, UpdateDefinition: true}
		},
		"a disable": func(s *job.Schedule) *store.Changes {
			s.DisabledAt, s.Epoch = w.past(), s.Epoch+1
			return &store.Changes{Schedule: s}
		},
		"enabled again":    func(s *job.Schedule) *store.Changes { s.Epoch++; return &store.Changes{Schedule: s} },
		"a delete":         func(s *job.Schedule) *store.Changes { return &store.Changes{Schedule: s, DropSchedule: true} },
		"another's change": nil,
		"its new state": func(s *job.Schedule) *store.Changes {
			s.State = rawjson.Value(`{"x":1}`)
			return &store.Changes{Schedule: s}
		},
	} {
		mine, theirs := w.recurring(w.owner, w.past()), w.recurring(w.other, w.past())
		run := w.insertOne(mine)
		w.insertOne(theirs)
		claim := w.begin(run)
		claim.Schedule = store.ScheduleVersion{ID: mine.Schedule.ID, Revision: w.schedule(w.owner, mine.Schedule.ID).Revision}
		w.wantHolding("before "+name, w.node, []store.Claim{claim}, store.Held)
		owner, id, want := w.owner, mine.Schedule.ID, store.HeldOutdated
		apply := change
		switch name {
		case "another's change":
			owner, id, want = w.other, theirs.Schedule.ID, store.Held
			apply = func(s *job.Schedule) *store.Changes { s.Epoch++; return &store.Changes{Schedule: s} }
		case "its new state":
			want = store.Held
		}
		_, err := w.s.ScheduleChange(w.ctx, owner, id, func(m *store.Snapshot) *store.Changes {
			s := *m.Schedule
			return apply(&s)
		})
		w.ok("ScheduleChange", err)
		w.wantHolding("after "+name, w.node, []store.Claim{claim}, want)
		foreign := claim
		foreign.Account = w.other.Number
		if held, err := w.s.QueueHeld(w.ctx, w.node, []store.Claim{foreign}); err != nil || held[0] == store.Held && want != store.Held {
			w.Errorf("%s: of another account QueueHeld returned %v, %v", name, held, err)
		}
	}
}

// nodesFinishRedefines: the end of an attempt can change what its job requests.
func nodesFinishRedefines(w *world) {
	n := w.recurring(w.owner, w.past())
	run := w.insertOne(n)
	claim := w.begin(run)
	const args = `{"url":"https://other.example.com/x","tags":["t"],"method":"get","headers":{}}`
	lane := job.Lane("https://other.example.com")
	w.finish(store.Finish{QueueKey: claim.QueueKey, Node: w.node, Attempt: claim.Attempt, Job: run,
		Decide: func(m *store.Snapshot) *store.Changes {
			j := *run
			j.Args, j.Revision = rawjson.Value(args), j.Revision+1
			w.ok("Begin", j.Begin(w.past()))
			w.ok("Retry", j.Retry(m.Now))
			j.Attempt = 0
			return &store.Changes{
				Job: &j, UpdateDefinition: true, Lane: &lane, Revisions: []job.Revision{revision(j.ID, j.Owner, j.Revision, m.Now)},
			}
		}})
	got := w.get(run)
	if string(got.Args) != args || got.Revision != 2 || got.State != job.Retryable {
		w.Errorf("the run is %s with revision %d and %s", got.State, got.Revision, got.Args)
	}
	if refs := w.peek(); len(refs) != 1 || refs[0].Lane != lane || refs[0].Revision != 2 {
		w.Errorf("the queue has %+v, want one item with revision 2 in lane %d", refs, lane)
	}
}
