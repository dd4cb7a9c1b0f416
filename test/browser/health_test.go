package browser

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// withFailingSchedules is a service with a hundred schedules, of which five have
// failed: three with a 500, two because nothing listens at their target.
func withFailingSchedules(t *testing.T) *world {
	t.Helper()
	w := &world{Service: harness.Start(t), target: harness.NewTarget(t)}
	w.client = w.Public(t)
	broken := w.target.Route(t).Respond(harness.Reply(500, "text/plain", "no")).URL
	fine := w.target.Route(t).Respond(harness.JSONReply(`{}`)).URL
	for i := range 100 {
		body := fmt.Sprintf(`{"url":%q,"name":"Schedule %03d","repeat_every":[1,"day"]}`, fine, i)
		switch {
		case i%20 == 7 && i < 60:
			body = fmt.Sprintf(`{"url":%q,"name":"Broken %03d","repeat_every":[1,"day"],"retries":0}`, broken, i)
		case i%20 == 7:
			body = fmt.Sprintf(`{"url":"https://127.0.0.1:1/closed","name":"Broken %03d","repeat_every":[1,"day"],"retries":0}`, i)
		}
		w.create("%s", body) // the first run is due now
	}
	if !harness.Within(soon, func() bool { return len(w.client.Get("/api/jobs?state=discarded").Want(200).Data().Items()) >= 5 }) {
		t.Fatalf("five runs have not failed within %s", soon)
	}
	return w
}

// framedActions are the actions of rows that fail that have a border: how many, and their texts.
const framedActions = `(() => { const framed = [...document.querySelectorAll(".triage-do .button")].filter((e) => e.checkVisibility() && getComputedStyle(e).borderTopColor !== "rgba(0, 0, 0, 0)").map((e) => e.innerText.trim()); return framed.length + ": " + [...new Set(framed)].join(", "); })()`

// TestOverview_SaysWhatFails reads from the overview's text which of a hundred
// schedules fail, since when and why.
func TestOverview_SaysWhatFails(t *testing.T) {
	t.Parallel()
	w := withFailingSchedules(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look).Go("/public").See("5 schedules failing").Check()
			rows := strings.Split(p.Value(`[...document.querySelectorAll(".triage-rows > li")].map((e) => e.innerText.replace(/\s+/g, " ")).join("\n")`), "\n")
			if title := p.Value(`document.querySelector("#triage-title").innerText`); !regexp.MustCompile(
				`^\s*5 schedules failing · oldest since \d\d:\d\d UTC\s*$`).MatchString(title) {
				t.Errorf("the title is %q", title)
			}
			for i, row := range rows {
				if !regexp.MustCompile(`^Broken \d\d\d (HTTP 500|connection failed) .*1 in a row since \d\d:\d\d UTC Last failure next in 23 h Acknowledge Mute`).MatchString(row) {
					t.Errorf("row %d is %q", i, row)
				}
			}
			if len(rows) != 5 {
				t.Errorf("%d rows fail", len(rows))
			}
			if framed := p.Value(framedActions); framed != "5: Acknowledge" {
				t.Errorf("the buttons of rows with a border are %s, want one a row", framed)
			}
			grid := strings.Split(p.Value(`[...document.querySelectorAll(".grid-rows tbody tr")].map((e) => e.innerText.replace(/\s+/g, " ")).join("\n")`), "\n")
			for i, row := range grid[:5] {
				if !regexp.MustCompile(`^Broken \d\d\d ?Failing ?in 23 h`).MatchString(row) {
					t.Errorf("row %d of the grid is %q", i, row)
				}
			}
			if !strings.HasPrefix(grid[5], "Schedule ") || len(grid) != 16 {
				t.Errorf("after what fails, the grid has %q of %d rows", grid[5], len(grid))
			}
			if look.Phone && !p.Is(`document.querySelector(".triage-do .button").getBoundingClientRect().bottom < innerHeight`) {
				t.Error("what to press is not on the first screen")
			}
			p.Click(".triage-facts a").At("/public/jobs/*").See("Failed", "Broken").Go("/public")
			p.ClickOn("View failing schedules").At("/public/schedules?health=failing").See("Broken 007", "Failing",
				"Last run failed at").NotSee("Schedule 001").Check()
			p.ClickOn("All").At("/public/schedules").See("Broken 087", "Schedule 099").Check()
			if first := p.Value(`[...document.querySelectorAll("tbody tr")].slice(0, 5).map((e) => e.innerText.includes("Failing")).join()`); first != "true,true,true,true,true" {
				t.Errorf("the list does not begin with what fails: %s", first)
			}
			p.ClickOn("Broken 007").See("Failing", "Last run failed at").Check()
		})
	}
}

// TestOverview_ForgetsWhatRecovered tests that the list says that nothing fails when the last
// schedule completes a run, without scripts too. A schedule is muted and unmuted meanwhile.
func TestOverview_ForgetsWhatRecovered(t *testing.T) {
	t.Parallel()
	w := &world{Service: harness.Start(t), target: harness.NewTarget(t)}
	w.client = w.Public(t)
	route := w.target.Route(t).Respond(harness.JSONReply(`{}`)).RespondOnce(harness.Reply(503, "text/plain", "no"),
		harness.Reply(503, "text/plain", "no"))
	id := w.schedule(`{"url":%q,"name":"Flaky","repeat_every":[1,"day"],"retries":0}`, route.URL)
	await := func(state string, n int) {
		if !harness.Within(soon, func() bool { return len(w.client.Get("/api/jobs?state="+state).Want(200).Data().Items()) == n }) {
			t.Fatalf("no run is %s within %s", state, soon)
		}
	}
	p := Open(t, w.Service, Wide).Script(false)
	await("discarded", 1)
	w.client.Post("/api/schedules/"+id+"/run", nil).Want(200)
	await("discarded", 2)
	p.Go("/public").Script(true).See("1 schedule failing", "HTTP 503", "2 in a row").Script(false)
	p.ClickOn("Acknowledge").At("/public?done=acknowledged").Script(true).See("No schedule is failing",
		"1 muted schedule").Check().Script(false)
	p.Click("#triage-muted > summary").ClickOn("Unmute").At("/public?done=unmuted").Script(true).See("1 schedule failing").Script(false)
	w.client.Post("/api/schedules/"+id+"/run", nil).Want(200)
	await("completed", 1)
	p.Go("/public").Script(true).See("No schedule is failing").NotSee("in a row")
}

// Names of one long word, or with marks that change the direction of text, move nothing
// beside them.
func TestOverview_AnyNameFits(t *testing.T) {
	t.Parallel()
	w := &world{Service: harness.Start(t)}
	w.client = w.Public(t)
	w.create(`{"url":"https://127.0.0.1:1/closed","name":%q,"repeat_every":[1,"day"],"retries":0}`,
		strings.Repeat("Donaudampfschifffahrt", 10))
	w.create(`{"url":"https://127.0.0.1:1/closed","name":"\u202e%s","repeat_every":[1,"day"],"retries":0}`, "backwards")
	if !harness.Within(soon, func() bool { return len(w.client.Get("/api/jobs?state=discarded").Want(200).Data().Items()) == 2 }) {
		t.Fatalf("two runs have not failed within %s", soon)
	}
	for _, look := range []Look{Wide, Phone} {
		p := Open(t, w.Service, look).Go("/public").See("2 schedules failing").Check()
		if got := p.Value(`getComputedStyle(document.querySelector(".triage-name")).unicodeBidi`); got != "isolate" {
			t.Errorf("the direction of a name is %s", got)
		}
	}
}
