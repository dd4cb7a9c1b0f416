package postgres

import (
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// The test reads cancels twice, as a node does if the response to its first read
// was lost.
func TestTakeCancels_KeepsACancelUntilItWasPassedOn(t *testing.T) {
	s, err := Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	// The node is registered by hand, so that only the test reads its cancels.
	const node = 7
	s.leases[node] = awake()
	cancels := []cancel{{node, 1}, {node, 2}, {node + 1, 3}}
	err = s.write(t.Context(), func(x *tx) error { return x.commit(insertCancels(x, cancels)...) })
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ told, want []int64 }{
		{nil, []int64{1, 2}}, {nil, []int64{1, 2}}, {[]int64{1}, []int64{2}}, {[]int64{2, 3}, nil}, {nil, nil},
	} {
		if got, err := s.takeCancels(t.Context(), x.told); err != nil || !slices.Equal(got, x.want) {
			t.Errorf("after passing on %v it reads %v, %v; want %v", x.told, got, err, x.want)
		}
	}
}
