package job

import "testing"

func TestHops(t *testing.T) {
	if got := Hops(t.Context()); got != 0 {
		t.Errorf("a call without the field has %d hops", got)
	}
	for field, want := range map[string]int{
		"0": 0, "1": 1, "2": 2, "3": 3, "4": 3, "99999999999999999999": 3, "-1": 3, "": 3, "x": 3, "1, 2": 3, " 1": 3,
	} {
		if got := Hops(WithHops(t.Context(), field)); got != want {
			t.Errorf("%q: got %d, want %d", field, got, want)
		}
	}
}
