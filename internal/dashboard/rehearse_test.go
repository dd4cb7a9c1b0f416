package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/service"
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

func TestReadOutage_IsInTheZoneOfThePage(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for down, want := range map[string]string{
		"2027-03-02T00:30":       "2027-03-01T23:30:00Z",
		"2027-03-02 00:30:00":    "2027-03-01T23:30:00Z",
		"2027-03-02T00:30:00Z":   "2027-03-02T00:30:00Z",
		"2027-03-02T00:30+02:00": "2027-03-01T22:30:00Z",
	} {
		var q service.Rehearsal
		if problem := readOutage(&q, down, "", zone); problem != "" || q.Outages[0].At.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: got %+v, want %s; %s", down, q.Outages, want, problem)
		}
	}
}
