package storetest

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// with adds members to a new job's args.
func with(n store.NewJob, members string) store.NewJob {
	n.Job.Args = rawjson.Value(strings.TrimSuffix(string(n.Job.Args), "}") + "," + members + "}")
	return n
}

// expire makes items due that may have expired.
func (w *world) expire(most int) (next time.Time) {
	w.Helper()
	next, err := w.s.LimitExpire(w.ctx, most)
	w.ok("LimitExpire", err)
	return next
}

func limitsExpire(w *world) {
	if next := w.expire(10); !next.IsZero() {
		w.Errorf("without limits, the next item expires at %v", next)
	}
	w.limit("a", limit.Limit{Paused: true})
	w.limit("b", limit.Limit{Parallel: 1})
	free := w.insertOne(with(w.limited(w.past(), "b"), `"expires_in":[1,"hour"]`))
	w.pass("b")
	const minute = `"expires_in":[1,"minute"]`
	jobs := w.insert(
		with(w.limited(w.past(), "b", "a"), minute),
		w.limited(w.past(), "a"),
		with(w.limited(w.past().Add(time.Second), "a"), minute),
		with(w.limited(w.ahead(), "a"), minute),
	)
	if next := w.expire(1); !next.Equal(w.past().Add(time.Second + time.Minute)) {
		w.Errorf("after the first of two expired items, the next expires at %v", next)
	}
	w.wantDue("after the first of two expired items", free, jobs[0])
	if next := w.expire(10); !next.Equal(w.ahead().Add(time.Minute)) {
		w.Errorf("after all expired items, the next expires at %v", next)
	}
	w.wantDue("after all expired items", free, jobs[0], jobs[2])
	w.wantLimitUse("a", 1, 0)
	w.wantLimitUse("b", 0, 1)
	item := w.load(*w.queued(jobs[2]))
	if item.Granted || !item.OwnDue.Equal(w.past().Add(time.Second)) || !item.HeldBack() {
		w.Errorf("the expired item is granted %v, its own due time %v", item.Granted, item.OwnDue)
	}
	w.finish(w.end(w.get(jobs[2]), w.begin(w.get(jobs[2])), w.completes))
	w.wantDue("after the end of one", free, jobs[0])
	w.pass("b")
	if next := w.expire(10); !next.Equal(w.ahead().Add(time.Minute)) {
		w.Errorf("after a pass, the next expires at %v", next)
	}
}

func limitsExpireAgain(w *world) {
	w.limit("a", limit.Limit{Paused: true})
	n := with(w.limited(w.past(), "a"), `"repeat_every":[1,"day"],"catch_up":"none"`)
	n.Job.ScheduleID = uuid.Must(uuid.NewV7())
	j := w.insertOne(n)
	w.expire(10)
	w.wantDue("a second after the due time", j)
	item := w.load(*w.queued(j))
	held := store.HeldItem{QueueKey: item.QueueKey, Keys: item.Limits, Named: item.Named, Expires: w.ahead()}
	w.ok("LimitHold", w.s.LimitHold(w.ctx, []store.HeldItem{held}))
	w.wantDue("when it is held again")
	if next := w.expire(10); !next.Equal(w.ahead()) {
		w.Errorf("the item held again expires at %v, want %v", next, w.ahead())
	}
	if own, held := store.OwnDue(w.get(j).DueAt); !held || !own.Equal(w.past()) || w.get(j).State != job.Available {
		w.Errorf("the item held again is due at %v (held: %v)", own, held)
	}
}
