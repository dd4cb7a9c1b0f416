package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// failing stores that a run's schedule fails since now.
func (w *site) failing(j *job.Job, cause string) {
	w.Helper()
	_, err := w.s.ScheduleChange(w.Context(), j.Owner, j.ScheduleID, func(m *store.Snapshot) *store.Changes {
		after := *m.Schedule
		after.Failures, after.FailingSince, after.Failure = after.Failures+1, w.clock(), cause
		return &store.Changes{Schedule: &after}
	})
	if err != nil {
		w.Fatal(err)
	}
}

func TestMute_OfAScheduleThatFails(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	j := w.create(w.owner("ann@example.com"), `{"url":"https://example.com/","repeat_every":3600,"name":"Report","retries":0}`)
	path := "/schedules/" + j.ScheduleID.String()
	if page := b.get(path).body; strings.Contains(page, "Acknowledge") || !strings.Contains(page, `action="`+path+`/mute"`) {
		t.Error("a schedule that doesn't fail can be acknowledged, or not muted")
	}
	b.want(b.post(path+"/mute", "until", "recovered"), 409, "")
	w.ends(j, 503)
	w.failing(j, "503")
	b.want(b.post(path+"/mute", "until", "recovered"), 303, path+"?done=acknowledged")
	b.wantAll(b.get(path+"?done=acknowledged"), "The failures are acknowledged", "Undo", "Acknowledged", "until it succeeds",
		`action="`+path+`/unmute"`)
	b.wantAll(b.get("/schedules"), "Failing", "until it succeeds")
	b.want(b.post(path+"/unmute"), 303, path+"?done=unmuted")
	if page := b.get(path).body; strings.Contains(page, "until it succeeds") {
		t.Error("it is still muted")
	}
	// The time is that of the page's zone.
	b.post("/preferences", "zone", "Europe/Berlin")
	b.want(b.post(path+"/mute", "until", "tomorrow at 9:00", "note", " provider is down "), 303, path+"?done=muted")
	b.wantAll(b.get(path), "Muted", "until 09:00 CET: provider is down")
	b.want(b.post(path+"/mute", "until", "tomorrow at 9:00", "when", "in 3 hours", "from", "list"), 303, "/schedules?done=muted")
	b.wantAll(b.get("/schedules?done=muted"), "Undo", "until 16:00 CET")
	w.pass(3*time.Hour + time.Minute)
	if page := b.get("/schedules").body; strings.Contains(page, "Muted") {
		t.Error("it is muted after its time")
	}
	b.want(b.post(path+"/mute", "until", "unmuted"), 303, path+"?done=muted")
	b.wantAll(b.get(path), "until you unmute it")
	for _, odd := range []string{"every day at 9:00", "never", "", "in 900 days", "2020-01-01"} {
		b.want(b.post(path+"/mute", "until", odd), 422, "")
	}
	b.want(b.post(path+"/mute", "until", "unmuted", "note", strings.Repeat("x", 501)), 422, "")
	b.wantAll(b.get(path), "until you unmute it")
}
