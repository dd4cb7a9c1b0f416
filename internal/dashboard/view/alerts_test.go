package view

import "testing"

func TestAlert_SaysWhatItIsOpenFor(t *testing.T) {
	for want, a := range map[string]Alert{
		"": {}, "open for 1 schedule": {Failing: 1}, "open for one-off jobs": {OneOff: true},
		"open for 3 schedules and one-off jobs": {Failing: 3, OneOff: true},
	} {
		if got := a.open(); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}
