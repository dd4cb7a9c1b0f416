package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// keysOf returns the keys of entries with their revisions.
func keysOf(entries []job.DocumentEntry) string {
	var parts []string
	for _, e := range entries {
		parts = append(parts, fmt.Sprint(e.Key, e.Revision))
	}
	return strings.Join(parts, " ")
}

// apply puts schedules that belong to a document, and removes those that are not
// listed.
func (w *world) apply(document string, keys ...string) error {
	entries, err := w.s.DocumentEntries(w.ctx, w.owner, document)
	w.ok("DocumentEntries", err)
	all := slices.Clone(keys)
	for _, e := range entries {
		if !slices.Contains(keys, e.Key) {
			all = append(all, e.Key)
		}
	}
	_, err = w.s.SchedulePut(w.ctx, w.owner, store.PutKeys{Keys: all, Document: document},
		func(held *store.Holders) ([]*store.Changes, error) {
			if !slices.Equal(held.Entries, entries) {
				return nil, errChanged
			}
			changes := make([]*store.Changes, len(all))
			for i, h := range held.Keys {
				switch {
				case i >= len(keys):
					j := *h.Job
					changes[i] = cancel(&h.Snapshot)
					changes[i].Job.ID = j.ID
					changes[i].Schedule, changes[i].DropSchedule = h.Schedule, true
				case h.Schedule == nil:
					n := w.newWithKey(all[i])
					n.Schedule.Document = document
					changes[i] = &store.Changes{Next: &n}
				case h.Schedule.Document != document:
					changes[i] = renamed(&h, "taken over")
					changes[i].Schedule.Document = document
				}
			}
			return changes, nil
		})
	return err
}

var errChanged = fmt.Errorf("the document has changed")

func definitionsDocument(w *world) {
	var created int
	_, err := w.put(&created, "n", "free")
	w.ok("SchedulePut", err)
	w.ok("SchedulePut with a document", w.apply("repo", "b", "ä", "A", "free"))
	w.ok("SchedulePut with another document", w.apply("other", "c"))
	check := func(document, want string) {
		w.Helper()
		entries, err := w.s.DocumentEntries(w.ctx, w.owner, document)
		w.ok("DocumentEntries", err)
		if got := keysOf(entries); got != want {
			w.Errorf("%s has %s, want %s", document, got, want)
		}
	}
	check("repo", "A1 b1 free2 ä1")
	check("other", "c1")
	check("", "")
	w.ok("SchedulePut with fewer", w.apply("repo", "b"))
	check("repo", "b1")
	if n := len(w.peek()); n != 2 {
		w.Errorf("the queue has %d items, want the runs of b and c", n)
	}
	found, err := w.s.ScheduleHolding(w.ctx, w.owner, "b")
	w.ok("ScheduleHolding", err)
	if found.Document != "repo" {
		w.Errorf("the schedule belongs to %q", found.Document)
	}
}

// Of documents that are applied at once, the last one stands alone.
func definitionsDocumentAtOnce(w *world) {
	const callers = 8
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for range 100 {
				if err := w.apply("repo", fmt.Sprint("k", i)); err == nil {
					return
				}
			}
			w.Error("the document changed a hundred times")
		})
	}
	group.Wait()
	entries, err := w.s.DocumentEntries(w.ctx, w.owner, "repo")
	w.ok("DocumentEntries", err)
	if len(entries) != 1 || len(w.peek()) != 1 {
		w.Errorf("the document has %s, and the queue %d items; want one", keysOf(entries), len(w.peek()))
	}
}

func definitionsKeyed(w *world) {
	var created int
	_, err := w.put(&created, "n", "b", "Z", "ä")
	w.ok("SchedulePut", err)
	w.ok("SchedulePut with a document", w.apply("repo", "a", "é"))
	w.insertOne(w.recurring(w.owner, w.ahead())) // has no key
	repo, none := "repo", "none"
	for _, x := range []struct {
		document *string
		after    string
		limit    int
		want     string
	}{
		{nil, "", 10, "Z a b ä é"}, {nil, "", 2, "Z a"}, {nil, "a", 2, "b ä"}, {nil, "é", 2, ""},
		{&repo, "", 10, "a é"}, {&repo, "a", 10, "é"}, {&none, "", 10, ""},
	} {
		found, err := w.s.ScheduleKeyed(w.ctx, w.owner, x.document, x.after, x.limit)
		w.ok("ScheduleKeyed", err)
		var keys []string
		for _, s := range found {
			keys = append(keys, *s.Key)
		}
		if got := strings.Join(keys, " "); got != x.want {
			w.Errorf("after %q: %s, want %s", x.after, got, x.want)
		}
	}
}

// definitionsLarge: keys of a few bytes do not make a call read more than MaxPut.
func definitionsLarge(w *world) {
	const size = 1 << 20
	const enough = store.MaxPut/2/size - 1 // of the schedules fit, each with its run
	keys := []string{"free"}
	for i := range enough + 2 {
		n := w.newWithKey(fmt.Sprint(i))
		n.Job.Args = rawjson.Value(strings.Replace(hourly, "{", `{"body":"`+strings.Repeat("x", size)+`",`, 1))
		n.Schedule.Args = n.Job.Args
		w.insertOne(n)
		keys = append(keys, *n.Job.Key)
	}
	before := w.everything()
	var created int
	_, err := w.put(&created, "n", keys...)
	w.wantCode("SchedulePut of too large schedules", err, fault.Invalid)
	w.same("the records after SchedulePut of too large schedules", w.everything(), before)
	_, err = w.put(&created, "n", keys[:enough/2+2]...) // so many that counting a record twice refuses them
	w.ok("SchedulePut of fewer", err)
	if created != 1 {
		w.Errorf("%d schedules were created, want 1", created)
	}
}
