package postgres

import (
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// The test reads cancels twice, as a node does if the response to its first read
// was lost.
func TestTakeCancels_KeepsACancelUntilItWasPassedOn(t *testing.T) {
	s, err := Open(t.Context(), pgtest.URL(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	// The node is registered by hand, so that only the test reads its cancels.
	const node = 7
	s.leases[node] = awake()
	cancels := []cancel{{node, 1, 1}, {node, 2, 4}, {node + 1, 3, 1}}
	one, two, three := store.Cancelled{Number: 1, Revision: 1}, store.Cancelled{Number: 2, Revision: 4},
		store.Cancelled{Number: 3, Revision: 1}
	older := store.Cancelled{Number: 2, Revision: 3} // a later cancel has replaced it
	err = s.write(t.Context(), func(x *tx) error { return x.commit(insertCancels(x, cancels)...) })
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ told, want []store.Cancelled }{
		{nil, []store.Cancelled{one, two}}, {nil, []store.Cancelled{one, two}}, {[]store.Cancelled{one}, []store.Cancelled{two}},
		{[]store.Cancelled{older}, []store.Cancelled{two}}, {[]store.Cancelled{two, three}, nil}, {nil, nil},
	} {
		if got, err := s.takeCancels(t.Context(), x.told); err != nil || !slices.Equal(got, x.want) {
			t.Errorf("after passing on %v it reads %v, %v; want %v", x.told, got, err, x.want)
		}
	}
}
