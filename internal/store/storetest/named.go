package storetest

import (
	"errors"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// nameTests verify that a record is not stored if what it names was deleted since its
// request was read, and that nothing is deleted that a record names.
var nameTests = group{
	"CreatesAreRefused":   namesOfCreates,
	"ChangesAreRefused":   namesOfChanges,
	"DeletionIsUnderWay":  namesDuringDeletion,
	"DeletionComesSecond": namesBeforeDeletion,
	"ChangeDuringOne":     namesOfPutDuringDeletion,
	"KeysOfTheRefused":    namesOfKeys,
	"RefusedDeletions":    namesOfRefusedDeletions,
}

// namingAll is the arguments of a schedule's job that names the limit l and the secret s.
func (w *world) namingAll(n store.NewJob) store.NewJob {
	n.Job.Args = rawjson.Value(usingBoth)
	if n.Schedule != nil {
		n.Schedule.Args = n.Job.Args
	}
	n.Names = store.NamesOf(n.Job.Args, &n.Job.Hidden)
	return n
}

func (w *world) insertNaming(jobs ...store.NewJob) []store.Inserted {
	w.Helper()
	results, err := w.s.JobInsertMany(w.ctx, jobs)
	w.ok("JobInsertMany", err)
	return results
}

func namesOfCreates(w *world) {
	w.withUses()
	if r := w.insertNaming(w.namingAll(w.recurring(w.owner, w.ahead()))); r[0].Gone {
		w.Error("what is there is gone")
	}
	grouped := w.oneOff(w.owner, w.ahead())
	grouped.Names = []store.Name{{Kind: store.NamesGroup, Name: "g"}}
	if r := w.insertNaming(grouped); !r[0].Gone {
		w.Error("a group that is not there is named")
	}
	w.putGroup(w.owner, "g", "[]")
	if r := w.insertNaming(grouped); r[0].Gone {
		w.Error("a group that is there is gone")
	}
	for _, kind := range []store.NameKind{store.NamesGroup, store.NamesLimit, store.NamesSecret} {
		bad := w.oneOff(w.owner, w.ahead())
		bad.Names = []store.Name{{Kind: kind, Name: "none"}}
		keyed := w.keyed(w.owner, "k")
		keyed.Names = bad.Names
		r := w.insertNaming(w.oneOff(w.owner, w.ahead()), bad, keyed, w.oneOff(w.other, w.ahead()))
		if r[0].Job == nil || r[0].Gone || !r[1].Gone || r[1].Job != nil || !r[2].Gone || r[3].Job == nil {
			w.Errorf("with a name of kind %d that is gone: %+v", kind, r)
		}
	}
}

func namesOfChanges(w *world) {
	gone := []store.Name{{Kind: store.NamesSecret, Name: "none"}}
	n := w.recurring(w.owner, w.ahead())
	j := w.insertOne(n)
	before := w.everything()
	_, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
		s := *m.Schedule
		s.Revision++
		return &store.Changes{Schedule: &s, UpdateDefinition: true, Names: gone}
	})
	w.refusedGone("ScheduleChange", err, before)
	_, err = w.s.JobChange(w.ctx, w.owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		c := cancel(m)
		c.Names = gone
		return c
	})
	w.refusedGone("JobChange", err, before)
	_, err = w.s.SchedulePut(w.ctx, w.owner, store.PutKeys{Keys: []string{"a"}}, func(*store.Holders) ([]*store.Changes, error) {
		next := w.recurring(w.owner, w.ahead())
		key := "a"
		next.Job.Key, next.Schedule.Key, next.Names = &key, &key, gone
		return []*store.Changes{{Next: &next}}, nil
	})
	w.refusedGone("SchedulePut", err, before)
}

func (w *world) refusedGone(what string, err error, before string) {
	w.Helper()
	if !errors.Is(err, store.ErrNameGone) {
		w.Errorf("%s: %v, want %v", what, err, store.ErrNameGone)
	}
	w.same(what+" left the store", w.everything(), before)
}

// namesDuringDeletion creates a schedule while the transaction that deletes its group has
// looked for schedules that name it.
func namesDuringDeletion(w *world) {
	w.putGroup(w.owner, "g", "[]")
	created := make(chan []store.Inserted, 1)
	begun := false
	err := w.s.GroupDelete(w.ctx, w.owner.Number, "g", func(int64) error {
		if !begun {
			begun = true
			go func() { created <- w.insertNaming(w.namingGroup()) }()
		}
		return nil
	})
	w.ok("GroupDelete", err)
	if r := <-created; !r[0].Gone {
		w.Errorf("a schedule was stored whose group was being deleted: %+v", r)
	}
}

// namesBeforeDeletion deletes a group while the transaction that stores a schedule with it
// is about to commit.
func namesBeforeDeletion(w *world) {
	w.putGroup(w.owner, "g", "[]")
	deleted := make(chan error, 1)
	begun := false
	_, err := w.s.JobInsertBatch(w.ctx, []store.NewJob{w.namingGroup()}, func(r []store.Inserted) error {
		if !begun {
			begun = true
			go func() {
				deleted <- w.insistently(func() error { return w.s.GroupDelete(w.ctx, w.owner.Number, "g", nil) })
			}()
		}
		return nil
	})
	w.ok("JobInsertBatch", err)
	if err := <-deleted; !errors.Is(err, store.ErrGroupNamed) {
		w.Errorf("a group was deleted that a schedule names: %v", err)
	}
}

func (w *world) namingGroup() store.NewJob {
	n := w.recurring(w.owner, w.ahead())
	n.Schedule.Args = rawjson.Value(`{"group":"g","cron":"@daily","method":"get"}`)
	n.Job.Args = n.Schedule.Args
	n.Names = store.NamesOf(n.Job.Args, &n.Job.Hidden)
	return n
}

// insistently calls f until it is not refused because others are under way.
func (w *world) insistently(f func() error) error {
	for {
		if err := f(); fault.CodeOf(err) != fault.Unavailable || errors.Is(err, store.ErrNameGone) || w.ctx.Err() != nil {
			return err
		}
	}
}

// namesOfPutDuringDeletion is namesDuringDeletion for a call that locks other records first.
func namesOfPutDuringDeletion(w *world) {
	w.putGroup(w.owner, "g", "[]")
	put := make(chan error, 1)
	begun := false
	key := "a"
	next := w.namingGroup()
	next.Job.Key, next.Schedule.Key = &key, &key
	err := w.s.GroupDelete(w.ctx, w.owner.Number, "g", func(int64) error {
		if !begun {
			begun = true
			go func() {
				put <- w.insistently(func() error {
					_, err := w.s.SchedulePut(w.ctx, w.owner, store.PutKeys{Keys: []string{key}},
						func(*store.Holders) ([]*store.Changes, error) { return []*store.Changes{{Next: &next}}, nil })
					return err
				})
			}()
		}
		return nil
	})
	w.ok("GroupDelete", err)
	if err := <-put; !errors.Is(err, store.ErrNameGone) {
		w.Errorf("SchedulePut of a schedule whose group was being deleted: %v", err)
	}
}

// namesOfKeys: a job that names what is not there does not keep its key from the others of
// its call.
func namesOfKeys(w *world) {
	for _, insert := range []func([]store.NewJob) ([]store.Inserted, error){
		func(jobs []store.NewJob) ([]store.Inserted, error) { return w.s.JobInsertMany(w.ctx, jobs) },
		func(jobs []store.NewJob) ([]store.Inserted, error) {
			return w.s.JobInsertBatch(w.ctx, jobs, func([]store.Inserted) error { return nil })
		},
	} {
		key := uuid.NewString()
		bad, last := w.keyed(w.owner, key), w.keyed(w.owner, key)
		bad.Names = []store.Name{{Kind: store.NamesSecret, Name: "none"}}
		last.Names = bad.Names
		r, err := insert([]store.NewJob{bad, w.keyed(w.owner, key), w.keyed(w.owner, key), last})
		w.ok("storing jobs with one key", err)
		if !r[0].Gone || r[1].Job == nil || r[1].Conflict || !r[2].Conflict || r[2].Job.ID != r[1].Job.ID || !r[3].Gone {
			w.Errorf("jobs with one key of which the first and the last name what is not there: %+v", r)
		}
	}
}

// namesOfRefusedDeletions: what can't be deleted is not deleted at once, also while a job
// is being stored that names other records.
func namesOfRefusedDeletions(w *world) {
	w.withUses()
	w.create(w.namingAll(w.recurring(w.owner, w.ahead())))
	_, err := w.s.JobInsertBatch(w.ctx, []store.NewJob{w.namingAll(w.recurring(w.owner, w.ahead()))}, func([]store.Inserted) error {
		_, err := w.s.LimitDelete(w.ctx, w.owner, "none")
		w.wantCode("LimitDelete of none", err, fault.NotFound)
		_, err = w.s.SecretDelete(w.ctx, w.owner.Number, "none", 10)
		w.wantCode("SecretDelete of none", err, fault.NotFound)
		w.wantCode("GroupDelete of none", w.s.GroupDelete(w.ctx, w.owner.Number, "none", nil), fault.NotFound)
		named, err := w.s.LimitDelete(w.ctx, w.owner, "l")
		if err != nil || named != 1 {
			w.Errorf("LimitDelete of one that a job names: %d, %v", named, err)
		}
		uses, err := w.s.SecretDelete(w.ctx, w.owner.Number, "s", 10)
		if err != nil || uses != 1 {
			w.Errorf("SecretDelete of one that a job names: %d, %v", uses, err)
		}
		return nil
	})
	w.ok("JobInsertBatch", err)
}
