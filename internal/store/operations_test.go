package store_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/internal/store"
)

func TestPackNumbers_IsReadBack(t *testing.T) {
	for _, numbers := range [][]int64{nil, {1}, {7, 8, 9}, {1, 1 << 40, 1<<62 + 5}} {
		if got := store.UnpackNumbers(store.PackNumbers(numbers)); !slices.Equal(got, numbers) {
			t.Errorf("%v is read as %v", numbers, got)
		}
	}
	if n := len(store.PackNumbers([]int64{1_000_000, 1_000_001, 1_000_002})); n != 5 {
		t.Errorf("three neighbours take %d bytes, want 5", n)
	}
}

func TestNumbersAfter_ReturnsWhatFollowsThePosition(t *testing.T) {
	last, packed := store.OperationNumbers([]int64{9, 5, 4, 2})
	if last != 9 {
		t.Errorf("the last number is %d", last)
	}
	for _, x := range []struct {
		position int64
		limit    int
		want     []int64
	}{{0, 9, []int64{2, 4, 5, 9}}, {2, 2, []int64{4, 5}}, {3, 1, []int64{4}}, {9, 5, nil}} {
		if got := store.NumbersAfter(packed, x.position, x.limit); !slices.Equal(got, x.want) {
			t.Errorf("after %d: %v, want %v", x.position, got, x.want)
		}
	}
}

func FuzzUnpackNumbers(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	var numbers []int64
	for n := int64(0); len(numbers) < 20; n += r.Int64N(1000) + 1 {
		numbers = append(numbers, n)
	}
	f.Add(store.PackNumbers(numbers))
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, packed []byte) {
		if n := len(store.UnpackNumbers(packed)); n > len(packed) {
			t.Errorf("%d numbers in %d bytes", n, len(packed))
		}
	})
}
