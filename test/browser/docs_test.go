package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestDocs_CanBeReadAndSearched reads a guide and the reference in every look, and
// searches where the contents are in view.
func TestDocs_CanBeReadAndSearched(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, s, look).Go("/docs/guides/quickstart").See("Create a job that is due in two seconds").Check()
			if !p.Is(`document.querySelector(".side").offsetParent !== null`) {
				p.Click(".menu summary")
			}
			p.Wait(`[...document.querySelectorAll("input[type=search]")].some((i) => i.offsetParent !== null)`)
			p.Press("/").Wait(`document.activeElement.type === "search"`)
			// The DevTools protocol types the slash too, which a keyboard doesn't.
			p.Press(kb.Backspace, "d", "e", "b", "o", "u", "n", "c", "e").See("Idempotency keys").Check()
			p.Press(kb.ArrowDown, kb.Enter).Wait(`location.pathname !== "/docs/guides/quickstart"`)
			p.Go("/docs").See("Create a job", "/api/limits/{key}").Check().ClickOn("Limits").At("/docs/api/limits").See("Try it").Check()
			if !p.Is(`document.fonts.check("16px Inter") && [...document.fonts].some((f) => f.family === "Inter" && f.status === "loaded")`) {
				t.Error("the reference does not have the typeface of the dashboard")
			}
		})
	}
}

// TestDocs_AreCompleteWithoutScripts reads a guide with scripts switched off.
func TestDocs_AreCompleteWithoutScripts(t *testing.T) {
	t.Parallel()
	p := Open(t, harness.Start(t), Looks[0]).Script(false)
	p.Go("/docs#createJob").See("Create a job").ClickOn("POST Create a job")
	p.At("/docs/api/jobs").Wait(`location.hash === "#createJob"`).See("A request in 30 seconds")
	p.Go("/docs/guides/quickstart").See("Command line",
		"Self-hosting").ClickOn("Concepts").At("/docs/guides/concepts").See("Idempotency keys")
}

// TestDocs_KeepAddressesIntoTheOnePage follows an address from when the reference was one page.
func TestDocs_KeepAddressesIntoTheOnePage(t *testing.T) {
	t.Parallel()
	p := Open(t, harness.Start(t), Looks[0]).Go("/docs#createJob")
	p.At("/docs/api/jobs").Wait(`location.hash === "#createJob"`).See("A request in 30 seconds")
}
