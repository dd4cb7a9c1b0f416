package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var conflictNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// heldJob is a job that has waited for a minute and is due in an hour.
func heldJob(number int64) *job.Job {
	return &job.Job{
		Number: number, ID: uuid.UUID{byte(number)}, State: job.Available, Revision: 3,
		InsertedAt: conflictNow.Add(-time.Minute), ScheduledAt: conflictNow.Add(time.Hour), DueAt: conflictNow.Add(time.Hour),
	}
}

func TestResolve_ChangesTheHolderOrItsFollower(t *testing.T) {
	soon := heldJob(1)
	soon.DueAt = conflictNow.Add(100 * time.Millisecond)
	retryable := heldJob(1)
	retryable.State = job.Retryable
	later := heldJob(1)
	later.DueAt = conflictNow.Add(101 * time.Millisecond)
	run := heldJob(1)
	run.ScheduleID = uuid.UUID{9}
	for name, c := range map[string]struct {
		holders store.KeyHolders
		want    int64 // the number of the job that is changed; 0 for a new one, -1 for none
	}{
		"waiting":           {store.KeyHolders{Job: heldJob(1)}, 1},
		"due in 101 ms":     {store.KeyHolders{Job: later}, 1},
		"due in 100 ms":     {store.KeyHolders{Job: soon}, 0},
		"claimed":           {store.KeyHolders{Job: heldJob(1), Claim: &store.ClaimInfo{}}, 0},
		"retryable":         {store.KeyHolders{Job: retryable}, 0},
		"with a follower":   {store.KeyHolders{Job: retryable, Follower: heldJob(2)}, 2},
		"a schedule's run":  {store.KeyHolders{Job: run}, -1},
		"waiting, followed": {store.KeyHolders{Job: heldJob(1), Follower: heldJob(2)}, 2},
	} {
		c.holders.Now = conflictNow
		created := heldJob(0)
		created.Args, created.Hops = []byte(`{"body":2}`), 4
		var got *job.Job
		if changes := Resolve(&job.Spec{OnConflict: job.OnConflictReplace}, job.Actor{})(&c.holders, created); changes != nil {
			got = changes.Job
			if len(changes.Revisions) != int(min(c.want, 1)) {
				t.Errorf("%s: %d revisions", name, len(changes.Revisions))
			}
		}
		switch {
		case c.want < 0:
			if got != nil {
				t.Errorf("%s: %+v", name, got)
			}
		case got == nil || got.Number != c.want || string(got.Args) != `{"body":2}` || got.Hops != 4:
			t.Errorf("%s: %+v, want job %d", name, got, c.want)
		case c.want == 0 && (got.Follows != 1 || got.Revision != 1), c.want > 0 && got.Revision != 4:
			t.Errorf("%s: follows %d, revision %d", name, got.Follows, got.Revision)
		}
	}
	if Resolve(&job.Spec{OnConflict: job.OnConflictRefuse}, job.Actor{}) != nil || Resolve(&job.Spec{}, job.Actor{}) != nil {
		t.Error("return and refuse have a decision")
	}
}

// A chain of jobs that create jobs is not made shorter by replacing one.
func TestResolve_KeepsTheLongerChain(t *testing.T) {
	for _, c := range []struct{ pending, created, want int }{{6, 4, 6}, {4, 6, 6}, {0, 1, 1}} {
		pending, created := heldJob(1), heldJob(0)
		pending.Hops, created.Hops = c.pending, c.created
		changes := Resolve(&job.Spec{OnConflict: job.OnConflictReplace}, job.Actor{})(&store.KeyHolders{Now: conflictNow, Job: pending}, created)
		if changes.Job.Hops != c.want {
			t.Errorf("a job of %d hops replaced by one of %d has %d, want %d", c.pending, c.created, changes.Job.Hops, c.want)
		}
	}
}

func TestResolve_DebounceIsBoundedFromTheFirstCall(t *testing.T) {
	for wait, want := range map[time.Duration]time.Time{
		2 * time.Hour:    conflictNow.Add(time.Hour),       // the time that was asked for
		10 * time.Minute: conflictNow.Add(9 * time.Minute), // a minute has passed
		0:                conflictNow,                      // over already
	} {
		created := heldJob(0)
		created.InsertedAt = conflictNow
		got := Resolve(&job.Spec{OnConflict: job.OnConflictDebounce, MaxWait: wait},
			job.Actor{})(&store.KeyHolders{Now: conflictNow, Job: heldJob(1)}, created).Job
		if got == nil || !got.DueAt.Equal(want) {
			t.Errorf("max_wait %s: due at %v, want %s", wait, got.DueAt, want)
		}
	}
	first := heldJob(0)
	first.InsertedAt = conflictNow
	Debounce(first, &job.Spec{OnConflict: job.OnConflictDebounce, MaxWait: time.Minute})
	if want := conflictNow.Add(time.Minute); !first.DueAt.Equal(want) || !first.ScheduledAt.Equal(want) {
		t.Errorf("the first call is due at %s, want %s", first.DueAt, want)
	}
}

func TestHoldKey_LastsForTheThrottleAndADayForHeaders(t *testing.T) {
	key := "k"
	for _, c := range []struct {
		throttle         time.Duration
		inHeader         bool
		held, remembered time.Duration // after the creation; 0 for none
	}{
		{0, false, 0, 0},
		{time.Hour, false, time.Hour, time.Hour},
		{0, true, 0, 24 * time.Hour},
		{time.Hour, true, time.Hour, 24 * time.Hour},
		{48 * time.Hour, true, 48 * time.Hour, 48 * time.Hour},
	} {
		j := &job.Job{Key: &key, InsertedAt: conflictNow}
		HoldKey(j, &job.Spec{Throttle: c.throttle}, c.inHeader)
		after := func(d time.Duration) (at time.Time) {
			if d > 0 {
				at = conflictNow.Add(d)
			}
			return at
		}
		if !j.HeldUntil.Equal(after(c.held)) || !j.RememberedUntil.Equal(after(c.remembered)) {
			t.Errorf("%+v: held until %s, remembered until %s", c, j.HeldUntil, j.RememberedUntil)
		}
	}
	run := &job.Job{Key: &key, InsertedAt: conflictNow, ScheduleID: uuid.UUID{1}}
	HoldKey(run, &job.Spec{}, true)
	if !run.RememberedUntil.IsZero() {
		t.Error("the key of a run is remembered beyond its schedule")
	}
}
