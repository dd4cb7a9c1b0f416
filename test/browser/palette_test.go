package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pressWith presses a key with Control or another modifier.
func (p *Page) pressWith(modifier kb.Modifier, key string) *Page {
	p.t.Helper()
	p.run("pressing a key with a modifier", chromedp.KeyEvent(key, chromedp.KeyModifiers(modifier)))
	return p
}

// paletteShows waits until the palette has the results of what was typed, of which the
// selected one begins with a text.
func (p *Page) paletteShows(selected string) *Page {
	p.t.Helper()
	return p.Wait(`(() => { const e = document.getElementById(document.getElementById("palette-text").getAttribute("aria-activedescendant")); return !document.querySelector("#palette[aria-busy]") && e?.getAttribute("aria-selected") === "true" && e.innerText.trim().startsWith(` + quote(selected) + `); })()`)
}

func TestPalette_ByKeyboard(t *testing.T) {
	t.Parallel()
	_, p := withControl(t)
	p.Go("/settings").pressWith(kb.ModifierCtrl, "k").Wait(`document.activeElement.id === "palette-text"`).paletteShows("New job").Check()
	p.Press(kb.ArrowDown).paletteShows("New schedule").Press(kb.ArrowUp).Press(kb.ArrowUp).paletteShows("Guides").Press(
		kb.ArrowDown).paletteShows("New job")
	p.Press("i", "m", "p", "o", "r", "t", " ", "2").See("Import 2").paletteShows("Import 2").Check().Press(kb.Enter).At("/jobs/2").See(
		"Import 2")
	// Chromium would type the letter into the field.
	p.Is(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "k", metaKey: true, bubbles: true}))`)
	p.Wait(`document.activeElement.id === "palette-text"`).Press("n", "i", "g", "h", "t", "l", "y").paletteShows("Nightly report")
	p.Press(kb.Escape).Wait(`!document.getElementById("palette").open`).Wait(`document.activeElement.id !== "palette-text"`)
	// Enter applies to what was typed, even before the results are there.
	p.pressWith(kb.ModifierCtrl, "k").Wait(`document.activeElement.id === "palette-text"`).Press("d", "a", "r", "k", kb.Enter)
	p.Wait(`document.documentElement.dataset.theme === "dark"`).At("/jobs/2").Check()
	p.pressWith(kb.ModifierCtrl, "k").Wait(`document.activeElement.id === "palette-text"`).Press("z", "z",
		"z").Wait(`document.getElementById("palette-status").textContent === "No results"`).paletteShows("Search all jobs for “zzz”").Press(
		kb.Enter).At("/jobs?q=zzz")
	p.pressWith(kb.ModifierCtrl, "k").Wait(`document.activeElement.id === "palette-text"`).Press("s", "i", "g", "n", " ", "o", "u",
		"t").paletteShows("Sign out").Press(kb.Enter).At("/sign-in*")
}

func TestPalette_InEveryLook(t *testing.T) {
	t.Parallel()
	w, first := withControl(t)
	first.Close()
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := signIn(Open(t, w.Service, look), "ann@example.com").At("/")
			p.Click("#palette-open").paletteShows("New job").Check()
			p.Go("/find?q=import").See("Import 1", "Search all jobs for “import”").Check()
			p.Go("/find?q=nothing+like+this").See("No results").Check()
			p.Go("/preferences").See("Time zone", "Compact").Check()
			p.Fill("#f-zone", "Mars").Expect(422).ClickOn("Save preferences").See("must be the name of a time zone").Check()
		})
	}
}

func TestPalette_WithoutScripts(t *testing.T) {
	t.Parallel()
	_, p := withControl(t)
	p.Go("/jobs").Script(false).Click("#palette-open").At("/find").See("New job", "Audit log").Fill("#find",
		"nightly").Press(kb.Enter).See("Nightly report")
	p.Go("/find").ClickOn("Use the dark theme").Wait(`document.documentElement.dataset.theme === "dark"`).At("/find")
	p.Go("/jobs").ClickOn("Preferences").At("/preferences").Fill("#f-zone",
		"Europe/Berlin").ClickOn("Save preferences").See("The preferences are saved", "Times in Europe/Berlin")
	p.ClickOn("Show UTC").See("Times in UTC")
}
