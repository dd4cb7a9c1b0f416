package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// maxWalk is how many clicks the walk below may take.
const maxWalk = 5

// TestWalk_FromTheAlertToTheOutcome is woken at night: it reads what fails, since when and
// why, mutes it, runs it again once the target is mended, and reads the outcome.
func TestWalk_FromTheAlertToTheOutcome(t *testing.T) {
	t.Parallel()
	w := &world{Service: harness.Start(t), target: harness.NewTarget(t)}
	w.client = w.Public(t)
	route := w.target.Route(t).Respond(harness.JSONReply(`{}`)).RespondOnce(harness.Reply(500, "text/plain", "no connection to the database"))
	w.create(`{"url":%q,"name":"Invoices","repeat_every":[1,"day"],"retries":0}`, route.URL)
	p := Open(t, w.Service, Wide).Go("/public").See("1 schedule failing", "Invoices", "HTTP 500", "1 in a row", "since ")
	clicks := 0
	click := func(text string) *Page {
		clicks++
		return p.ClickOn(text)
	}
	click("Last failure").See("no connection to the database", "Details")
	p.Wait(`[...document.querySelectorAll("dd a")].some((e) => e.innerText.trim() === "Invoices")`)
	click("Invoices").See("Failing", "Acknowledge")
	click("Acknowledge").See("The failures are acknowledged", "until it succeeds")
	click("View last failure").See("no connection to the database", "Run again")
	click("Run again").See("Completed", "response 200")
	if clicks > maxWalk {
		t.Errorf("the walk takes %d clicks, more than %d", clicks, maxWalk)
	}
}

// TestPeek_ByKeyboard opens the side panel of a list, goes on with it and closes it.
func TestPeek_ByKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 2 {
		w.create(`{"url":%q,"name":"Peeked %d","schedule_in":[2,"hours"]}`, w.target.Route(t).URL, i)
	}
	const inPanel = `document.querySelector("#peek h2")?.innerText === %q`
	p := Open(t, w.Service, Wide).Go("/public/jobs?state=available").See("Peeked 1")
	p.Press("j").Wait(`document.activeElement.matches("a.row-link")`)
	first := p.Value(`document.activeElement.innerText.trim()`)
	p.Press("p").Wait(fmt.Sprintf(inPanel, first)).Wait(`document.activeElement.id === "peek"`).See("Open job", "Cancel").Check()
	if !p.Is(`document.querySelector("a[data-peek]").getAttribute("aria-haspopup") === "dialog"`) {
		t.Error("the control does not say that it opens a dialog")
	}
	p.Press("j").Wait(`document.activeElement.matches("a.row-link") && document.activeElement.innerText.trim() !== "` + first + `"`)
	p.Wait(`document.querySelector("#peek h2").innerText === document.activeElement.innerText.trim() && !document.getElementById("peek-body").inert`)
	p.Press("k").Wait(fmt.Sprintf(inPanel, first))
	p.Press("p").Wait(`document.getElementById("peek").hidden`).Press("p").Wait(fmt.Sprintf(inPanel, first))
	p.Press(kb.Escape).Wait(`document.getElementById("peek").hidden && document.activeElement.innerText.trim() === "` + first + `"`)
	p.Press(" ").Wait(fmt.Sprintf(inPanel, first))
	p.Click("[data-peek-close]").Wait(`document.getElementById("peek").hidden`)
	p.Click(".job-rows .peek").Wait(`!document.getElementById("peek").hidden`).Check()
}

// TestPeek_WithoutScriptsTheControlLeadsToTheRecord follows the control as a link.
func TestPeek_WithoutScriptsTheControlLeadsToTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide).Go("/public/jobs").See("Welcome mail")
	href := p.Value(`document.querySelector(".job-rows .peek").getAttribute("href")`)
	p.Script(false).Go(href).See("Timeline")
}

// TestDocs_TryACall sends a call of the reference: as whoever is signed in, then with a
// key in a browser without a session.
func TestDocs_TryACall(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	p := signUp(Open(t, s, Wide))
	_, key := s.NewKey(t, "ann@example.com")
	p.Go("/docs/api/jobs").See("Try it").Click("article details.try > summary").See("You are signed in as ann@example.com (owner)")
	p.ClickOn("Send").See("200 OK")
	p = Open(t, s, Wide)
	p.Go("/docs/api/jobs").See("Try it").Click("article details.try > summary")
	p.Wait(`document.activeElement.type === "password"`)
	if p.Is(`document.querySelector(".try-form input[type=password]").autocomplete !== "new-password"`) {
		t.Error("a browser may fill in or keep the key")
	}
	if p.Is(`[...document.querySelectorAll("article:has(details.try) > .call > code")].some((e) => /^\/api\/(listen|events)$/.test(e.textContent))`) {
		t.Error("streams can be tried")
	}
	p.ClickOn("Send").See("Enter a key").Fill(".try-form input[type=password]", key).ClickOn("Send").See("200 OK")
	p.Fill(".try-form input[id^=try-query]", "key="+key).ClickOn("Send").See("A key does not belong in an address")
	if p.Is(`JSON.stringify(localStorage).includes("sk_") || JSON.stringify(sessionStorage).includes("sk_")`) {
		t.Error("the key is stored")
	}
}
