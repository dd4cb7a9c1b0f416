package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// peeked opens the list of two jobs in a look, with the focus on the first row, and
// returns the page and the name of that row.
func peeked(t *testing.T, look Look) (p *Page, first string) {
	w := newWorld(t)
	for i := range 2 {
		w.create(`{"url":%q,"name":"Peeked %d","schedule_in":[2,"hours"]}`, w.target.Route(t).URL, i)
	}
	p = Open(t, w.Service, look).Go("/public/jobs?state=available").See("Peeked 1")
	if look.Phone {
		return p, ""
	}
	p.Press("j").Wait(`document.activeElement.matches("a.row-link")`)
	return p, p.Value(`document.activeElement.innerText.trim()`)
}

const (
	panelHidden = `document.getElementById("peek").hidden`
	breakFetch  = `(window.fetched = window.fetch, window.fetch = () => Promise.reject(new TypeError("broken")), true)`
	holdFetch   = `(window.fetched = window.fetch, window.fetch = (...call) => new Promise((go) => { window.release = () => go(window.fetched(...call)); }), true)`
	mendFetch   = `(window.fetch = window.fetched, true)`
)

// TestPeek_FailedLoads: a record that can't be read is said in the panel that follows the
// rows, and opened as a page where the panel was asked for.
func TestPeek_FailedLoads(t *testing.T) {
	t.Parallel()
	p, first := peeked(t, Wide)
	p.Press("p").Wait(fmt.Sprintf(`document.querySelector("#peek h2")?.innerText === %q`, first))
	p.Wait(breakFetch).Press("j").See("The record could not be read").Wait(`!document.querySelector("#peek a, #peek form")`).Check()
	p.Wait(mendFetch).Press("k").Wait(fmt.Sprintf(`document.querySelector("#peek h2")?.innerText === %q`, first))
	p.Press(kb.Escape).Wait(panelHidden).Wait(breakFetch).Press("p").See("Timeline")
}

// TestPeek_EscapeWhileLoading: what was asked for and given up does not open later.
func TestPeek_EscapeWhileLoading(t *testing.T) {
	t.Parallel()
	p, first := peeked(t, Wide)
	p.Wait(holdFetch).Press("p").Wait(`document.querySelector("tr.peeked") && typeof window.release === "function"`)
	p.Press(kb.Escape).Wait(`!document.querySelector("tr.peeked")`)
	p.Wait(`(window.release(), true)`).Wait(mendFetch)
	// The panel of the next record opens after the response of the first has arrived.
	p.Press("j").Wait(`document.activeElement.innerText.trim() !== ` + fmt.Sprintf("%q", first))
	if !p.Is(panelHidden) {
		t.Error("the panel opened after Escape")
	}
	p.Press("p").Wait(fmt.Sprintf(`!document.getElementById("peek").hidden && document.querySelector("#peek h2").innerText !== %q`, first))
}

// TestPeek_ShiftSpaceScrolls: it belongs to the browser.
func TestPeek_ShiftSpaceScrolls(t *testing.T) {
	t.Parallel()
	p, first := peeked(t, Wide)
	p.pressWith(kb.ModifierShift, " ")
	if p.Is(`document.querySelector("tr.peeked") !== null`) {
		t.Error("Shift and Space peeks")
	}
	p.Press(" ").Wait(fmt.Sprintf(`document.querySelector("#peek h2")?.innerText === %q`, first))
}

// TestPeek_OnPhonesRowsLeadToTheRecord: there is no control that could not be hit.
func TestPeek_OnPhonesRowsLeadToTheRecord(t *testing.T) {
	t.Parallel()
	p, _ := peeked(t, Phone)
	if p.Is(`[...document.querySelectorAll("a[data-peek]")].some((e) => e.offsetParent !== null)`) {
		t.Error("the control is shown")
	}
	p.ClickOn("Peeked 1").See("Timeline")
}
