package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestQuery_SelectsJobs tests the query above the list of jobs: its words are completed,
// a misspelt one is named, and it works without scripts.
func TestQuery_SelectsJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, look := range Looks {
		p := Open(t, w.Service, look).Go("/public/jobs").Click("#q").Press("f",
			"a").Wait(`!document.getElementById("q-words").hidden`).Check()
		p.Press(kb.ArrowDown, kb.Enter).Wait(`document.getElementById("q").value === "failed "`)
		p.Press("n", "a").Wait(`!document.getElementById("q-words").hidden`).Press(kb.ArrowDown,
			kb.Enter).Wait(`document.getElementById("q").value === "failed name:"`)
		p.Press(`"`, "N", "i", "g", "h", "t", "l", "y", " ", "r", "e", "p", "o", "r", "t", `"`, kb.Enter)
		p.At("/public/jobs?name=Nightly+report&state=discarded").See("Nightly report").NotSee("Welcome mail")
		p.Wait(`document.getElementById("q").value === 'failed name:"Nightly report"'`).Check()
		p.Expect(422).Fill("#q", "hots:example.com").Press(kb.Enter).See("“hots” is not a filter; did you mean host:?").Check().Close()
	}
	p := Open(t, w.Service, Wide).Go("/public/jobs").Click("#q").Press("h", "o", "s", "t", ":", "1", "2").Wait(
		`!document.querySelector('[data-word="host:127.0.0.1"]')?.hidden && !document.getElementById("q-words").hidden`)
	p.Press(kb.ArrowDown, kb.Enter).Wait(`document.getElementById("q").value === "host:127.0.0.1 "`)
	p.Press("e", "r", "r", "o", "r", ":", "s", "t", "a", "t").Wait(
		`!document.getElementById("q-words").hidden`).Press(kb.ArrowDown, kb.Enter, kb.Enter)
	p.At("/public/jobs?error_kind=status&host=127.0.0.1").See("Nightly report").NotSee("Welcome mail").Check().Close()
	p = Open(t, w.Service, Phone).Script(false).Go("/public/jobs").Fill("#q", "completed welcome").Click(".search button").Script(true)
	p.At("/public/jobs?q=welcome&state=completed").See("Welcome mail").NotSee("Nightly report")
}

// TestQuery_IsSaved tests that a search is kept in the browser, is offered on the list, and
// is forgotten.
func TestQuery_IsSaved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const saved = `document.querySelector("#q-saved a")?.textContent === "completed welcome"`
	p := Open(t, w.Service, Phone).Go("/public/jobs?q=welcome&state=completed").ClickOn("Save this search").Wait(saved).Check()
	p.Go("/public/jobs").Wait(saved).ClickOn("completed welcome").At("/public/jobs?q=welcome&state=completed").See("Welcome mail")
	p.ClickOn("Forget this search").See("Save this search").Go("/public/jobs").See("Job 3").Wait(`document.getElementById("q-saved").hidden`)
	p.Check()
}

// TestKeys_MoveBetweenRows tests that j and k move the focus between the rows of a list.
func TestKeys_MoveBetweenRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide).Go("/public/jobs").See("Welcome mail")
	const row = `[...document.querySelectorAll("main a.row-link")].indexOf(document.activeElement)`
	p.Press("j").Wait(row + ` === 0`).Press("j").Wait(row + ` === 1`).Press("k").Wait(row + ` === 0`).Press("k").Wait(row + ` === 0`)
	p.Press("j", kb.Enter).At("/public/jobs/*").See("Job 3").Check()
}
