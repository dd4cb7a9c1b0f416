package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var muteTests = group{
	"AreStored":             mutesStored,
	"EndWithTheFailures":    mutesAcknowledge,
	"AreBounded":            mutesBounded,
	"AreInTheSnapshot":      mutesTracked,
	"DeletedWithTheirOwner": mutesPurged,
}

func (w *world) mute(owner job.Owner, schedule uuid.UUID, until time.Time, note string) {
	w.Helper()
	w.ok("MutePut", w.s.MutePut(w.ctx, &job.Mute{Account: owner.Number, Schedule: schedule, Until: until, Note: &note}, false, nil))
}

// wantMutes compares the notes of an account's mutes in force.
func (w *world) wantMutes(owner job.Owner, schedules []uuid.UUID, want string) {
	w.Helper()
	found, err := w.s.MuteList(w.ctx, owner.Number, schedules)
	w.ok("MuteList", err)
	var notes []string
	for _, m := range found {
		if m.Account != owner.Number || m.MutedAt.IsZero() {
			w.Errorf("mute %+v", m)
		}
		notes = append(notes, *m.Note)
	}
	w.same("the mutes", strings.Join(notes, " "), want)
}

func mutesStored(w *world) {
	first, second := w.insertOne(w.recurring(w.owner, w.ahead())).ScheduleID, w.insertOne(w.recurring(w.owner, w.ahead())).ScheduleID
	theirs := w.insertOne(w.recurring(w.other, w.ahead())).ScheduleID
	w.mute(w.owner, first, time.Time{}, "a")
	w.mute(w.owner, second, w.s.Now().Add(time.Hour), "b")
	w.mute(w.other, theirs, time.Time{}, "x")
	w.mute(w.owner, first, w.s.Now().Add(time.Minute), "A")
	w.wantMutes(w.owner, []uuid.UUID{second, first, theirs, uuid.New()}, "b A")
	w.wantMutes(w.owner, []uuid.UUID{}, "")
	if all, err := w.s.MuteList(w.ctx, w.owner.Number, nil); err != nil || len(all) != 2 {
		w.Errorf("all: %v, %v", all, err)
	}
	for _, id := range []uuid.UUID{theirs, uuid.New()} {
		w.wantCode("MutePut of another's", w.s.MutePut(w.ctx, &job.Mute{Account: w.owner.Number, Schedule: id}, false, nil), fault.NotFound)
		_, err := w.s.MuteDelete(w.ctx, w.owner.Number, id, nil)
		w.wantCode("MuteDelete of another's", err, fault.NotFound)
	}
	refusal := fault.New(fault.Stale, "refused")
	refuse := func(revision int64) error {
		if revision != 1 {
			w.Errorf("the revision is %d", revision)
		}
		return refusal
	}
	w.wantCode("MutePut", w.s.MutePut(w.ctx, &job.Mute{Account: w.owner.Number, Schedule: first}, false, refuse), fault.Stale)
	_, err := w.s.MuteDelete(w.ctx, w.owner.Number, first, refuse)
	w.wantCode("MuteDelete", err, fault.Stale)
	w.wantMutes(w.owner, []uuid.UUID{first}, "A")
	for _, want := range []bool{true, false} {
		if unmuted, err := w.s.MuteDelete(w.ctx, w.owner.Number, first, nil); err != nil || unmuted != want {
			w.Errorf("MuteDelete: %v, %v", unmuted, err)
		}
	}
	w.mute(w.owner, second, w.s.Now().Add(-time.Second), "past")
	w.wantMutes(w.owner, []uuid.UUID{first, second}, "")
	w.wantMutes(w.other, []uuid.UUID{theirs}, "x")
	w.ok("MuteCopy", w.s.MuteCopy(w.ctx, &job.Mute{Account: w.other.Number, Schedule: theirs, MutedAt: w.now}))
	w.wantMutes(w.other, []uuid.UUID{theirs}, "x")
}

// fail sets since when a schedule fails; zero if it doesn't.
func (w *world) fail(j *job.Job, since time.Time) {
	w.Helper()
	_, err := w.s.ScheduleChange(w.ctx, j.Owner, j.ScheduleID, func(m *store.Snapshot) *store.Changes {
		changed := *m.Schedule
		changed.Failures, changed.FailingSince, changed.Failure = 1, since, "timeout"
		if since.IsZero() {
			changed.Failures, changed.Failure = 0, ""
		}
		return &store.Changes{Schedule: &changed}
	})
	w.ok("ScheduleChange", err)
}

// mutesAcknowledge: a mute of failures ends when they end, and doesn't begin again with
// later ones.
func mutesAcknowledge(w *world) {
	j := w.insertOne(w.recurring(w.owner, w.ahead()))
	note := "known"
	acknowledge := func() error {
		return w.s.MutePut(w.ctx, &job.Mute{Account: w.owner.Number, Schedule: j.ScheduleID, Note: &note}, true, nil)
	}
	w.wantCode("MutePut of what does not fail", acknowledge(), fault.Conflict)
	w.fail(j, w.now)
	w.ok("MutePut", acknowledge())
	ids := []uuid.UUID{j.ScheduleID}
	w.wantMutes(w.owner, ids, "known")
	w.fail(j, time.Time{})
	w.wantMutes(w.owner, ids, "")
	w.fail(j, w.now.Add(time.Second))
	w.wantMutes(w.owner, ids, "")
}

// mutesBounded: no more than job.MaxMutes are in force at once; others don't count, and are
// deleted.
func mutesBounded(w *world) {
	var jobs []store.NewJob
	for range job.MaxMutes + 1 {
		jobs = append(jobs, w.recurring(w.owner, w.ahead()))
	}
	stored := w.insert(jobs...)
	for i, j := range stored[1:] {
		w.ok("MuteCopy", w.s.MuteCopy(w.ctx, &job.Mute{Account: w.owner.Number, Schedule: j.ScheduleID, MutedAt: w.now,
			Note: new(fmt.Sprint(i))}))
	}
	one := &job.Mute{Account: w.owner.Number, Schedule: stored[0].ScheduleID}
	w.wantCode("one more", w.s.MutePut(w.ctx, one, false, nil), fault.Conflict)
	w.mute(w.owner, stored[1].ScheduleID, w.s.Now().Add(-time.Second), "past")
	w.ok("MutePut", w.s.MutePut(w.ctx, one, false, nil))
	if all, err := w.s.MuteList(w.ctx, w.owner.Number, nil); err != nil || len(all) != job.MaxMutes {
		w.Errorf("%d mutes, %v", len(all), err)
	}
}

func mutesTracked(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	muted, other := w.insertOne(w.recurring(w.owner, w.ahead())), w.insertOne(w.recurring(w.owner, w.ahead()))
	w.mute(w.owner, muted.ScheduleID, time.Time{}, "a")
	w.mute(w.owner, other.ScheduleID, w.s.Now().Add(-time.Second), "past")
	w.record(muted, store.AlertOutcome{Kind: store.AlertFailed, At: w.now})
	m := w.trackAlerts(w.owner, nil, nil)
	w.same("the muted schedules", fmt.Sprint(m.Muted), fmt.Sprint(map[uuid.UUID]bool{muted.ScheduleID: true}))
}

func mutesPurged(w *world) {
	j, theirs := w.insertOne(w.recurring(w.owner, w.ahead())), w.insertOne(w.recurring(w.other, w.ahead()))
	w.mute(w.owner, j.ScheduleID, time.Time{}, "a")
	w.mute(w.other, theirs.ScheduleID, time.Time{}, "x")
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.s.Now()))
	w.wantMutes(w.owner, nil, "")
	w.wantMutes(w.other, nil, "x")
}
