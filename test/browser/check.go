package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/runtime"
)

//go:embed axe/axe.min.js
var axe string

// maxPage is how large a page's HTML may be.
const maxPage = 100 << 10

// finding is what axe-core has against a page.
type finding struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// Check checks what every page must satisfy.
func (p *Page) Check() *Page {
	p.t.Helper()
	p.Wait(`document.readyState === "complete" && !document.querySelector(".htmx-request")`)
	for _, f := range p.findings() {
		var nodes []string
		for _, n := range f.Nodes {
			nodes = append(nodes, n.HTML+"\n    "+strings.ReplaceAll(n.Summary, "\n", " "))
		}
		p.t.Errorf("%s: axe-core finds (%s) %s: %s\n  %s", p.Address(), f.Impact, f.ID, f.Help, strings.Join(nodes, "\n  "))
	}
	if joined := p.Value(joinedTimes); joined != "" {
		p.t.Errorf("%s has no space before a time: %s", p.Address(), joined)
	}
	// A scroll bar makes the content narrower than the window.
	if wide := p.Value(`Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)`); wide != "0" {
		p.t.Errorf("%s scrolls sideways by %s px: %s", p.Address(), wide, p.Value(widest))
	}
	if p.Is(fmt.Sprintf(`new Blob([document.documentElement.outerHTML]).size > %d`, maxPage)) {
		p.t.Errorf("%s is larger than 100 KiB", p.Address())
	}
	if trouble := p.watch.take(); trouble != "" {
		p.t.Errorf("at %s the browser complained:\n%s", p.Address(), trouble)
	}
	return p
}

// joinedTimes returns texts that run into the time behind them, such as "retryin 5 s".
const joinedTimes = `[...document.querySelectorAll("time")].filter((e) => e.previousSibling?.nodeType === 3 && /[\p{L}\p{N}]$/u.test(e.previousSibling.data)).map((e) => e.previousSibling.data + e.textContent).join("\n")`

// widest returns the elements that stick out to the right.
const widest = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 120)).join("\n")`

func (p *Page) findings() []finding {
	p.t.Helper()
	if !p.Is(`!!window.axe`) {
		p.Is(axe + ";true")
	}
	wait := true
	result, err := evaluate[string](p, `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations))`,
		func(e *runtime.EvaluateParams) { e.AwaitPromise = &wait })
	if err != nil {
		p.broken("running axe-core", err)
	}
	var found []finding
	if err := json.Unmarshal([]byte(result), &found); err != nil {
		p.t.Fatalf("what axe-core says can't be read: %v", err)
	}
	return found
}
