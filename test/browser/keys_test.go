package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// PressAtOnce presses keys between which the page allows little time, however slow the
// machine is.
func (p *Page) PressAtOnce(keys string) *Page {
	p.t.Helper()
	p.Is(`([...` + quote(keys) +
		`].forEach((key) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}))), true)`)
	return p
}

func TestKeys_LeadToPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public").PressAtOnce("gj").At("/public/jobs").See("Welcome mail")
	p.Press("/").Wait(`document.activeElement.id === "q"`).Press("c", "?").Wait(`document.getElementById("q").value.endsWith("c?")`)
	p.Wait(`(document.activeElement.blur(), true)`).Press("?").See("Keyboard shortcuts",
		"Switch shortcuts off").Wait(`document.getElementById("keys").open`).Check()
	p.Press(kb.Escape).Wait(`!document.getElementById("keys").open`).Press("c").At("/public/jobs/new")
	p.Go("/public").PressAtOnce("gl").At("/public/attempts")
	p.Click("#keys-open").Click("#keys-off").ClickOn("Close").Wait(`!document.getElementById("keys").open`)
	p.Go("/public/jobs").Press("c", "g", "s").See("Welcome mail").At("/public/jobs").Check()
}
