package view

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

func TestSchedules_PartlySaysWhichAnOrderHas(t *testing.T) {
	t.Parallel()
	tagged := Filters{Chips: []ui.Chip{{}}}
	for _, test := range []struct {
		list *Schedules
		want string
	}{
		{&Schedules{Order: "next"}, "The next 100 at most; there may be more."},
		{&Schedules{Order: "next", Filters: tagged}, "Of the newest 100 that match."},
		{&Schedules{Order: "late"}, "Of the newest 100 schedules."},
		{&Schedules{Order: "late", Filters: tagged}, "Of the newest 100 that match."},
		{&Schedules{Order: "next", Search: "x"}, "The first 100 that were found."},
	} {
		if got := test.list.partly(); got != test.want {
			t.Errorf("%+v says %q, want %q", test.list, got, test.want)
		}
	}
}
