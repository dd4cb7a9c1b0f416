package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestAttempts_InEveryLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public/attempts").See("Welcome mail", "Nightly report", "404", "New attempts appear at the top.").Check()
			p.ClickOn("4xx").At("/public/attempts?outcome=4xx").See("Nightly report").NotSee("Welcome mail")
			p.Click(".attempt > summary").See("no such page", "Response headers").Check()
			p.Go("/public/attempts?outcome=dns").See("No attempt matches").Check()
			p.Expect(422).Go("/public/attempts?job=nonsense").See("Job must be a job's integer id or UUID").Check()
		})
	}
}

func TestAttempts_OpenWithTheKeyboardAndStayOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public/attempts").See("Nightly report")
	if !p.Is(`(() => { const row = [...document.querySelectorAll(".attempt > summary")].find((e) => e.innerText.includes("Nightly report")); row.focus(); return document.activeElement === row; })()`) {
		t.Fatal("a row does not take the focus")
	}
	p.Press(kb.Enter).See("no such page")
	n := w.create(`{"url":%q,"name":"Later one"}`, w.target.Route(t).URL)
	p.See("Later one", "no such page").Check()
	p.ClickOn("Pause").At("/public/attempts?follow=off").See("Follow live")
	p.Script(false).Go(fmt.Sprintf("/public/attempts?job=%d", n)).Script(true).See("Later one").Check()
}

func TestAttempts_WithoutScriptsTheDetailIsALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Phone).Script(false)
	p.Go(fmt.Sprintf("/public/attempts?job=%d", w.failed)).Click(".attempt > summary").Click(".attempt-body a")
	p.Script(true).At("/public/attempts/*").See("Attempt of Nightly report", "no such page").Check()
}
