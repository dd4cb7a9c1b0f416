package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestKeys_LeadToPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public").Press("g", "j").At("/public/jobs").See("Welcome mail")
	p.Press("/").Wait(`document.activeElement.id === "q"`).Press("c", "?").Wait(`document.getElementById("q").value.endsWith("c?")`)
	p.Wait(`(document.activeElement.blur(), true)`).Press("?").See("Keyboard shortcuts",
		"Switch shortcuts off").Wait(`document.getElementById("keys").open`).Check()
	p.Press(kb.Escape).Wait(`!document.getElementById("keys").open`).Press("c").At("/public/jobs/new")
	p.Go("/public").Press("g", "l").At("/public/attempts")
	p.Click("#keys-open").Click("#keys-off").ClickOn("Close").Wait(`!document.getElementById("keys").open`)
	p.Go("/public/jobs").Press("c", "g", "s").See("Welcome mail").At("/public/jobs").Check()
}
