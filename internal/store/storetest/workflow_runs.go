package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

var workflowTests = group{
	"AreStored":        runsStored,
	"AreRefusedWhole":  runsRefused,
	"EndWithTheirJobs": runsEnd,
	"AreListed":        runsListed,
	"ArePruned":        runsPruned,
	"AreCopied":        runsCopied,
	"EndWithCallbacks": runsCallback,
	"Wait":             runsWait,
	"HaveWebhooks":     runsHooks,
	"TellInvokers":     runsTell,
}

// runJob returns the job of a message of a run.
func (w *world) runJob(owner job.Owner, run, step string) store.NewJob {
	n := w.oneOff(owner, w.past())
	d := job.Dialect{API: job.DialectQStash, Run: run, Step: step}
	n.Job.Args = rawjson.Object([]rawjson.Member{{Name: "url", Value: rawjson.Value(`"https://example.com/"`)},
		{Name: "dialect", Value: d.Value()}})
	return n
}

func accepted([]store.Inserted) error { return nil }

// startRun stores a run with its first step.
func (w *world) startRun(owner job.Owner, id string) *job.Job {
	w.Helper()
	write := &store.RunWrite{
		Account: owner.Number, Runs: []string{id}, Creates: true, Jobs: []store.NewJob{w.runJob(owner, id, "init")}, Accept: accepted,
	}
	write.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		r := &workflow.Run{Account: owner.Number, ID: id, URL: "https://example.com/", CreatedAt: m.Now, Template: rawjson.Value(`{}`),
			Lazy: true}
		first := &workflow.Step{Kind: workflow.Initial, Concurrent: 1, Name: "init", Type: "Initial", Body: []byte{0, 1, 0xff},
			CreatedAt: m.Now, Message: write.Jobs[0].Job.ID}
		if m.Runs[id] != nil {
			return nil, nil
		}
		return &store.RunChanges{Jobs: []int{0}, New: []*workflow.Run{r}, Steps: []*workflow.Step{first}}, workflow.Start(r, first, m.Live)
	}
	stored, err := w.s.RunApply(w.ctx, write)
	w.ok("RunApply", err)
	if len(stored) == 0 {
		return nil
	}
	return stored[0].Job
}

// appendStep stores a result of a step.
func (w *world) appendStep(owner job.Owner, id string, number int, refuse error) (*job.Job, error) {
	w.Helper()
	step := &workflow.Step{Run: id, Kind: workflow.Result, Number: number, Concurrent: 1, Name: fmt.Sprint("step ", number), Type: "Run",
		Body: []byte(`{"out":"1"}`)}
	write := &store.RunWrite{
		Account: owner.Number, Runs: []string{id}, Keys: []workflow.Key{step.Key()},
		Jobs:   []store.NewJob{w.runJob(owner, id, step.Key().Text())},
		Accept: func([]store.Inserted) error { return refuse },
	}
	write.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		if m.Runs[id] == nil {
			return nil, workflow.NoRun(id)
		}
		one := *step
		one.CreatedAt, one.Message = m.Now, write.Jobs[0].Job.ID
		added, settled, err := workflow.Append(m.Runs[id], []*workflow.Step{&one}, m.Steps)
		if err != nil || len(added) == 0 {
			return nil, err
		}
		return &store.RunChanges{Jobs: []int{0}, Changed: []*workflow.Run{m.Runs[id]}, Steps: added, Settled: settled}, nil
	}
	stored, err := w.s.RunApply(w.ctx, write)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	return stored[0].Job, nil
}

func (w *world) run(owner job.Owner, id string) *workflow.Run {
	w.Helper()
	r, err := w.s.RunGet(w.ctx, owner.Number, id)
	w.ok("RunGet", err)
	return r
}

func runsStored(w *world) {
	for _, owner := range []job.Owner{w.owner, w.other} { // with the same ids
		w.startRun(owner, "wfr_a")
	}
	if again := w.startRun(w.owner, "wfr_a"); again != nil {
		w.Errorf("a run was started twice: %+v", again)
	}
	j, err := w.appendStep(w.owner, "wfr_a", 1, nil)
	w.ok("appending", err)
	if again, err := w.appendStep(w.owner, "wfr_a", 1, nil); err != nil || again != nil {
		w.Errorf("a duplicate: %+v, %v", again, err)
	}
	_, err = w.appendStep(w.owner, "wfr_none", 1, nil)
	w.wantCode("appending to no run", err, fault.NotFound)
	_, err = w.s.RunGet(w.ctx, w.other.Number, "wfr_b")
	w.wantCode("RunGet", err, fault.NotFound)
	mine, theirs := w.run(w.owner, "wfr_a"), w.run(w.other, "wfr_a")
	if mine.Rows != 2 || mine.Open != 2 || mine.Floor != 1 || !mine.Lazy || mine.State != workflow.Started || theirs.Rows != 1 {
		w.Errorf("the runs are %+v and %+v", mine, theirs)
	}
	steps, err := w.s.RunSteps(w.ctx, w.owner.Number, "wfr_a", 0, 10, 5)
	w.ok("RunSteps", err)
	if len(steps) != 1 || string(steps[0].Body) != "\x00\x01\xff" {
		w.Errorf("the steps within the bytes: %+v", steps)
	}
	steps, err = w.s.RunSteps(w.ctx, w.owner.Number, "wfr_a", 1, 10, workflow.NoBodies)
	w.ok("RunSteps", err)
	if len(steps) != 1 || steps[0].Position != 1 || steps[0].Number != 1 || steps[0].Body != nil {
		w.Errorf("the steps without bodies: %+v", steps)
	}
	m, err := w.s.RunMessage(w.ctx, w.owner.Number, workflow.Key{Run: "wfr_a", Kind: workflow.Result, Number: 1}, 1000)
	w.ok("RunMessage", err)
	if m.Run == nil || m.Of == nil || m.Of.Message != j.ID || m.Result == nil || len(m.Steps) != 2 || m.Steps[1].Position != 1 {
		w.Errorf("RunMessage: %+v", m)
	}
	m, err = w.s.RunMessage(w.ctx, w.owner.Number, workflow.Key{Run: "wfr_a"}, 1)
	w.ok("RunMessage", err)
	if m.Of == nil || m.Result != nil || len(m.Steps) != 0 {
		w.Errorf("RunMessage of the first, with few bytes: %+v", m)
	}
	messages, positions, err := w.s.RunJobs(w.ctx, w.owner.Number, "wfr_a", -1, 10)
	w.ok("RunJobs", err)
	if len(messages) != 1 || messages[0] != j.ID || positions[0] != 1 {
		w.Errorf("RunJobs: %v %v", messages, positions)
	}
}

func runsRefused(w *world) {
	w.startRun(w.owner, "wfr_a")
	refusal := fault.New(fault.TooMany, "no more")
	if _, err := w.appendStep(w.owner, "wfr_a", 1, refusal); !errors.Is(err, refusal) {
		w.Errorf("a refused append: %v", err)
	}
	if r := w.run(w.owner, "wfr_a"); r.Rows != 1 || r.Open != 1 {
		w.Errorf("after the refusal: %+v", r)
	}
	jobs, err := w.s.JobList(w.ctx, w.owner, job.Query{ListQuery: job.ListQuery{Limit: 10}})
	w.ok("JobList", err)
	if len(jobs) != 1 {
		w.Errorf("%d jobs are stored", len(jobs))
	}
}

// makeFinal makes a job final.
func (w *world) makeFinal(j *job.Job, state job.State) {
	w.Helper()
	_, err := w.s.JobChange(w.ctx, j.Owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		ended := *m.Job
		ended.State = state
		switch state {
		case job.Completed:
			ended.CompletedAt = m.Now
		case job.Cancelled:
			ended.CancelledAt = m.Now
		default:
			ended.DiscardedAt = m.Now
		}
		c := &store.Changes{Job: &ended, RunOutcome: &store.RunOutcome{
			AlertOutcome: store.AlertOutcome{Owner: j.Owner, Job: j.Number, At: m.Now, Tags: "x",
				Detail: rawjson.Value(`{"ended":"well"}`)},
			Failed: rawjson.Value(`{"ended":"badly"}`),
		}}
		if state == job.Discarded {
			n := w.runJob(j.Owner, "wfr_a", workflow.FailureText)
			n.Job.Number = 0
			c.Also = []store.NewJob{n}
		}
		return c
	})
	w.ok("JobChange", err)
}

func runsEnd(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	for i, test := range []struct {
		state job.State
		want  workflow.State
		goes  bool
	}{{job.Discarded, workflow.Failed, false}, {job.Cancelled, workflow.Cancelled, false}, {job.Completed, workflow.Failed, false},
		{job.Completed, workflow.Started, true}} {
		id := fmt.Sprint("wfr_", i)
		j := w.startRun(w.owner, id)
		w.startRun(w.other, id)
		if test.goes {
			_, err := w.appendStep(w.owner, id, 1, nil)
			w.ok("appending", err)
		}
		w.makeFinal(j, test.state)
		r := w.run(w.owner, id)
		if r.State != test.want || r.EndedAt.IsZero() != test.goes || (r.FailedJob == j.ID) == test.goes ||
			(r.Failure != uuid.Nil) != (test.state == job.Discarded) ||
			(r.Error != "") != (test.state == job.Completed && !test.goes) {
			w.Errorf("after a job was %s: %+v", test.state, r)
		}
		if theirs := w.run(w.other, id); theirs.State != workflow.Started || theirs.Open != 1 {
			w.Errorf("the other account's: %+v", theirs)
		}
		if test.goes && r.Open != 1 {
			w.Errorf("open: %d", r.Open)
		}
		told := ""
		for _, e := range w.trackAlerts(w.owner, nil, nil).Events {
			told += fmt.Sprintf("%d %t %s %s", e.Kind, e.Job == j.Number && e.Schedule == uuid.Nil && e.At.Equal(r.EndedAt), e.Tags,
				e.Detail)
		}
		if want := map[workflow.State]string{workflow.Failed: `2 true x {"ended":"badly"}`}[test.want]; told != want {
			w.Errorf("alerts are told %q after a job was %s, want %q", told, test.state, want)
		}
	}
	j := w.startRun(w.owner, "wfr_good")
	_, err := w.s.RunApply(w.ctx, &store.RunWrite{Account: w.owner.Number, Runs: []string{"wfr_good"}, Accept: accepted,
		Decide: func(m *store.RunSnapshot) (*store.RunChanges, error) {
			r := m.Runs["wfr_good"]
			_, err := workflow.Finish(r, []byte("1"), m.Now)
			return &store.RunChanges{Changed: []*workflow.Run{r}}, err
		}})
	w.ok("RunApply", err)
	w.makeFinal(j, job.Completed)
	if m := w.trackAlerts(w.owner, nil, nil); len(m.Events) != 1 || m.Events[0].Kind != store.AlertSucceeded ||
		string(m.Events[0].Detail) != `{"ended":"well"}` {
		w.Errorf("after a success alerts are told %+v", m.Events)
	}
}

func runsListed(w *world) {
	for i := range 3 {
		w.startRun(w.owner, fmt.Sprint("wfr_", i))
		w.startRun(w.other, fmt.Sprint("wfr_", i))
	}
	got := ""
	var before time.Time
	for id := ""; ; {
		page, err := w.s.RunPage(w.ctx, w.owner.Number, before, id, 2)
		w.ok("RunPage", err)
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			before, id = r.CreatedAt, r.ID
			got += r.ID + " "
		}
	}
	if got != "wfr_2 wfr_1 wfr_0 " {
		w.Errorf("listed %s", got)
	}
}

func runsPruned(w *world) {
	w.makeFinal(w.startRun(w.owner, "wfr_a"), job.Completed)
	w.startRun(w.owner, "wfr_b")
	n, more, err := w.s.RunPrune(w.ctx, w.s.Now().Add(-time.Hour), 10)
	if err != nil || n != 0 || more {
		w.Errorf("RunPrune of none: %d %v %v", n, more, err)
	}
	n, more, err = w.s.RunPrune(w.ctx, w.s.Now().Add(time.Hour), 10)
	if err != nil || n != 1 || !more {
		w.Errorf("RunPrune: %d %v %v", n, more, err)
	}
	_, err = w.s.RunGet(w.ctx, w.owner.Number, "wfr_a")
	w.wantCode("RunGet", err, fault.NotFound)
	steps, err := w.s.RunSteps(w.ctx, w.owner.Number, "wfr_a", 0, 10, 1000)
	if err != nil || len(steps) != 0 || w.run(w.owner, "wfr_b").Rows != 1 {
		w.Errorf("steps that remain: %v, %v", steps, err)
	}
}

func runsCopied(w *world) {
	w.startRun(w.owner, "wfr_a")
	r := w.run(w.owner, "wfr_a")
	steps, err := w.s.RunSteps(w.ctx, w.owner.Number, "wfr_a", 0, 10, 1000)
	w.ok("RunSteps", err)
	moved, step := *r, *steps[0]
	moved.Account, step.Account = w.other.Number, w.other.Number
	for range 2 {
		w.ok("RunCopy", w.s.RunCopy(w.ctx, &moved, []*workflow.Step{&step}))
	}
	got := w.run(w.other, "wfr_a")
	got.Account = w.owner.Number
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", r) {
		w.Errorf("copied %+v, want %+v", got, r)
	}
}

// addStep stores a record of a run that has no job.
func (w *world) addStep(owner job.Owner, step workflow.Step) {
	w.Helper()
	step.CreatedAt = w.s.Now()
	_, err := w.s.RunApply(w.ctx, &store.RunWrite{Account: owner.Number, Runs: []string{step.Run}, Accept: accepted,
		Keys: []workflow.Key{step.Key(), {Run: step.Run, Kind: workflow.Wait, Number: step.Number},
			{Run: step.Run, Kind: workflow.Call, Number: step.Number}},
		Decide: func(m *store.RunSnapshot) (*store.RunChanges, error) {
			one, run := step, m.Runs[step.Run]
			if one.Kind == workflow.Notice {
				return &store.RunChanges{Changed: []*workflow.Run{run}, Steps: []*workflow.Step{&one}}, workflow.Keep(run, &one, 0)
			}
			added, settled, err := workflow.Append(run, []*workflow.Step{&one}, m.Steps)
			return &store.RunChanges{Changed: []*workflow.Run{run}, Steps: added, Settled: settled}, err
		}})
	w.ok("RunApply", err)
}

// waitingFor returns what an account has that waits for an event or keeps it.
func (w *world) waitingFor(owner job.Owner, event, run string, after, limit int) string {
	w.Helper()
	found, err := w.s.RunWaiting(w.ctx, owner.Number, event, run, after, limit)
	w.ok("RunWaiting", err)
	got := ""
	for _, s := range found {
		got += fmt.Sprintf("%s:%d:%s ", s.Run, s.Position, s.Body)
	}
	return got
}

func runsWait(w *world) {
	for _, owner := range []job.Owner{w.owner, w.other} { // with the same ids and events
		for _, id := range []string{"wfr_b", "wfr_a"} {
			w.startRun(owner, id)
			w.addStep(owner, workflow.Step{Run: id, Kind: workflow.Wait, Number: 1, Concurrent: 2, Name: "one",
				Body: []byte(fmt.Sprint(owner.Number)), WaitsFor: "paid"})
		}
	}
	w.addStep(w.owner, workflow.Step{Run: "wfr_a", Kind: workflow.Wait, Number: 2, Concurrent: 2, Name: "two", Body: []byte("two"),
		WaitsFor: "paid"})
	w.addStep(w.owner, workflow.Step{Run: "wfr_a", Kind: workflow.Notice, Name: "notice", Concurrent: 1, Body: []byte("kept"),
		WaitsFor: "sent"})
	mine, theirs := fmt.Sprint(w.owner.Number), fmt.Sprint(w.other.Number)
	for got, want := range map[string]string{
		w.waitingFor(w.owner, "paid", "", -1, 10):     "wfr_a:1:" + mine + " wfr_a:2:two wfr_b:1:" + mine + " ",
		w.waitingFor(w.owner, "paid", "wfr_a", 1, 1):  "wfr_a:2:two ",
		w.waitingFor(w.other, "paid", "wfr_a", -1, 9): "wfr_a:1:" + theirs + " wfr_b:1:" + theirs + " ",
		w.waitingFor(w.other, "sent", "", -1, 10):     "",
	} {
		if got != want {
			w.Errorf("waiting: %q, want %q", got, want)
		}
	}
	takes := false
	snapshot := func(owner job.Owner, events ...string) (got string) {
		_, err := w.s.RunApply(w.ctx, &store.RunWrite{Account: owner.Number, Runs: []string{"wfr_a"}, Events: events, TakesKept: takes,
			Accept: accepted,
			Decide: func(m *store.RunSnapshot) (*store.RunChanges, error) {
				got = ""
				for _, s := range m.Waiting {
					got += fmt.Sprintf("%s:%d:%s ", s.Run, s.Position, s.Body)
				}
				return nil, nil
			}})
		w.ok("RunApply", err)
		return got
	}
	w.addStep(w.owner, workflow.Step{Run: "wfr_a", Kind: workflow.Notice, Number: 1, Name: "notice", Concurrent: 1, Body: []byte("more"),
		WaitsFor: "sent"})
	if got := snapshot(w.owner, "paid", "sent"); got != "wfr_a:1:"+mine+" wfr_a:2:two wfr_a:3: wfr_a:4: " {
		w.Errorf("the snapshot has %q", got)
	}
	takes = true
	if got := snapshot(w.owner, "paid", "sent"); got != "wfr_a:1:"+mine+" wfr_a:2:two wfr_a:3:kept " {
		w.Errorf("the snapshot for what takes an event has %q", got)
	}
	if got := snapshot(w.other, "sent"); got != "" {
		w.Errorf("the other account's snapshot has %q", got)
	}
	w.addStep(w.owner, workflow.Step{Run: "wfr_a", Kind: workflow.Result, Number: 2, Concurrent: 2, Name: "two", Body: []byte("two")})
	if got := w.waitingFor(w.owner, "paid", "", -1, 10); got != "wfr_a:1:"+mine+" wfr_b:1:"+mine+" " {
		w.Errorf("after the end of a wait: %q", got)
	}
}

func runsHooks(w *world) {
	for _, owner := range []job.Owner{w.owner, w.other} { // with the same ids and events
		w.startRun(owner, "wfr_a")
		w.addStep(owner, workflow.Step{Run: "wfr_a", Kind: workflow.Result, Number: 1, Concurrent: 1, Name: "hook", Body: []byte("out"),
			WaitsFor: "evt"})
		w.addStep(owner, workflow.Step{Run: "wfr_a", Kind: workflow.Wait, Number: 2, Concurrent: 1, Name: "wait", Body: []byte("wait"),
			WaitsFor: "evt"})
	}
	found, err := w.s.RunHooks(w.ctx, w.owner.Number, "evt", 10)
	w.ok("RunHooks", err)
	if len(found) != 1 || found[0].Account != w.owner.Number || found[0].Run != "wfr_a" || found[0].Number != 1 || found[0].Body != nil {
		w.Errorf("the webhooks are %+v", found)
	}
	if found, err = w.s.RunHooks(w.ctx, w.owner.Number, "ev", 10); err != nil || len(found) > 0 {
		w.Errorf("of another event: %+v, %v", found, err)
	}
	if got, want := w.waitingFor(w.owner, "evt", "", -1, 10), "wfr_a:2:wait "; got != want {
		w.Errorf("what waits for the calls: %q, want %q", got, want)
	}
	a, err := w.s.AccountWithID(w.ctx, w.owner.ID)
	if w.ok("AccountWithID", err); a.Number != w.owner.Number {
		w.Errorf("the account is %d, want %d", a.Number, w.owner.Number)
	}
	_, err = w.s.AccountWithID(w.ctx, uuid.New())
	w.wantCode("AccountWithID of none", err, fault.NotFound)
}

func runsTell(w *world) {
	for _, owner := range []job.Owner{w.owner, w.other} {
		for _, id := range []string{"wfr_b", "wfr_a"} {
			w.startRun(owner, id)
			r := w.run(owner, id)
			r.Unreported = true
			_, err := w.s.RunApply(w.ctx, &store.RunWrite{Account: owner.Number, Runs: []string{id}, Accept: accepted,
				Decide: func(*store.RunSnapshot) (*store.RunChanges, error) {
					return &store.RunChanges{Changed: []*workflow.Run{r}}, nil
				}})
			w.ok("RunApply", err)
		}
	}
	got := ""
	account, id := int64(0), ""
	for {
		page, err := w.s.RunsUnreported(w.ctx, account, id, 3)
		w.ok("RunsUnreported", err)
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			account, id = r.Account, r.ID
			got += fmt.Sprint(r.Account, r.ID, " ")
		}
	}
	first, second := min(w.owner.Number, w.other.Number), max(w.owner.Number, w.other.Number)
	if want := fmt.Sprint(first, "wfr_a ", first, "wfr_b ", second, "wfr_a ", second, "wfr_b "); got != want {
		w.Errorf("RunsUnreported: %q, want %q", got, want)
	}
}

// runsCallback: the last response to a call leaves nothing open if the route stores no
// result of it; one before a retry does.
func runsCallback(w *world) {
	for id, test := range map[string]struct{ last, stores, goes bool }{
		"wfr_a": {true, false, false}, "wfr_b": {true, true, true}, "wfr_c": {false, false, true},
	} {
		first := w.startRun(w.owner, id)
		w.addStep(w.owner, workflow.Step{Run: id, Kind: workflow.Call, Number: 1, Concurrent: 1, Name: "call"})
		w.makeFinal(first, job.Completed)
		stored, err := w.s.JobInsertMany(w.ctx, []store.NewJob{w.runJob(w.owner, id, workflow.CallbackText("call:1", test.last))})
		w.ok("JobInsertMany", err)
		if test.stores {
			w.addStep(w.owner, workflow.Step{Run: id, Kind: workflow.Result, Number: 1, Concurrent: 1, Name: "call"})
		}
		w.makeFinal(stored[0].Job, job.Completed)
		if r := w.run(w.owner, id); r.State.Live() != test.goes || r.Open != 1 && test.goes || (r.Error == "") != test.goes {
			w.Errorf("after the callback of %s: %+v", id, r)
		}
	}
}
