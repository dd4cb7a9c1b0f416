package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// at returns a script that sends pointer events to a chart at shares of its width.
func at(chart string, events ...any) string {
	script := fmt.Sprintf(`(() => { const e = document.getElementById(%q), box = e.getBoundingClientRect(); const send = (name, share) => e.dispatchEvent(new PointerEvent("pointer" + name, {bubbles: true, pointerType: "mouse", button: 0, clientX: box.left + share * box.width, clientY: box.top + 20}));`, chart)
	for i := 0; i+1 < len(events); i += 2 {
		script += fmt.Sprintf(` send(%q, %v);`, events[i], events[i+1])
	}
	return script + ` return true; })()`
}

func TestOverview_RunsLeadToTheirJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := w.target.Route(t).Respond(harness.Reply(500, "text/plain", "no"))
	w.create(`{"url":%q,"name":"Broken","repeat_every":[1,"hour"],"retries":0}`, broken.URL)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public").See("1 schedule failing", "Weekday mornings").Check()
			const last = `.grid-rows [data-runs] a:last-child`
			if label := p.Value(`document.querySelector("` + last + `").getAttribute("aria-label")`); !strings.HasPrefix(label, "Failed ") || !strings.HasSuffix(label, " UTC, HTTP 500") {
				t.Errorf("the failed run is labelled %q", label)
			}
			p.Script(false).Go("/public").Click(last).At("/public/jobs/*").Script(true).See("Broken", "Failed").Check()
		})
	}
}

func TestOverview_ChartsShowValuesAndLeadToFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const tip = `document.querySelector("#runs .plot-tip").innerText`
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public").See("Attempts per minute").Wait(`document.getElementById("runs").getAttribute("role") === "slider"`).Check()
			p.Is(at("rate", "move", 0.5))
			p.Wait(tip + `.includes("all 0") && ` + tip + `.includes("UTC")`)
			p.Is(at("rate", "down", 0.5, "move", 0.75))
			p.See("Release to zoom").Is(at("rate", "up", 0.75))
			p.At("/public?from=*").See("UTC").Wait(`document.getElementById("runs-summary").textContent.includes("in the selected time")`).Check()
			p.ClickOn("7 days").At("/public?span=7d").Wait(`document.getElementById("runs-summary").textContent.includes("in the last 7 days")`).Check()
		})
	}
}

func TestOverview_ChartsWithTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public").See("Attempts per minute").TabTo("runs").Press(kb.End)
	for range 60 { // the attempts may have been some minutes before
		if p.Is(`document.getElementById("runs").getAttribute("aria-valuetext").includes("failed 1")`) {
			break
		}
		p.Press(kb.ArrowLeft)
	}
	// 100 % if the one that completed was in another minute.
	p.Wait(`/failed (50|100) %/.test(document.querySelector("#rate .plot-tip").innerText)`)
	p.Press(kb.Enter).At("/public/attempts?outcome=failed&since=*").See("Nightly report").NotSee("Welcome mail").Check()
}

func TestOverview_ChartsAsATableWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look).Script(false)
			p.Go("/public").ClickOn("Show as a table").At("/public?view=table").Script(true).Check().Script(false)
			p.Click(".value-rows td a").At("/public/attempts?outcome=failed&since=*").Script(true).See("Nightly report").NotSee("Welcome mail")
		})
	}
}

func TestOverview_WhatIsDueByTheHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(`{"url":"https://example.com/later","name":"Three hours on","schedule_in":[3,"hours"]}`)
	w.create(`{"url":"https://example.com/later","name":"Tomorrow","schedule_in":[25,"hours"]}`)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look).Script(false)
			p.Go("/public").Click("#ahead-hours summary").Script(true).See("Three hours on", "First").NotSee("Tomorrow").Check()
			p.Go("/public").Wait(`document.getElementById("ahead").getAttribute("role") === "slider"`).Is(at("ahead", "move", 0.13))
			p.Wait(`/\d\d:00–\d\d:00 UTC/.test(document.querySelector("#ahead .plot-tip").innerText)`)
		})
	}
}

func TestOverview_LimitsAndAlertsInALine(t *testing.T) {
	t.Parallel()
	w, first := withControl(t)
	first.Close()
	w.client.Do("PUT", "/api/limits/stripe", `{"parallel":1,"paused":true}`).Want(201)
	w.client.Do("PUT", "/api/alerts/billing", fmt.Sprintf(`{"on":["failed"],"to":[{"webhook":%q}]}`, w.target.URL)).Want(201)
	w.client.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"limits":["stripe"]}`, w.target.URL)).Want(201)
	w.client.Post("/api/jobs", `{"url":"https://127.0.0.1:1/closed","retries":0}`).Want(201)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := signIn(Open(t, w.Service, look), "ann@example.com").At("/")
			p.See("Limit stripe is paused and holds back 1 job since", "Alert billing is open for one-off jobs").Check()
			p.ClickOn("stripe").At("/limits/stripe").See("Waiting jobs")
			p.Go("/").ClickOn("billing").At("/alerts?name=billing").See("Save an alert")
		})
	}
}
