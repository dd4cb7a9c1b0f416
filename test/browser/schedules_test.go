package browser

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// withSchedules is a world with schedules that have runs of every kind.
func withSchedules(t *testing.T) (w *world, often, weekdays, disabled string) {
	t.Helper()
	w = newWorld(t)
	var n atomic.Int64
	route := w.target.Route(t).Respond(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if i := n.Add(1); i%3 == 0 {
			harness.Status(500).ServeHTTP(out, r)
		} else {
			harness.JSONReply(fmt.Sprintf(`{"sent":%d,"$set":{"cursor":"page-%d","total":%d}}`, i, i, 10*i)).ServeHTTP(out, r)
		}
	}))
	often = w.schedule(`{"method":"post","url":%q,"repeat_every":1,"retries":0,"name":"Sync the inbox","description":"Fetches what is new.\nSet up by Alex."}`, route.URL+longURL)
	weekdays = w.scheduleOf(w.far)
	disabled = w.schedule(`{"url":%q,"cron":"*/15 * * * *"}`, route.URL)
	w.client.Post("/api/schedules/"+disabled+"/disable", nil).Want(200)
	route.Await(t, 4, soon)
	return w, often, weekdays, disabled
}

func (w *world) schedule(body string, args ...any) string {
	return w.scheduleOf(w.create(body, args...))
}

func (w *world) scheduleOf(n int64) string {
	return w.client.Get(fmt.Sprintf("/api/jobs/%d", n)).Want(200).Data().Get("schedule_id").Str()
}

func TestSchedules_InEveryLook(t *testing.T) {
	t.Parallel()
	w, often, weekdays, disabled := withSchedules(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public/schedules").See("Visible to everyone", "Sync the inbox", "every second", "every weekday at 09:00, Europe/Berlin",
				"Paused").Check()
			p.Wait(`[...document.querySelectorAll("svg.outcomes")].some((e) => e.getAttribute("aria-label").includes("completed"))`)
			p.Go("/public/schedules/"+often).See("Every second", "Lateness", "Duration", "Set up by Alex.", "cursor", "sent").Check()
			p.Wait(`document.getElementById("late-summary").textContent.includes("median")`)
			p.Go("/public/schedules/"+weekdays).See("Weekday mornings", "0 9 * * 1-5", "Empty. A run sets it").Check()
			p.Go("/public/schedules/"+disabled).See("Paused", "Every 15 minutes").Check()
			p.Expect(404).Go("/public/schedules/0194a3b5-0000-7000-8000-000000000000").See("Not found").Check()
		})
	}
}

func TestSchedules_EmptyList(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	for _, look := range []Look{WideDark, Phone} {
		Open(t, s, look).Go("/public/schedules").See("No schedules yet", `"cron": "0 9 * * 1-5"`).Check().Close()
	}
}

func TestSchedules_DisableAndEnable(t *testing.T) {
	t.Parallel()
	w, often, weekdays, _ := withSchedules(t)
	for _, scripts := range []bool{true, false} {
		p := Open(t, w.Service, Wide).Script(scripts)
		p.Go("/public/schedules/" + weekdays)
		p.Click(fmt.Sprintf(`form[action$="/%s/disable"] button`, weekdays))
		p.Script(true).At("/public/schedules/"+weekdays+"*").See("Paused", "since").Script(scripts)
		p.Click(fmt.Sprintf(`form[action$="/%s/enable"] button`, weekdays))
		p.Script(true).See("Next run").Close()
	}
	p := Open(t, w.Service, Phone)
	p.Go("/public/schedules").See("Sync the inbox")
	if p.Is(`[...document.querySelectorAll(".schedule-rows button")].some((e) => e.checkVisibility())`) {
		t.Error("rows on phones have buttons")
	}
	p.ClickOn("Sync the inbox").See("Every second").Click(fmt.Sprintf(`form[action$="/%s/disable"] button`, often))
	p.See("The schedule is paused").Check().ClickOn("Delete").See("Past runs and their logs stay").Check()
	p.ClickOn("Delete schedule").See("The schedule has been deleted").NotSee("Sync the inbox")
	w.client.Get("/api/schedules/" + often).Want(404)
}

func TestSchedules_Edit(t *testing.T) {
	t.Parallel()
	w, _, weekdays, _ := withSchedules(t)
	p := Open(t, w.Service, Wide)
	edit := "/public/schedules/" + weekdays + "/edit"
	p.Go("/public/schedules/" + weekdays).ClickOn("Edit").At(edit).See("Review changes").Check()
	p.Fill("#f-when", "every monday at 8:30").Fill("#f-name", "Monday mornings").Press(kb.Enter)
	p.See("Your changes", "0 9 * * 1-5", "30 8 * * 1", "Monday mornings").Check()
	p.ClickOn("Back to form").See("Review changes").ClickOn("Review changes").See("Your changes").ClickOn("Save changes")
	p.See("The schedule has been changed", "Every Monday at 08:30, Europe/Berlin", "Monday mornings").ClickOn("history").See("Revision 2",
		"public key").Check()
	p.Go(edit).See("Review changes")
	p.Expect(422).Fill("#f-when", "in 3 hours").Press(kb.Enter).See("Nothing was changed", "When must recur").Check()
	p.Fill("#f-when", "now and then").Press(kb.Enter).See("When is not understood")
	if got := p.Value(`document.getElementById("f-when").value`); got != "now and then" {
		t.Errorf("what was typed is gone: %q", got)
	}
	if got := w.client.Get("/api/schedules/" + weekdays).Want(200).Data().Get("frequency.cron").Str(); got != "30 8 * * 1" {
		t.Errorf("the frequency is %s", got)
	}
}

func TestSchedules_EditState(t *testing.T) {
	t.Parallel()
	w, _, weekdays, _ := withSchedules(t)
	state := func() string {
		return w.client.Get("/api/schedules/" + weekdays + "/state").Want(200).Data().Get("state").Raw()
	}
	p := Open(t, w.Service, Wide)
	p.Go("/public/schedules/"+weekdays).ClickOn("Edit or clear").Fill("#f-state", `{"page":`).See("Not JSON yet")
	p.Fill("#f-state", `{"page":7}`).ClickOn("Save state").See("The state has been saved", `"page": 7`).Check()
	if got := state(); got != `{"page":7}` {
		t.Errorf("the state is %s", got)
	}
	p.Expect(422).ClickOn("Edit or clear").Fill("#f-state", `[1]`).ClickOn("Save state").See("$state must be a JSON object").Check()
	// What was set meanwhile shows itself, and is not overwritten unseen.
	w.client.Do(http.MethodPut, "/api/schedules/"+weekdays+"/state", `{"page":8}`).Want(200)
	p.Fill("#f-state", `{"page":9}`).ClickOn("Save state").See("has been changed by a run", `"page": 8`).Check()
	p.ClickOn("Save state").See("The state has been saved")
	if got := state(); got != `{"page":9}` {
		t.Errorf("the state is %s", got)
	}
	p.ClickOn("Edit or clear").ClickOn("Clear").See("starts with an empty one").Check().ClickOn("Clear state").See(
		"The state has been cleared", "Empty. A run sets it")
	if got := state(); got != `{}` {
		t.Errorf("the state is %s", got)
	}
}

// TestSchedules_RunsAppearWithoutReloading tests that an open page follows its
// schedule.
func TestSchedules_RunsAppearWithoutReloading(t *testing.T) {
	t.Parallel()
	w, often, _, _ := withSchedules(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public/schedules/" + often).See("Sync the inbox")
	first := p.Value(`document.querySelector("#runs tbody a").textContent`)
	p.Wait(fmt.Sprintf(`document.querySelector("#runs tbody a").textContent !== %q`, first)).Check()
}

// TestSchedules_BetweenPhoneAndDesktop looks at the list in a window in which all columns
// hardly fit.
func TestSchedules_BetweenPhoneAndDesktop(t *testing.T) {
	t.Parallel()
	w, _, _, _ := withSchedules(t)
	look := Wide
	for _, width := range []int64{740, 900} {
		look.Width = width
		p := Open(t, w.Service, look).Go("/public/schedules").See("Weekday mornings").Check()
		if !p.Is(`document.querySelector(".schedule-rows td.main").getBoundingClientRect().width >= 100`) {
			t.Errorf("the names have too little space in a window of %d px", width)
		}
		p.Close()
	}
}
