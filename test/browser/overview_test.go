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
			if label := p.Value(`document.querySelector("` + last + `").getAttribute("aria-label")`); !strings.HasPrefix(label,
				"Failed ") || !strings.HasSuffix(label, " UTC, HTTP 500") {
				t.Errorf("the failed run is labelled %q", label)
			}
			p.Script(false).Go("/public").Click(last).At("/public/jobs/*").Script(true).See("Broken", "Failed").Check()
		})
	}
}

func TestOverview_RibbonShowsValuesAndLeadsToFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(`{"url":"https://example.com/later","name":"Two hours on","schedule_in":[2,"hours"]}`)
	w.create(`{"url":"https://example.com/later","name":"Every hour","repeat_every":[1,"hour"],"schedule_in":[30,"minutes"]}`)
	const tip = `document.querySelector("#ribbon .plot-tip").innerText`
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public").See("peak ").Wait(`document.getElementById("ribbon").getAttribute("role") === "slider"`).Check()
			// The line of the present is where the share of the columns behind it says, and moves on.
			p.Wait(`(() => { const e = document.querySelector(".ribbon-now"), x = parseFloat(e.querySelector("line").getAttribute("x1")); return x > 79 && x < 81; })()`)
			p.Is(at("ribbon", "move", 0.5))
			p.Wait(tip + `.includes("0 attempts") && ` + tip + `.includes("UTC") && !` + tip + `.includes("planned")`)
			p.Is(at("ribbon", "down", 0.5, "move", 0.75))
			p.See("Release to zoom").Is(at("ribbon", "up", 0.75))
			p.At("/public?from=*").See("UTC").Wait(`document.getElementById("ribbon-summary").textContent.includes("Selected time")`).Check()
			p.ClickOn("7 days").At("/public?span=7d").Wait(
				`document.getElementById("ribbon-summary").textContent.includes("Last 7 days")`).Check()
		})
	}
}

func TestOverview_RibbonWithTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(`{"url":"https://example.com/later","name":"Soon on","schedule_in":[12,"minutes"]}`)
	p := Open(t, w.Service, Wide)
	p.Go("/public?span=1h").See("peak ").TabTo("ribbon").Press(kb.End)
	find := func(text string) {
		for range 75 {
			if p.Is(`document.getElementById("ribbon").getAttribute("aria-valuetext").includes("` + text + `")`) {
				return
			}
			p.Press(kb.ArrowLeft)
		}
		t.Errorf("no column says %q", text)
	}
	find("1 planned, Soon on")
	find("1 failed") // it may have been some minutes before
	p.Press(kb.Enter).At("/public/attempts?outcome=failed&since=*").See("Nightly report").NotSee("Welcome mail").Check()
}

func TestOverview_RibbonAsATableWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(`{"url":"https://example.com/later","name":"Two hours on","schedule_in":[2,"hours"]}`)
	w.create(`{"url":"https://example.com/later","name":"Tomorrow","schedule_in":[25,"hours"]}`)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look).Script(false)
			p.Go("/public?span=24h").ClickOn("Show as a table").At("/public?span=24h&view=table").Script(true).See("Two hours on").NotSee(
				"Tomorrow").Check().Script(false)
			p.Click(".value-rows td a").At("/public/attempts?outcome=failed&since=*").Script(true).See("Nightly report").NotSee(
				"Welcome mail")
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
			p.See("Limit stripe is paused and holds back 1 job since", "Alert sent: billing").Check()
			p.ClickOn("stripe").At("/limits/stripe").See("Waiting jobs")
			p.Go("/").ClickOn("billing").At("/alerts?name=billing").See("Save an alert")
		})
	}
}
