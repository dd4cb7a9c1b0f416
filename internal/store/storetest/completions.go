package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var completionTests = group{
	"StoredWithTheClaim":        completionStored,
	"ReleaseDeletes":            completionRelease,
	"CancelBeforeTheStart":      completionCancelled,
	"AwaitingIsExecuting":       completionAwaiting,
	"AwaitingSurvivesNodes":     completionSurvives,
	"OneOutcome":                completionOutcome,
	"Overdue":                   completionOverdue,
	"ChangeKeepsTheItem":        completionProgress,
	"EarlyIsSeenByTheFinish":    completionEarly,
	"RetentionKeepsTheLogs":     completionRetention,
	"PurgedWithTheAccount":      completionPurge,
	"UnknownTokens":             completionUnknown,
	"LatestOfAJob":              completionLatest,
	"CancelOfAnAwaitingJobEnds": completionCancel,
	"SealedUntilItIsOver":       completionSealed,
}

// completable returns a claim whose target completes the attempt.
func (w *world) completable(j *job.Job, startAt time.Time) store.Claim {
	w.Helper()
	c := w.claimOf(j, startAt)
	c.Completion = &job.Completion{
		Token: job.TokenHash(slices.Concat(uuidBytes(), uuidBytes())), Owner: j.Owner, Job: j.Number, Attempt: c.Attempt,
		StartedAt: startAt, HeardAt: startAt,
		Await: job.Await{Within: time.Hour, Heartbeat: time.Minute}, Epoch: 7, Request: c.Log.ID,
	}
	return c
}

func uuidBytes() []byte {
	id := uuid.New()
	return id[:]
}

// await claims a job's attempt and makes it await its completion until a deadline.
func (w *world) await(j *job.Job, deadline time.Time) *job.Completion {
	w.Helper()
	c := w.completable(j, w.past())
	if !w.tryClaim(c)[0] {
		w.Fatal("the item was not claimed")
	}
	var awaited *job.Completion
	f := w.end(j, c, w.completes)
	f.Completable = true
	f.Decide = func(m *store.Snapshot) *store.Changes {
		if m.Completion == nil {
			w.Fatal("the finish has no completion")
		}
		next, stored := *m.Completion, *m.Job
		next.State, next.Deadline, next.Response = job.CompletionAwaiting, deadline, uuid.New()
		stored.Attempt, stored.DueAt = c.Attempt, w.ahead()
		awaited = &next
		log := w.log(j, job.EventResponse, w.past())
		log.ID = next.Response
		return &store.Changes{Job: &stored, Completion: &next, Await: true, Logs: []job.Log{log}}
	}
	w.finish(f)
	return awaited
}

func (w *world) completion(token job.TokenHash) *job.Completion {
	w.Helper()
	a, err := w.s.CompletionGet(w.ctx, token)
	w.ok("CompletionGet", err)
	return a.Completion
}

func completionStored(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.completable(j, w.past())
	if !w.tryClaim(c)[0] {
		w.Fatal("the item was not claimed")
	}
	a, err := w.s.CompletionGet(w.ctx, c.Completion.Token)
	w.ok("CompletionGet", err)
	got := a.Completion
	if got.Token != c.Completion.Token || got.Owner != j.Owner || got.Job != j.Number || got.Attempt != 1 ||
		!got.StartedAt.Equal(w.past().Truncate(time.Microsecond)) ||
		got.Await != c.Completion.Await || got.Epoch != 7 || got.State != job.CompletionSent || !got.Deadline.IsZero() ||
		got.Reported != nil || got.Early != nil ||
		got.Progress != nil || got.Request != c.Log.ID || got.Response != uuid.Nil {
		w.Errorf("stored %+v", got)
	}
	if a.Job.Number != j.Number || a.Job.Attempt != 1 || a.Job.State != job.Available || string(a.Request) != string(c.Log.Payload) ||
		a.Response != nil || a.Schedule != nil {
		w.Errorf("read with %+v, %s, %s", a.Job, a.Request, a.Response)
	}
	account, err := w.s.CompletionAccount(w.ctx, c.Completion.Token)
	if err != nil || account != w.owner.Number {
		w.Errorf("the account is %d, %v", account, err)
	}
}

func completionRelease(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.completable(j, w.ahead())
	w.tryClaim(c)
	w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{c}))
	_, err := w.s.CompletionGet(w.ctx, c.Completion.Token)
	w.wantCode("after a release", err, fault.NotFound)
}

func completionCancelled(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.completable(j, w.ahead())
	w.tryClaim(c)
	_, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		ended := *m.Job
		_ = ended.Cancel(m.Now)
		return &store.Changes{Job: &ended, RollbackClaim: true, EndCompletions: true}
	})
	w.ok("JobChange", err)
	_, err = w.s.CompletionGet(w.ctx, c.Completion.Token)
	w.wantCode("after a cancel", err, fault.NotFound)
}

func completionAwaiting(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.await(j, w.ahead())
	if got := w.get(j); got.State != job.Executing || !got.AttemptedAt.Equal(w.past().Truncate(time.Microsecond)) || got.Attempt != 1 {
		w.Errorf("the job is %s, attempt %d, since %v", got.State, got.Attempt, got.AttemptedAt)
	}
	if refs := w.peek(); len(refs) != 0 {
		w.Errorf("the queue shows %v", refs)
	}
	counts, err := w.s.JobCounts(w.ctx)
	w.ok("JobCounts", err)
	if counts[job.Executing] != 1 || counts[job.Available] != 0 {
		w.Errorf("counted %v", counts)
	}
	executing, err := w.s.JobList(w.ctx, w.owner, job.Query{States: []job.State{job.Executing}, ListQuery: job.ListQuery{Limit: 10}})
	if err != nil || len(executing) != 1 {
		w.Errorf("executing: %d jobs, %v", len(executing), err)
	}
}

func completionSurvives(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.await(j, w.ahead())
	w.ok("NodeStop", w.s.NodeStop(w.ctx, w.node))
	_, err := w.s.NodeStart(w.ctx)
	w.ok("NodeStart", err)
	abandoned, err := w.s.QueueAbandoned(w.ctx, 10)
	if err != nil || len(abandoned) != 0 {
		w.Errorf("abandoned: %v, %v", abandoned, err)
	}
	if got := w.get(j); got.State != job.Executing {
		w.Errorf("the job is %s", got.State)
	}
	w.completes1(j, c)
}

// completes1 completes an awaiting job and verifies what the decision sees.
func (w *world) completes1(j *job.Job, c *job.Completion) {
	w.Helper()
	done, err := w.s.CompletionChange(w.ctx, c, func(m *store.Snapshot) *store.Changes {
		if !m.Claim.Awaits() || !m.Claim.Completes(m.Completion) || m.Claim.Attempt != 1 || m.Completion.Token != c.Token ||
			m.Job.Attempt != 1 {
			w.Errorf("the decision sees %+v and %+v", m.Claim, m.Completion)
		}
		ended, over := *m.Job, *m.Completion
		_ = ended.Begin(m.Now)
		_ = ended.Complete(m.Now)
		over.State, over.Deadline, over.Reported = job.CompletionOver, time.Time{}, []byte("outcome")
		return &store.Changes{Job: &ended, Completion: &over, EndCompletions: true}
	})
	w.ok("CompletionChange", err)
	if done.State != job.Completed {
		w.Errorf("the job is %s", done.State)
	}
	if got := w.completion(c.Token); got.State != job.CompletionOver || string(got.Reported) != "outcome" || !got.Deadline.IsZero() {
		w.Errorf("the completion is %+v", got)
	}
	if refs := w.peek(); len(refs) != 0 {
		w.Errorf("the queue has %v", refs)
	}
}

func completionOutcome(w *world) {
	j := w.insertOne(w.recurring(w.owner, w.past()))
	c := w.await(j, w.ahead())
	a, err := w.s.CompletionGet(w.ctx, c.Token)
	if err != nil || a.Schedule == nil || a.Schedule.ID != j.ScheduleID || len(a.Response) == 0 {
		w.Fatalf("read %+v, %v", a, err)
	}
	// A retry makes the job due again, claimable by nodes.
	_, err = w.s.CompletionChange(w.ctx, c, func(m *store.Snapshot) *store.Changes {
		again := *m.Job
		again.Attempt--
		_ = again.Begin(m.Now)
		_ = again.Retry(w.past())
		return &store.Changes{Job: &again, EndCompletions: true}
	})
	w.ok("CompletionChange", err)
	if got := w.get(j); got.State != job.Retryable || got.Attempt != 1 {
		w.Errorf("the job is %s, attempt %d", got.State, got.Attempt)
	}
	if got := w.completion(c.Token); got.State != job.CompletionOver || !got.Deadline.IsZero() {
		w.Errorf("the completion is %+v", got)
	}
	if refs := w.peek(); len(refs) != 1 {
		w.Errorf("the queue has %v", refs)
	}
}

func completionOverdue(w *world) {
	if at, err := w.s.CompletionDeadline(w.ctx); err != nil || !at.IsZero() {
		w.Errorf("without completions the earliest deadline is %v, %v", at, err)
	}
	var want []job.TokenHash
	for i := range 3 {
		j := w.insertOne(w.oneOff(w.owner, w.past()))
		want = append(want, w.await(j, w.past().Add(time.Duration(i)*time.Second)).Token)
	}
	w.await(w.insertOne(w.oneOff(w.owner, w.past())), w.ahead())
	got, err := w.s.CompletionsOverdue(w.ctx, 10)
	if err != nil || !slices.Equal(got, want) {
		w.Errorf("overdue are %d, want %d in order: %v", len(got), len(want), err)
	}
	if at, err := w.s.CompletionDeadline(w.ctx); err != nil || !at.Equal(w.past().Truncate(time.Microsecond)) {
		w.Errorf("the earliest deadline is %v, %v; want %v", at, err, w.past())
	}
	if got, err = w.s.CompletionsOverdue(w.ctx, 2); err != nil || !slices.Equal(got, want[:2]) {
		w.Errorf("the first two are %d, %v", len(got), err)
	}
}

func completionProgress(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.await(j, w.past())
	_, err := w.s.CompletionChange(w.ctx, c, func(m *store.Snapshot) *store.Changes {
		next := *m.Completion
		next.Deadline, next.HeardAt, next.Progress = w.ahead(), m.Now, rawjson.Value(`{"progress":1.10}`)
		return &store.Changes{Completion: &next}
	})
	w.ok("CompletionChange", err)
	got := w.completion(c.Token)
	if string(got.Progress) != `{"progress":1.10}` || !got.Deadline.Equal(w.ahead().Truncate(time.Microsecond)) ||
		got.State != job.CompletionAwaiting {
		w.Errorf("the completion is %+v", got)
	}
	if w.get(j).State != job.Executing {
		w.Error("the job does not await any more")
	}
	if overdue, err := w.s.CompletionsOverdue(w.ctx, 10); err != nil || len(overdue) != 0 {
		w.Errorf("overdue: %d, %v", len(overdue), err)
	}
	w.completes1(j, c)
}

func completionEarly(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.completable(j, w.past())
	w.tryClaim(c)
	_, err := w.s.CompletionChange(w.ctx, c.Completion, func(m *store.Snapshot) *store.Changes {
		if m.Claim == nil || m.Claim.Awaits() || !m.Claim.Completes(m.Completion) {
			w.Errorf("the decision sees %+v", m.Claim)
		}
		next := *m.Completion
		next.Early, next.Reported = rawjson.Value(`{"result":1.10}`), []byte{0, 1}
		return &store.Changes{Completion: &next}
	})
	w.ok("CompletionChange", err)
	seen := ""
	f := w.end(j, c, w.completes)
	decide := f.Decide
	f.Completable = true
	f.Decide = func(m *store.Snapshot) *store.Changes {
		seen = string(m.Completion.Early)
		changes := decide(m)
		changes.EndCompletions = true
		return changes
	}
	w.finish(f)
	if seen != `{"result":1.10}` {
		w.Errorf("the finish sees %q", seen)
	}
	if got := w.completion(c.Completion.Token); got.State != job.CompletionOver || got.Early != nil || len(got.Reported) != 2 {
		w.Errorf("the completion is %+v", got)
	}
}

func completionRetention(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.await(j, w.ahead())
	for range 2 {
		_, err := w.s.LogPrune(w.ctx, w.ahead(), store.PruneCursor{}, 100)
		w.ok("LogPrune", err)
		_, err = w.s.JobPrune(w.ctx, w.ahead(), store.PruneCursor{}, 100)
		w.ok("JobPrune", err)
	}
	a, err := w.s.CompletionGet(w.ctx, c.Token)
	if err != nil || len(a.Request) == 0 || len(a.Response) == 0 {
		w.Fatalf("after retention: %+v, %v", a, err)
	}
	w.completes1(j, c)
	_, err = w.s.JobPrune(w.ctx, w.ahead().Add(time.Hour), store.PruneCursor{}, 100)
	w.ok("JobPrune", err)
	_, err = w.s.CompletionGet(w.ctx, c.Token)
	w.wantCode("after its job was removed", err, fault.NotFound)
	_, err = w.s.CompletionAccount(w.ctx, c.Token)
	w.wantCode("the account after its job was removed", err, fault.NotFound)
}

func completionPurge(w *world) {
	c := w.await(w.insertOne(w.oneOff(w.owner, w.past())), w.past())
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.s.Now()))
	for range 20 {
		n, err := w.s.AccountPurge(w.ctx, w.ahead(), 100)
		w.ok("AccountPurge", err)
		if n == 0 {
			break
		}
	}
	_, err := w.s.CompletionAccount(w.ctx, c.Token)
	w.wantCode("after the purge", err, fault.NotFound)
	if overdue, err := w.s.CompletionsOverdue(w.ctx, 10); err != nil || len(overdue) != 0 {
		w.Errorf("overdue: %d, %v", len(overdue), err)
	}
}

func completionUnknown(w *world) {
	_, err := w.s.CompletionGet(w.ctx, job.TokenHash{1})
	w.wantCode("CompletionGet", err, fault.NotFound)
	_, err = w.s.CompletionAccount(w.ctx, job.TokenHash{1})
	w.wantCode("CompletionAccount", err, fault.NotFound)
	none, err := w.s.CompletionOf(w.ctx, w.owner, 12345)
	if none != nil || err != nil {
		w.Errorf("CompletionOf: %+v, %v", none, err)
	}
}

func completionLatest(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.await(j, w.ahead())
	got, err := w.s.CompletionOf(w.ctx, w.owner, j.Number)
	if err != nil || got == nil || got.Token != c.Token || got.State != job.CompletionAwaiting {
		w.Errorf("CompletionOf: %+v, %v", got, err)
	}
	if other, err := w.s.CompletionOf(w.ctx, w.other, j.Number); other != nil || err != nil {
		w.Errorf("another account sees %+v, %v", other, err)
	}
}

func completionCancel(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.await(j, w.ahead())
	cancelled, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		ended := *m.Job
		_ = ended.Cancel(m.Now)
		return &store.Changes{Job: &ended, EndCompletions: true}
	})
	if err != nil || cancelled.State != job.Cancelled {
		w.Fatalf("JobChange: %+v, %v", cancelled, err)
	}
	if got := w.completion(c.Token); got.State != job.CompletionOver || !got.Deadline.IsZero() {
		w.Errorf("the completion is %+v", got)
	}
}

func completionSealed(w *world) {
	sealed := func(token job.TokenHash) string {
		w.Helper()
		a, err := w.s.CompletionGet(w.ctx, token)
		w.ok("CompletionGet", err)
		return string(a.Sealed)
	}
	w.wantCode("of an unknown token", w.s.CompletionSeal(w.ctx, job.TokenHash{1}, []byte("x")), fault.NotFound)
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.await(j, w.ahead())
	other := w.await(w.insertOne(w.oneOff(w.other, w.past())), w.ahead())
	records := w.bytes(w.owner, 10)
	w.ok("CompletionSeal", w.s.CompletionSeal(w.ctx, c.Token, []byte("former")))
	w.ok("CompletionSeal", w.s.CompletionSeal(w.ctx, c.Token, []byte{0, 1, 255}))
	w.same("what is sealed", sealed(c.Token), string([]byte{0, 1, 255}))
	w.same("its bytes", fmt.Sprint(w.bytes(w.owner, 10)-records), "3")
	w.same("another's", sealed(other.Token), "")
	_, err := w.s.CompletionChange(w.ctx, c, func(m *store.Snapshot) *store.Changes {
		next := *m.Completion
		next.HeardAt = m.Now
		return &store.Changes{Completion: &next}
	})
	w.ok("CompletionChange", err)
	w.same("after a change", sealed(c.Token), string([]byte{0, 1, 255}))
	w.completes1(j, c)
	w.same("once it is over", sealed(c.Token), "")
	w.wantCode("once it is over", w.s.CompletionSeal(w.ctx, c.Token, []byte("late")), fault.NotFound)

	w.ok("CompletionSeal", w.s.CompletionSeal(w.ctx, other.Token, []byte("kept")))
	_, err = w.s.CompletionChange(w.ctx, other, func(m *store.Snapshot) *store.Changes {
		over := *m.Completion
		over.State, over.Deadline = job.CompletionOver, time.Time{}
		return &store.Changes{Completion: &over}
	})
	w.ok("CompletionChange", err)
	w.same("after it was ended alone", sealed(other.Token), "")

	j = w.insertOne(w.oneOff(w.owner, w.past()))
	claim := w.completable(j, w.past())
	w.tryClaim(claim)
	w.ok("CompletionSeal", w.s.CompletionSeal(w.ctx, claim.Completion.Token, []byte("under way")))
	w.same("before the response", sealed(claim.Completion.Token), "under way")
}
