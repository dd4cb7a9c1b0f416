package dashboard

import (
	"fmt"
	"strings"
	"testing"
)

// TestRehearsal_ListsSomeSchedules has more schedules than the page lists, which names
// them and says how many it leaves out.
func TestRehearsal_ListsSomeSchedules(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	for i := range rehearsedShown + 1 {
		w.create(w.owner("ann@example.com"), fmt.Sprintf(`{"url":"https://example.com/","name":"Report %d","repeat_every":[1,"day"]}`, i))
	}
	page := b.want(b.get("/rehearse"), 200, "1 more schedule not listed")
	if n := strings.Count(page.body, `data-label="Schedule"`); n != rehearsedShown {
		t.Errorf("the page lists %d schedules", n)
	}
	if !strings.Contains(page.body, ">Report ") || strings.Contains(page.body, ">Schedule 0") {
		t.Error("schedules are not named")
	}
	if len(page.body) > 100<<10 {
		t.Errorf("the page has %d bytes", len(page.body))
	}
}
