package dashboard

import (
	"fmt"
	"strings"
	"testing"
)

func TestPeek_IsThePartOfARecord(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	run := w.create(w.owner("ann@example.com"), `{"url":"https://example.com/","repeat_every":3600,"name":"Report","retries":0}`)
	one := w.create(w.owner("ann@example.com"), `{"url":"https://example.com/once","name":"Once","retries":0}`)
	w.ends(one, 503)
	w.ends(run, 500)
	w.failing(run, "HTTP 500")
	schedule, once := "/schedules/"+run.ScheduleID.String(), fmt.Sprintf("/jobs/%d", one.Number)
	b.wantAll(b.get("/schedules"), `href="`+schedule+`" data-peek aria-label="Peek at Report"`, `id="peek"`)
	b.wantAll(b.get("/jobs"), `href="`+once+`" data-peek aria-label="Peek at job `, `id="peek"`)
	for path, texts := range map[string][]string{
		schedule: {"Report", "Failing", "View last failure", "Next run", "Acknowledge", `action="` + schedule + `/disable"`},
		once:     {"Once", "Failed", "503", "Last attempt", `action="` + once + `/rerun"`},
	} {
		part := b.wantAll(b.get(path+"?part=peek"), texts...)
		if strings.Contains(part.body, "<html") {
			t.Errorf("the part of %s is a whole page", path)
		}
		if a := w.browser().get(path + "?part=peek"); a.StatusCode != 303 {
			t.Errorf("%s shows its part to anybody: %d", path, a.StatusCode)
		}
	}
}
