package quota

import "testing"

func TestKnown_IsBoundedAndKeepsTheLatest(t *testing.T) {
	var k Known[int]
	if k.Has(0) {
		t.Error("something is known at first")
	}
	for i := range 3*maxKnown + 1 {
		k.Add(i)
		k.Add(i)
	}
	if n := len(k.recent) + len(k.older); n > 2*maxKnown {
		t.Errorf("%d keys are known", n)
	}
	for _, i := range []int{3 * maxKnown, 2*maxKnown + 1} {
		if !k.Has(i) {
			t.Errorf("%d is forgotten", i)
		}
	}
	for _, i := range []int{3 * maxKnown, 2 * maxKnown} {
		if k.Remove(i); k.Has(i) {
			t.Errorf("%d was removed and is known", i)
		}
	}
}
