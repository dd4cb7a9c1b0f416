package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var jobTests = group{
	"ReadBackAsStored":        jobsReadBack,
	"AbsentIsNotEmpty":        jobsAbsentIsNotEmpty,
	"TextVerbatim":            jobsTextVerbatim,
	"TimesExact":              jobsTimesExact,
	"OthersFindNothing":       jobsOfOthers,
	"BatchInOrder":            jobsBatchInOrder,
	"EmptyBatch":              jobsEmptyBatch,
	"NumbersAreNeverReused":   jobsNumbersNeverReused,
	"ExecutingFromBeginOn":    jobsExecuting,
	"CountsByState":           jobsCounts,
	"LargeArgs":               jobsLargeArgs,
	"SamePointerComesBack":    jobsSamePointer,
	"AttemptsCountedWhenOpen": jobsAttempts,
}

func jobsReadBack(w *world) {
	key, name, description := "key", "name", "description"
	n := w.recurring(w.owner, w.ahead())
	n.Job.Key, n.Job.Name, n.Job.Description = &key, &name, &description
	n.Schedule.Key, n.Schedule.Name, n.Schedule.Description = &key, &name, &description
	stored := w.insertOne(n)
	w.same("the inserted job", showJob(stored), showJob(n.Job))
	w.same("the job read by number", showJob(w.get(stored)), showJob(n.Job))
	byID, err := w.s.JobGet(w.ctx, w.owner, job.Ref{UUID: n.Job.ID})
	w.ok("JobGet by UUID", err)
	w.same("the job read by UUID", showJob(byID), showJob(n.Job))
	w.same("its schedule", showSchedule(w.schedule(w.owner, n.Schedule.ID)), showSchedule(n.Schedule))
	if ref := w.queued(stored); ref == nil || showRef(*ref) != showRef(refOf(stored)) {
		w.Errorf("its item is %+v, want %s", ref, showRef(refOf(stored)))
	}
}

func jobsAbsentIsNotEmpty(w *world) {
	empty := ""
	absent := w.insertOne(w.oneOff(w.owner, w.now))
	n := w.oneOff(w.owner, w.now)
	n.Job.Name, n.Job.Description = &empty, &empty
	given := w.insertOne(n)
	if got := w.get(absent); got.Key != nil || got.Name != nil || got.Description != nil || got.ScheduleID != uuid.Nil {
		w.Errorf("absent fields came back as %s", showJob(got))
	}
	if got := w.get(given); got.Name == nil || got.Description == nil || *got.Name != "" || *got.Description != "" {
		w.Errorf("empty fields came back as %s", showJob(got))
	}
}

// awkward are texts that a store might fold, trim, escape or truncate.
var awkward = []string{
	"plain", " ", " led and trailed ", "\t\n\r", "ÄÖÜ äöü ß", "e\u0301 and \u00e9", "日本語", "👩‍👩‍👧‍👦", "\u200b\ufeff",
	"'; DROP TABLE jobs; --", `back\slash "quoted"`, "100% _like_", "\u007f\u0080\u2028", "\U0010ffff", "null", "{}", `\x41`, "$1 ?1 :a @b",
}

func jobsTextVerbatim(w *world) {
	args := []string{
		`{"url":"https://example.com/","body":{"n":12345678901234567890,"d":1.10,"e":1E5,"z":-0,"f":1e-400},"b":1,"a":2}`,
		`{"url":"https://example.com/","body":"a\u0000b","headers":{}}`,
		`{"body":{"":"","b":[],"a":{},"B":null,"é":"é","\u0000":"\u001f"},"url":"https://example.com/"}`,
	}
	for _, s := range awkward {
		args = append(args, string(append(rawjson.AppendText([]byte(`{"body":`), s), '}')))
	}
	var jobs []store.NewJob
	for i, a := range args {
		n := w.oneOff(w.owner, w.ahead())
		s := awkward[i%len(awkward)]
		key := fmt.Sprintf("%s#%d", s, i)
		n.Job.Args, n.Job.Name, n.Job.Description, n.Job.Key = rawjson.Value(a), &s, &s, &key
		jobs = append(jobs, n)
	}
	for i, stored := range w.insert(jobs...) {
		w.same("text", showJob(w.get(stored)), showJob(jobs[i].Job))
	}
}

// instants are times that a store might truncate or shift.
var instants = []time.Time{
	{}, // the first instant of year 1, a due time that clients may ask for
	time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
	time.Date(1, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	time.Date(1582, 10, 10, 12, 0, 0, 123_456_000, time.UTC),
	time.Date(1899, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	time.Unix(0, 0).UTC(),
	time.Date(1970, 1, 1, 0, 0, 0, 1000, time.UTC),
	time.Date(2024, 2, 29, 23, 59, 59, 1000, time.UTC),
	time.Date(2038, 1, 19, 3, 14, 8, 999_999_000, time.UTC),
	time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
}

func jobsTimesExact(w *world) {
	for _, at := range instants {
		n := w.recurring(w.owner, w.ahead())
		n.Job.ScheduledAt, n.Schedule.FirstDue = at, at
		if at.After(w.now) {
			n.Job.DueAt = at
		}
		stored := w.insertOne(n)
		got := w.get(stored)
		if !got.ScheduledAt.Equal(at) {
			w.Errorf("a due time of %s came back as %s", at, got.ScheduledAt)
		}
		w.same("job", showJob(got), showJob(n.Job))
		if s := w.schedule(w.owner, n.Schedule.ID); !s.FirstDue.Equal(at) {
			w.Errorf("a first due time of %s came back as %s", at, s.FirstDue)
		}
		if ref := w.queued(stored); ref == nil || !ref.Due.Equal(n.Job.DueAt) {
			w.Errorf("the item of a job due %s is %+v", n.Job.DueAt, ref)
		}
	}
}

func jobsOfOthers(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	for what, id := range map[string]job.Ref{"number": {Number: j.Number}, "UUID": {UUID: j.ID}} {
		_, err := w.s.JobGet(w.ctx, w.other, id)
		w.wantCode("another's job by "+what, err, fault.NotFound)
	}
	for what, id := range map[string]job.Ref{"number": {Number: j.Number + 1}, "UUID": {UUID: uuid.New()}} {
		_, err := w.s.JobGet(w.ctx, w.owner, id)
		w.wantCode("no job by "+what, err, fault.NotFound)
	}
}

// largest is the maximum number of jobs in a batch.
const largest = 1024

func jobsBatchInOrder(w *world) {
	jobs := make([]store.NewJob, largest)
	for i := range jobs {
		owner := w.owner
		if i%3 == 0 {
			owner = w.other
		}
		jobs[i] = w.oneOff(owner, w.ahead())
		if i%5 == 0 {
			jobs[i] = w.recurring(owner, w.ahead())
		}
	}
	stored := w.insert(jobs...)
	for i := 1; i < len(stored); i++ {
		if stored[i].Number <= stored[i-1].Number {
			w.Fatalf("job %d of the batch got number %d after %d: lists show the newest first by number", i, stored[i].Number,
				stored[i-1].Number)
		}
	}
	for _, i := range []int{0, 1, 15, largest - 1} {
		w.same("a job of the batch", showJob(w.get(stored[i])), showJob(jobs[i].Job))
	}
	if refs := w.peek(); len(refs) != largest {
		w.Errorf("%d items in the queue after a batch of %d", len(refs), largest)
	}
}

func jobsEmptyBatch(w *world) {
	for _, batch := range [][]store.NewJob{nil, {}} {
		results, err := w.s.JobInsertMany(w.ctx, batch)
		if err != nil || len(results) != 0 {
			w.Errorf("an empty batch returned %v, %v", results, err)
		}
	}
}

func jobsNumbersNeverReused(w *world) {
	before := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.change(before, cancel)
	n, err := w.s.JobPrune(w.ctx, w.s.Now().Add(time.Minute), store.PruneCursor{}, 10)
	if err != nil || n.Removed != 1 {
		w.Fatalf("JobPrune = %+v, %v", n, err)
	}
	if after := w.insertOne(w.oneOff(w.owner, w.ahead())); after.Number <= before.Number {
		w.Errorf("the job after number %d got number %d", before.Number, after.Number)
	}
}

func jobsExecuting(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	held, begun := w.hold(jobs[0]), w.begin(jobs[1])
	if got := w.get(jobs[0]); got.State != job.Available || !got.AttemptedAt.IsZero() {
		w.Errorf("a claimed job whose attempt begins at %s is %s", held.StartAt, showJob(got))
	}
	if got := w.get(jobs[1]); got.State != job.Executing || !got.AttemptedAt.Equal(begun.StartAt) {
		w.Errorf("a claimed job whose attempt began at %s is %s", begun.StartAt, showJob(got))
	}
	w.finish(w.end(jobs[1], begun, w.retries(w.ahead())))
	if got := w.get(jobs[1]); got.State != job.Retryable || !got.AttemptedAt.Equal(begun.StartAt) ||
		!got.ScheduledAt.Equal(jobs[1].ScheduledAt) {
		w.Errorf("a job to be attempted again is %s", showJob(got))
	}
}

func jobsCounts(w *world) {
	var jobs []store.NewJob
	for range 15 {
		jobs = append(jobs, w.oneOff(w.owner, w.past()), w.oneOff(w.other, w.past()))
	}
	stored := w.insert(jobs...)
	for i, j := range stored {
		switch i {
		case 0, 1, 2:
			w.settle(j, w.completes)
		case 3, 4:
			w.settle(j, w.discards)
		case 5:
			w.change(j, cancel)
		case 6, 7, 8, 9:
			w.settle(j, w.retries(w.past()))
		case 10:
			w.begin(j)
		case 11:
			w.hold(j)
		}
	}
	w.begin(w.get(stored[9])) // retryable before
	counts, err := w.s.JobCounts(w.ctx)
	w.ok("JobCounts", err)
	for state, want := range map[job.State]int64{
		job.Completed: 3, job.Discarded: 2, job.Cancelled: 1, job.Retryable: 3, job.Executing: 2, job.Available: 19,
	} {
		if counts[state] != want {
			w.Errorf("%d jobs %s, want %d", counts[state], state, want)
		}
	}
}

func jobsLargeArgs(w *world) {
	n := w.oneOff(w.owner, w.ahead())
	n.Job.Args = rawjson.Value(`{"url":"https://example.com/","body":"` + strings.Repeat("x\\u0000é", 150_000) + `"}`)
	if got := w.get(w.insertOne(n)); !bytes.Equal(got.Args, n.Job.Args) {
		w.Errorf("args of %d bytes came back as %d bytes", len(n.Job.Args), len(got.Args))
	}
}

// jobsSamePointer: callers continue to use the record that they passed.
func jobsSamePointer(w *world) {
	n := w.oneOff(w.owner, w.ahead())
	if stored := w.insertOne(n); stored.Number != n.Job.Number {
		w.Errorf("the job handed in has number %d, the stored one %d", n.Job.Number, stored.Number)
	}
}

func jobsAttempts(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	for want := 1; want <= 3; want++ {
		w.finish(w.end(j, w.begin(j), w.retries(w.past().Add(time.Duration(want)*time.Second))))
		if j = w.get(j); j.Attempt != want {
			w.Fatalf("%d attempts are counted after %d", j.Attempt, want)
		}
		if run := w.load(refOf(j)); run == nil || run.Attempt != want || run.Claim != nil {
			w.Fatalf("the item after %d attempts is %+v", want, run)
		}
	}
}
