package storetest

import (
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var groupTests = group{
	"AreStored":       groupsStored,
	"AreBounded":      groupsBounded,
	"HaveConditions":  groupsConditions,
	"KeyIsReleased":   groupsKey,
	"FanOutIsStored":  groupsFanOut,
	"ChildrenAreRead": groupsChildren,
}

func (w *world) putGroup(owner job.Owner, name, targets string) bool {
	w.Helper()
	created, err := w.s.GroupPut(w.ctx, &job.Group{Account: owner.Number, Name: name, Targets: rawjson.Value(targets)}, nil)
	w.ok("GroupPut", err)
	return created
}

func (w *world) wantGroups(owner job.Owner, after, want string) {
	w.Helper()
	found, err := w.s.GroupList(w.ctx, owner.Number, after, 2)
	w.ok("GroupList", err)
	got := ""
	for _, g := range found {
		got += g.Name + string(g.Targets) + " "
		if one, err := w.s.GroupGet(w.ctx, owner.Number, g.Name); err != nil || string(one.Targets) != string(g.Targets) ||
			one.Account != owner.Number {
			w.Errorf("GroupGet of %s: %+v, %v", g.Name, one, err)
		}
	}
	if got != want {
		w.Errorf("groups after %q: %q, want %q", after, got, want)
	}
}

func groupsStored(w *world) {
	for _, owner := range []job.Owner{w.owner, w.other} { // with the same names
		for i, name := range []string{"b", "a", "C", "b"} {
			if created := w.putGroup(owner, name, fmt.Sprintf("[%d]", owner.Number*10+int64(i))); created != (i < 3) {
				w.Errorf("GroupPut of %s: created %v", name, created)
			}
		}
	}
	n := w.owner.Number * 10
	w.wantGroups(w.owner, "", fmt.Sprintf("C[%d] a[%d] ", n+2, n+1))
	w.wantGroups(w.owner, "a", fmt.Sprintf("b[%d] ", n+3))
	w.ok("GroupDelete", w.s.GroupDelete(w.ctx, w.owner.Number, "b", nil))
	w.wantCode("GroupDelete", w.s.GroupDelete(w.ctx, w.owner.Number, "b", nil), fault.NotFound)
	w.wantGroups(w.owner, "a", "")
	w.wantGroups(w.other, "a", fmt.Sprintf("b[%d] ", w.other.Number*10+3))
	_, err := w.s.GroupGet(w.ctx, w.owner.Number, "b")
	w.wantCode("GroupGet", err, fault.NotFound)
}

// groupsConditions verifies that changes see the revision of what they change, and that
// each change has another, even when the clock stands still.
func groupsConditions(w *world) {
	refusal := fault.New(fault.Stale, "refused")
	var seen int64
	refuse := func(revision int64) error { seen = revision; return refusal }
	allow := func(revision int64) error { seen = revision; return nil }
	put := func(holds func(int64) error) (*job.Group, error) {
		g := &job.Group{Account: w.owner.Number, Name: "g", Targets: rawjson.Value("[]")}
		_, err := w.s.GroupPut(w.ctx, g, holds)
		return g, err
	}
	other := &job.Group{Account: w.other.Number, Name: "g", Targets: rawjson.Value("[]")}
	if _, err := w.s.GroupPut(w.ctx, other, nil); err != nil {
		w.Fatal(err)
	}
	if _, err := put(refuse); err != refusal || seen != 0 {
		w.Errorf("GroupPut of none that is refused: %v, revision %d", err, seen)
	}
	last := int64(0)
	for range 3 {
		g, err := put(allow)
		w.ok("GroupPut", err)
		stored, err := w.s.GroupGet(w.ctx, w.owner.Number, "g")
		w.ok("GroupGet", err)
		if seen != last || g.Revision() <= last || stored.Revision() != g.Revision() {
			w.Errorf("GroupPut saw revision %d and made %d, stored %d, after %d", seen, g.Revision(), stored.Revision(), last)
		}
		last = g.Revision()
	}
	if err := w.s.GroupDelete(w.ctx, w.owner.Number, "g", refuse); err != refusal || seen != last {
		w.Errorf("GroupDelete that is refused: %v, revision %d of %d", err, seen, last)
	}
	copied := &job.Group{Account: w.owner.Number, Name: "g", Targets: rawjson.Value("[1]"),
		InsertedAt: w.now.Add(-2 * time.Hour).Truncate(time.Microsecond), UpdatedAt: w.now.Add(-time.Hour).Truncate(time.Microsecond)}
	for range 2 {
		w.ok("GroupCopy", w.s.GroupCopy(w.ctx, copied))
		stored, err := w.s.GroupGet(w.ctx, w.owner.Number, "g")
		w.ok("GroupGet", err)
		if !stored.InsertedAt.Equal(copied.InsertedAt) || stored.Revision() != copied.Revision() || string(stored.Targets) != "[1]" {
			w.Errorf("GroupCopy stored %+v", stored)
		}
	}
	w.ok("GroupDelete", w.s.GroupDelete(w.ctx, w.owner.Number, "g", allow))
	w.wantCode("GroupDelete of none", w.s.GroupDelete(w.ctx, w.owner.Number, "g", refuse), fault.NotFound)
	if _, err := w.s.GroupGet(w.ctx, w.other.Number, "g"); err != nil {
		w.Errorf("the group of the other account: %v", err)
	}
}

func groupsBounded(w *world) {
	for i := range job.MaxGroups {
		w.putGroup(w.owner, fmt.Sprint("g", i), "[]")
	}
	_, err := w.s.GroupPut(w.ctx, &job.Group{Account: w.owner.Number, Name: "more", Targets: rawjson.Value("[]")}, nil)
	w.wantCode("GroupPut beyond the maximum", err, fault.TooMany)
	w.putGroup(w.owner, "g7", "[1]")
	w.putGroup(w.other, "more", "[]")
}

func groupsKey(w *world) {
	held := func(owner job.Owner) store.NewJob {
		n := w.keyed(owner, "k")
		n.Job.HeldUntil, n.Job.RememberedUntil = w.now.Add(1000*time.Hour), w.now.Add(1000*time.Hour)
		return n
	}
	jobs := w.insert(held(w.owner), held(w.other))
	for _, j := range jobs {
		w.finish(w.end(w.get(j), w.begin(w.get(j)), w.completes))
	}
	if r := w.create(w.keyed(w.owner, "k")); !r.Conflict {
		w.Error("the key of a final job that holds it is free")
	}
	w.ok("KeyRelease", w.s.KeyRelease(w.ctx, w.owner, jobs[0].Number, w.now, w.now.Add(time.Hour)))
	again := w.keyed(w.owner, "k")
	again.KeyInHeader = true
	if r := w.create(again); !r.Conflict || r.Job.Number != jobs[0].Number {
		w.Error("the key that was released is not remembered for requests with the header")
	}
	if r := w.create(w.keyed(w.owner, "k")); r.Conflict {
		w.Error("the key that was released is held")
	}
	if r := w.create(w.keyed(w.other, "k")); !r.Conflict {
		w.Error("the key of another account was released")
	}
}

// fanOut ends a run and stores three jobs in its place.
func (w *world) fanOut(run *job.Job) []*job.Job {
	w.Helper()
	read := w.get(run)
	var children []*job.Job
	w.finish(w.end(read, w.begin(read), func(ended *job.Job, c *store.Changes) {
		w.completes(ended, c)
		children = nil
		for range 3 {
			n := w.oneOff(run.Owner, w.past())
			n.Job.Parent = run.Number
			c.Also = append(c.Also, n)
			children = append(children, n.Job)
		}
	}))
	return children
}

func groupsFanOut(w *world) {
	run := w.insertOne(w.oneOff(w.owner, w.past()))
	theirs := w.insertOne(w.oneOff(w.other, w.past()))
	children := w.fanOut(run)
	w.wantDue("after a fan-out", append([]*job.Job{theirs}, children...)...)
	if got := w.get(children[1]); got.Parent != run.Number || got.State != job.Available {
		w.Errorf("a child: parent %d, %s", got.Parent, showJob(got))
	}
	if got := w.get(run); got.Parent != 0 || got.State != job.Completed {
		w.Errorf("the run: parent %d, %s", got.Parent, showJob(got))
	}
}

func groupsChildren(w *world) {
	run := w.insertOne(w.oneOff(w.owner, w.past()))
	children := w.fanOut(run)
	w.insertOne(w.oneOff(w.owner, w.past()))
	list := func(owner job.Owner, q job.Query) (numbers []int64) {
		q.Limit = 100
		found, err := w.s.JobList(w.ctx, owner, q)
		w.ok("JobList", err)
		for _, j := range found {
			numbers = append(numbers, j.Number)
		}
		return numbers
	}
	if got := list(w.owner, job.Query{Parent: run.Number}); len(got) != 3 || got[0] != children[2].Number {
		w.Errorf("children: %v, want those of %d, newest first", got, run.Number)
	}
	if got := list(w.other, job.Query{Parent: run.Number}); len(got) != 0 {
		w.Errorf("children of another account's run: %v", got)
	}
}
