package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/store"
)

func listenerOf(c *cluster, node int, name, tag string) store.Listener {
	return store.Listener{ID: uuid.New(), Node: c.nodes[node], Account: 7, Name: name, Tag: tag,
		Since: c.stores[node].Now().Truncate(time.Microsecond)}
}

func add(t *testing.T, s store.Relay, l store.Listener, most int, want bool) {
	t.Helper()
	if added, err := s.ListenerAdd(t.Context(), l, most); err != nil || added != want {
		t.Fatalf("adding a listener: %v %v, want %v", added, err, want)
	}
}

func TestRelay_ListsListenersOfLivingNodes(t *testing.T) {
	t.Parallel()
	c := nodes(t, migrated(t), 2)
	a, b := c.stores[0], c.stores[1]
	one, two := listenerOf(c, 0, "dev", ""), listenerOf(c, 1, "", "x:y")
	add(t, a, one, 2, true)
	add(t, b, two, 2, true)
	add(t, b, listenerOf(c, 1, "third", ""), 2, false)
	if others, err := a.ListenerSync(t.Context(), c.nodes[0], []store.Listener{one}); err != nil || len(others) != 1 ||
		!sameListener(others[0], two) {
		t.Errorf("the first node sees %v, %v", others, err)
	}
	if named, err := b.ListenersNamed(t.Context(), 7, "dev"); err != nil || len(named) != 1 || !sameListener(named[0], one) {
		t.Errorf("named: %v, %v", named, err)
	}
	if named, err := b.ListenersNamed(t.Context(), 8, "dev"); err != nil || len(named) != 0 {
		t.Errorf("of another account: %v, %v", named, err)
	}
	one.Draining = true
	missing := listenerOf(c, 0, "lost", "")
	if _, err := a.ListenerSync(t.Context(), c.nodes[0], []store.Listener{one, missing}); err != nil {
		t.Fatal(err)
	}
	others, err := b.ListenerSync(t.Context(), c.nodes[1], []store.Listener{two})
	if err != nil || len(others) != 2 || !slices.ContainsFunc(others, func(l store.Listener) bool { return l.ID == one.ID && l.Draining }) {
		t.Errorf("the second node sees %v, %v", others, err)
	}
	if err := a.NodeStop(t.Context(), c.nodes[0]); err != nil {
		t.Fatal(err)
	}
	if others, err := b.ListenerSync(t.Context(), c.nodes[1], []store.Listener{two}); err != nil || len(others) != 0 {
		t.Errorf("of a node that is gone: %v, %v", others, err)
	}
	add(t, b, listenerOf(c, 1, "third", ""), 2, true)
}

func sameListener(a, b store.Listener) bool {
	return a.ID == b.ID && a.Node == b.Node && a.Account == b.Account && a.Name == b.Name && a.Tag == b.Tag && a.Since.Equal(b.Since) &&
		a.Draining == b.Draining
}

// TestRelay_AListenerMayBeSyncedBeforeItIsAdded: a node knows of a listener, and lists
// it with its others, while it is still being added.
func TestRelay_AListenerMayBeSyncedBeforeItIsAdded(t *testing.T) {
	t.Parallel()
	c := nodes(t, migrated(t), 1)
	s, l := c.stores[0], listenerOf(c, 0, "dev", "")
	if _, err := s.ListenerSync(t.Context(), c.nodes[0], []store.Listener{l}); err != nil {
		t.Fatal(err)
	}
	add(t, s, l, 1, true)
	add(t, s, listenerOf(c, 0, "dev", ""), 1, false)
	if named, err := s.ListenersNamed(t.Context(), 7, "dev"); err != nil || len(named) != 1 {
		t.Errorf("named: %v, %v", named, err)
	}
}

func TestRelay_CountsListenersExactly(t *testing.T) {
	t.Parallel()
	c := nodes(t, migrated(t), 2)
	var added atomic.Int64
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			ok, err := c.stores[i%2].ListenerAdd(t.Context(), listenerOf(c, i%2, "dev", ""), 10)
			if err != nil {
				t.Error(err)
			}
			if ok {
				added.Add(1)
			}
		})
	}
	if group.Wait(); added.Load() != 10 {
		t.Errorf("%d listeners were added, want 10", added.Load())
	}
}

func TestRelay_PassesEachRequestOnce(t *testing.T) {
	t.Parallel()
	c := nodes(t, migrated(t), 2)
	a, b, ctx := c.stores[0], c.stores[1], t.Context()
	l := listenerOf(c, 1, "dev", "")
	add(t, b, l, 1, true)
	var ids []uuid.UUID
	for i := range 3 {
		r := store.RelayRequest{ID: uuid.New(), Listener: l.ID, ExpiresAt: a.Now().Add(time.Minute),
			Request: []byte(fmt.Sprintf("\x00request %d", i))}
		ids = append(ids, r.ID)
		if err := a.RelayAsk(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var taken []string
	for range 4 {
		group.Go(func() {
			got, err := b.RelayTake(ctx, []uuid.UUID{l.ID, uuid.New()})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range got {
				taken = append(taken, string(r.Request))
			}
		})
	}
	group.Wait()
	for len(taken) < 3 {
		got, err := b.RelayTake(ctx, []uuid.UUID{l.ID})
		if err != nil || len(got) != 1 {
			t.Fatalf("taking: %v %v", got, err)
		}
		taken = append(taken, string(got[0].Request))
	}
	if slices.Sort(taken); !slices.Equal(taken, []string{"\x00request 0", "\x00request 1", "\x00request 2"}) {
		t.Errorf("taken: %q", taken)
	}
	if dropped, err := a.RelayDrop(ctx, ids[0], true); err != nil || dropped {
		t.Errorf("a request that was taken was dropped: %v %v", dropped, err)
	}
	if err := b.RelayAnswer(ctx, ids[0], []byte("answer\x00")); err != nil {
		t.Fatal(err)
	}
	if dropped, err := a.RelayDrop(ctx, ids[1], false); err != nil || !dropped {
		t.Errorf("dropping: %v %v", dropped, err)
	}
	if err := b.RelayAnswer(ctx, ids[1], []byte("too late")); err != nil {
		t.Error(err)
	}
	if wanted, err := b.RelayWanted(ctx, ids); err != nil || len(wanted) != 2 || slices.Contains(wanted, ids[1]) {
		t.Errorf("wanted: %v %v", wanted, err)
	}
	states, err := a.RelayStates(ctx, ids)
	if err != nil || len(states) != 2 {
		t.Fatalf("states: %v %v", states, err)
	}
	for _, s := range states {
		if want := (store.RelayState{ID: s.ID, Taken: true, Answered: s.ID == ids[0]}); s != want {
			t.Errorf("state %+v, want %+v", s, want)
		}
	}
	if answer, err := a.RelayCollect(ctx, ids[0]); err != nil || string(answer) != "answer\x00" {
		t.Errorf("collected %q %v", answer, err)
	}
	if answer, err := a.RelayCollect(ctx, ids[0]); err != nil || answer != nil {
		t.Errorf("collected again: %q %v", answer, err)
	}
	l.Draining = true
	late := store.RelayRequest{ID: uuid.New(), Listener: l.ID, ExpiresAt: a.Now().Add(-time.Second), Request: []byte("x")}
	if err := a.RelayAsk(ctx, late); err != nil {
		t.Fatal(err)
	}
	sync := func(mine ...store.Listener) {
		if _, err := b.ListenerSync(ctx, c.nodes[1], mine); err != nil {
			t.Fatal(err)
		}
	}
	sync(l)
	if states, err := a.RelayStates(ctx, []uuid.UUID{ids[2], late.ID}); err != nil || len(states) != 1 || states[0].Gone {
		t.Errorf("while it drains, a taken request is %+v %v", states, err)
	}
	sync()
	if states, err := a.RelayStates(ctx, ids[2:]); err != nil || len(states) != 1 || !states[0].Gone || !states[0].Taken {
		t.Errorf("without its listener, a request is %+v %v", states, err)
	}
}
