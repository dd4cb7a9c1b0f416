package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// Look is how a page is looked at.
type Look struct {
	Name          string
	Width, Height int64
	Phone, Dark   bool
}

// The looks every page is held to. Two of them have each width and each colour scheme;
// all four are tested if everything is asked for.
var (
	Wide      = Look{Name: "wide light", Width: 1200, Height: 900}
	WideDark  = Look{Name: "wide dark", Width: 1200, Height: 900, Dark: true}
	Phone     = Look{Name: "phone light", Width: 390, Height: 844, Phone: true}
	PhoneDark = Look{Name: "phone dark", Width: 390, Height: 844, Phone: true, Dark: true}
	Looks     = looks(os.Getenv("PUNCTUAL_E2E_FULL") != "")
)

func looks(all bool) []Look {
	if all {
		return []Look{Wide, WideDark, Phone, PhoneDark}
	}
	return []Look{Wide, PhoneDark}
}

// within is how long a page may take for what is waited for.
const within = 30 * time.Second

// Page is a tab in a profile of its own.
type Page struct {
	Service *harness.Service

	t     testing.TB
	ctx   context.Context
	watch *watch
	close func()
}

// Open opens a page on a service, showing nothing yet.
func Open(t testing.TB, s *harness.Service, look Look) *Page {
	t.Helper()
	browser := browserContext(t)
	endTurn := takeTurn(t)
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	p := &Page{Service: s, t: t, ctx: ctx, watch: &watch{}}
	p.close = sync.OnceFunc(func() {
		cancel()
		endTurn()
		if trouble := p.watch.take(); trouble != "" {
			t.Errorf("the browser complained:\n%s", trouble)
		}
	})
	t.Cleanup(p.close)
	if err := chromedp.Listen(ctx, p.watch.event); err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	options := []chromedp.EmulateViewportOption{}
	if look.Phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.run("preparing the tab", chromedp.EmulateViewport(look.Width, look.Height, options...),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"}},
		}), command(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"}))
	return p
}

// Close closes the page before the test ends: at most three are open at once,
// and another one waits for its place.
func (p *Page) Close() { p.close() }

// step is a browser action without a result.
type step = chromedp.Action[chromedp.Void]

// command makes a step of a command of the protocol.
func command[P, R any](c cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// evaluate asks the page for the value of a JavaScript expression.
func evaluate[T any](p *Page, expression string, options ...chromedp.EvaluateOption) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, pace.Guard(within))
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
}

// Script switches the scripts of pages on or off, as some browsers do.
func (p *Page) Script(on bool) *Page {
	p.t.Helper()
	p.run("switching scripts", command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}))
	return p
}

func (p *Page) run(what string, steps ...step) {
	p.t.Helper()
	if err := p.try(steps...); err != nil {
		p.broken(what, err)
	}
}

// broken ends the test with what the page shows.
func (p *Page) broken(what string, err error) {
	p.t.Helper()
	p.t.Fatalf("%s: %v\nat %s, which shows:\n%s\n%s", what, err, p.Address(), p.text(), p.watch.take())
}

func (p *Page) try(steps ...step) error {
	ctx, cancel := context.WithTimeout(p.ctx, pace.Guard(within))
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Expect announces that a request may get a status that is an error.
func (p *Page) Expect(status int) *Page {
	p.watch.expect(status)
	return p
}

// ExpectText announces that messages with a text may come.
func (p *Page) ExpectText(text string) *Page {
	p.watch.expectText(text)
	return p
}

// Go opens a path of the service.
func (p *Page) Go(path string) *Page {
	p.t.Helper()
	p.run("opening "+path, chromedp.Navigate(p.Service.URL()+path))
	return p
}

// Address is the path and query the page is at.
func (p *Page) Address() string {
	location, err := evaluate[string](p, `location.href`)
	if err != nil {
		return "an unknown address: " + err.Error()
	}
	return strings.TrimPrefix(location, p.Service.URL())
}

// text returns what the page shows, for messages.
func (p *Page) text() string {
	text, err := evaluate[string](p, `document.body.innerText`)
	if err != nil {
		return "nothing: " + err.Error()
	}
	if len(text) > 3000 {
		text = text[:3000] + "…"
	}
	return text
}

// until polls a JavaScript expression until it is true. Errors come while the
// page is being replaced by the next one.
func (p *Page) until(what, expression string) {
	p.t.Helper()
	var last error
	met := harness.Within(within, func() bool {
		yes, err := evaluate[bool](p, "!!("+expression+")")
		last = err
		return err == nil && yes
	})
	if !met {
		if last == nil {
			last = errors.New("it did not come")
		}
		p.broken(what, last)
	}
}

// See waits until the page shows a text.
func (p *Page) See(texts ...string) *Page {
	p.t.Helper()
	for _, text := range texts {
		p.until("waiting for "+text, fmt.Sprintf(`document.body && document.body.innerText.includes(%s)`, quote(text)))
	}
	return p
}

// NotSee fails the test when the page shows a text.
func (p *Page) NotSee(text string) *Page {
	p.t.Helper()
	if p.Is(fmt.Sprintf(`document.body.innerText.includes(%s)`, quote(text))) {
		p.t.Errorf("%s shows %q", p.Address(), text)
	}
	return p
}

// At waits until the page is at a path; a * at the end stands for more.
func (p *Page) At(path string) *Page {
	p.t.Helper()
	condition := fmt.Sprintf(`location.pathname + location.search === %s`, quote(path))
	if begin, ok := strings.CutSuffix(path, "*"); ok {
		condition = fmt.Sprintf(`(location.pathname + location.search).startsWith(%s)`, quote(begin))
	}
	p.until("waiting to be at "+path, condition+` && document.readyState === "complete"`)
	return p
}

// Click clicks what a CSS selector finds first, when it can be seen.
func (p *Page) Click(selector string) *Page {
	p.t.Helper()
	p.click(selector, `[...document.querySelectorAll(`+quote(selector)+`)].find((e) => e.checkVisibility())`)
	return p
}

// ClickOn clicks the link, button or summary whose text begins so.
func (p *Page) ClickOn(text string) *Page {
	p.t.Helper()
	p.click(text, fmt.Sprintf(`[...document.querySelectorAll("a, button, summary")].find((e) => e.checkVisibility() && (e.innerText ?? e.textContent).trim().startsWith(%s))`, quote(text)))
	return p
}

// click finds and clicks in one go, since a live page may put another element
// in the place of what was found.
func (p *Page) click(what, find string) {
	p.t.Helper()
	p.until("clicking "+what, `(() => { const e = `+find+
		`; if (!e) return false; e.scrollIntoView({block: "center"}); e.focus(); e.click(); return true; })()`)
}

// Fill puts a text into a field, in place of what it has.
func (p *Page) Fill(selector, text string) *Page {
	p.t.Helper()
	p.run("finding "+selector, chromedp.Focus(chromedp.CSS(selector), chromedp.NodeVisible))
	p.Is(`(document.activeElement.select(), true)`)
	p.Press(kb.Backspace)
	p.run("typing into "+selector, chromedp.KeyEvent(text))
	return p
}

// Press presses keys, one after the other; see package kb.
func (p *Page) Press(keys ...string) *Page {
	p.t.Helper()
	for _, key := range keys {
		p.run("pressing a key", chromedp.KeyEvent(key))
	}
	return p
}

// TabTo presses Tab until the element that has the focus shows a text or has
// it as its name or id, and fails when the page comes round without it.
func (p *Page) TabTo(text string) *Page {
	p.t.Helper()
	for range 80 {
		p.Press(kb.Tab)
		if p.Is(fmt.Sprintf(`(() => { const e = document.activeElement; return e.innerText?.trim().startsWith(%[1]s) || e.name === %[1]s || e.id === %[1]s; })()`, quote(text))) {
			if !p.Is(`(() => { const s = getComputedStyle(document.activeElement); return document.activeElement.matches(":focus-visible") && (s.outlineStyle !== "none" || s.boxShadow !== "none"); })()`) {
				p.t.Errorf("%s has the focus at %s, and nothing shows it", text, p.Address())
			}
			return p
		}
	}
	p.t.Fatalf("%q is not reached by Tab at %s", text, p.Address())
	return p
}

// Is evaluates a JavaScript condition.
func (p *Page) Is(condition string) bool {
	p.t.Helper()
	yes, err := evaluate[bool](p, condition)
	if err != nil {
		p.broken("asking the page "+condition, err)
	}
	return yes
}

// Wait waits for a JavaScript condition.
func (p *Page) Wait(condition string) *Page {
	p.t.Helper()
	p.until("waiting for "+condition, condition)
	return p
}

// Value returns what a JavaScript expression evaluates to, as text.
func (p *Page) Value(expression string) string {
	p.t.Helper()
	text, err := evaluate[string](p, `String(`+expression+`)`)
	if err != nil {
		p.broken("asking the page "+expression, err)
	}
	return text
}

// Shot returns a picture of what is in view, as WebP.
func (p *Page) Shot(quality int64) []byte {
	p.t.Helper()
	result, err := chromedp.Call(p.ctx, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
	if err != nil || len(result.Data) == 0 {
		p.broken("taking a picture", err)
	}
	return result.Data
}
