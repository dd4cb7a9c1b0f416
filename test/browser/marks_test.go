package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMarks_TimesInLocalTimeOrUTC(t *testing.T) {
	t.Parallel()
	_, p := withControl(t)
	p.Go("/jobs/1").See("Times in UTC").Check()
	p.ClickOn("Show local time").See("Times in Europe/Berlin").At("/jobs/1")
	if text := p.Value(`document.querySelector("main time[title]").title`); !strings.HasSuffix(text, " CET") &&
		!strings.HasSuffix(text, " CEST") {
		t.Errorf("the exact time is %s", text)
	}
	p.Go("/").Wait(`/^CES?T$/.test(document.querySelector(".ribbon .plot-zone").textContent)`).Wait(
		`document.getElementById("ribbon").getAttribute("role") === "slider"`)
	p.Wait(`/ CES?T, /.test(document.getElementById("ribbon").getAttribute("aria-valuetext"))`)
	p.ClickOn("Show UTC").See("Times in UTC").Wait(`document.querySelector(".ribbon .plot-zone").textContent === "UTC"`)
	p.Script(false).Go("/").Script(true).Wait(`document.querySelector(".ribbon .plot-zone").textContent === "UTC"`)
}

func TestMarks_ExactTimesOnFocusAndHover(t *testing.T) {
	t.Parallel()
	_, p := withControl(t)
	p.Go("/jobs").See("Import 1").TabTo("Import 3").Wait(
		`/^Due: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.test(document.getElementById("exact").innerText)`).Check()
	if got := p.Value(`document.activeElement.getAttribute("aria-describedby")`); got != "exact" {
		t.Errorf("the link is described by %q", got)
	}
	updated := `(() => (document.activeElement.removeAttribute("aria-describedby"),
		document.dispatchEvent(new CustomEvent("live:updated")), document.activeElement.getAttribute("aria-describedby")))()`
	if got := p.Value(updated); got != "exact" {
		t.Errorf("after an update, the link is described by %q", got)
	}
	p.Press(kb.Escape).Wait(`document.getElementById("exact").hidden`)
	p.Is(`(document.querySelector("main td time").dispatchEvent(new PointerEvent("pointerover", {bubbles: true})), true)`)
	p.Wait(`!document.getElementById("exact").hidden && document.getElementById("exact").innerText.endsWith("UTC")`).Check()
}

func TestMarks_TitleAndIconTellTheFailingCount(t *testing.T) {
	t.Parallel()
	w, p := withControl(t)
	p.Go("/jobs")
	if title := p.Value(`document.title`); title != "Jobs · punctual" {
		t.Errorf("the title is %q", title)
	}
	bad := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	w.client.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"name":"Broken","repeat_every":1,"retries":0}`, bad.URL)).Want(201)
	p.Go("/jobs?state=discarded").See("Broken").Go("/settings").Wait(
		`document.title.startsWith("(1) ") && document.querySelector("link[rel=icon]").href.startsWith("data:image/svg+xml")`)
	p.Wait(`document.getElementById("failing").textContent.includes("1 failing")`).Check()
}

func TestMarks_UndoAPause(t *testing.T) {
	t.Parallel()
	w, p := withControl(t)
	id := w.client.Get("/api/schedules").Want(200).Data().Items()[0].Get("id").Str()
	p.Go("/schedules/" + id).ClickOn("Pause").See("The schedule is paused").Check().ClickOn("Undo").See("The schedule is resumed").Check()
	p.Click(`#toast [data-close]`).Wait(`!document.getElementById("toast")`)
	p.Go("/jobs/1").Script(false).Go("/schedules/" + id).ClickOn("Pause").See("The schedule is paused").ClickOn("Undo").See(
		"The schedule is resumed")
}
