package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestNewJob_EnterCreatesAndUnreadableFieldsBlock tests that no request is fired
// now because its time can't be read.
func TestNewJob_EnterCreatesAndUnreadableFieldsBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.client.Get("/api/jobs?limit=1").Want(200).Data().Items()[0].Get("job_id").Int()
	for _, scripts := range []bool{true, false} {
		p := Open(t, w.Service, Wide).Expect(422).Go("/public/jobs/new").Script(scripts)
		p.Fill("#f-url", "https://example.com/typo").Fill("#f-when", "tomorow at 9").Press(kb.Enter)
		p.Script(true).See("Nothing was created", "When is not understood").Script(scripts)
		p.ClickOn("Edit as JSON").Script(true).See("can't be turned into JSON yet", "When is not understood")
		if got := p.Value(`document.getElementById("f-when").value`); got != "tomorow at 9" {
			t.Errorf("the time has become %q", got)
		}
		if p.Is(`!!document.getElementById("curl") || !!document.getElementById("f-json")`) {
			t.Error("a command or JSON without the time is shown")
		}
		p.Check()
		p.Fill("#f-when", "in 3 days").ClickOn("Headers").Fill("#f-headers", "no colon here").ClickOn("Edit as JSON").Script(true)
		p.Wait(`document.getElementById("f-headers")?.getAttribute("aria-invalid") === "true"`).See("Headers must be lines of Name: value")
		if got := p.Value(`document.getElementById("f-headers").value`); got != "no colon here" {
			t.Errorf("the headers have become %q", got)
		}
		p.Close()
	}
	if after := w.client.Get("/api/jobs?limit=1").Want(200).Data().Items()[0].Get("job_id").Int(); after != before {
		t.Errorf("job %d was created", after)
	}
}

// TestNewJob_PreviewIsNeverStale tests that the preview is marked from the first
// change until it is current, and that the command needs every field.
func TestNewJob_PreviewIsNeverStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide).Go("/public/jobs/new").Fill("#f-url", "https://example.com/x").Wait(`document.getElementById("curl")`)
	const enter = `(() => { const i = document.getElementById("f-when"); i.value = %q; i.dispatchEvent(new Event("input", {bubbles: true})); return document.getElementById("preview").getAttribute("aria-busy"); })()`
	for when, then := range map[string]string{
		"in 3 days":    `document.getElementById("curl")?.textContent.includes("schedule_in")`,
		"tomorow at 9": `!document.getElementById("curl") && document.getElementById("preview").innerText.includes("is not understood")`,
	} {
		if busy := p.Value(fmt.Sprintf(enter, when)); busy != "true" {
			t.Errorf("after %s is typed, aria-busy is %s", when, busy)
		}
		p.Wait(`!document.getElementById("preview").hasAttribute("aria-busy") && ` + then)
	}
	// Submitting shows progress, and happens once.
	got := p.Value(`(() => { const f = document.getElementById("new-job"); let n = 0; window.addEventListener("submit", (e) => { if (!e.defaultPrevented) n++; e.preventDefault(); });
		f.requestSubmit(f.querySelector(".primary")); const busy = f.getAttribute("aria-busy"); f.requestSubmit(f.querySelector(".primary")); return [busy, f.querySelectorAll(".sending").length, n].join(); })()`)
	if got != "true,1,1" {
		t.Errorf("submitting twice gives %s", got)
	}
}

// TestJob_UpdatesKeepFormsAndFocus tests that live updates change neither what the
// reader types into, nor what has the focus.
func TestJob_UpdatesKeepFormsAndFocus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide).Expect(422).Go(w.job(w.waiting))
	p.ClickOn("Reschedule").Fill("#f-when", "sometime").Press(kb.Enter).See("When is not understood")
	p.Is(`(window.kept = document.getElementById("f-when"), true)`)
	ok := w.target.Route(t).Respond(harness.JSONReply(`{}`)).URL
	rename := func(name string) {
		w.client.Do(http.MethodPatch, fmt.Sprintf("/api/jobs/%d", w.waiting), fmt.Sprintf(`{"name":%q}`, name)).Want(200)
		w.create(`{"url":%q}`, ok) // its logs cause an update
	}
	rename("Renamed meanwhile")
	p.See("Renamed meanwhile").See("When is not understood")
	if !p.Is(`document.getElementById("f-when") === window.kept && window.kept.value === "sometime"`) {
		t.Error("the form was replaced")
	}
	p.Press(kb.Escape).Wait(`document.activeElement.matches("#reschedule > summary")`)
	p.Is(`(window.kept = document.activeElement, true)`)
	rename("Renamed again")
	p.See("Renamed again")
	if !p.Is(`document.activeElement === window.kept`) {
		t.Error("the focus was lost")
	}
	p.Check()
}

// TestJob_CopiesCompleteTexts tests that buttons copy all of a text of which the
// page shows the beginning, and that they work over plain http.
func TestJob_CopiesCompleteTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.create(`{"method":"post","url":"https://example.com/large","schedule_in":3600,"body":{"text":%q}}`,
		strings.Repeat("0123456789", 3000))
	p := Open(t, w.Service, Wide).Go(w.job(n)).See("not shown.")
	p.Is(`(Object.defineProperty(navigator, "clipboard", {value: {writeText: (t) => { window.copied = t; return Promise.resolve(); }}, configurable: true}), true)`)
	p.ClickOn("As a curl command").Click(`button[data-copy-from="request-curl"]`)
	p.Wait(`window.copied && window.copied.length > 30000 && window.copied.startsWith("curl") && window.copied.endsWith("'")`)
	p.Click(`button[data-copy-from="request-body"]`).Wait(`window.copied.endsWith("}")`)
	// Without the clipboard of secure contexts:
	p.Is(`(Object.defineProperty(navigator, "clipboard", {value: undefined, configurable: true}), document.execCommand = () => { window.copied = document.activeElement.value; return true; }, true)`)
	p.Click(`button[aria-label="Copy the id"]`).Wait(fmt.Sprintf(`window.copied === "%d"`, n)).Check()
}

// TestLive_DisconnectedIsShown tests that a page says that its service has stopped,
// and from when its data is.
func TestLive_DisconnectedIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Phone).Go("/public/jobs").See("Welcome mail").NotSee("Disconnected")
	p.ExpectText("net::ERR").Wait(`document.documentElement.dataset.following`)
	w.Stop()
	p.See("Disconnected.", "Data from ")
	// Relative times stop, so that they fit the states beside them.
	if !p.Is(`/Data from \d\d:\d\d:\d\d\./.test(document.getElementById("connection").innerText) && document.documentElement.hasAttribute("data-stale-at")`) {
		t.Errorf("the banner says %q", p.Value(`document.getElementById("connection").innerText`))
	}
}

func TestOverview_FailuresHangBelowTheLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide).Go("/public").See("Success rate", "p99 ").NotSee("99 of 100").Check()
	p.Wait(`(() => { const box = (s) => document.querySelector(".ribbon " + s).getBoundingClientRect(), line = box(".ribbon-line"); return box(".ran").bottom <= line.bottom + 1 && box(".failed").top >= line.top - 1 && box(".failed").height > 2; })()`)
}

func TestOverview_FailuresOnlyAreNotNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	broken := harness.NewTarget(t).Route(t).Respond(harness.Reply(500, "text/plain", "no"))
	c.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"retries":5}`, broken.URL)).Want(201)
	broken.Await(t, 1, soon)
	p := Open(t, s, Wide)
	if !harness.Within(soon, func() bool { return len(c.Get("/api/jobs?state=retryable").Want(200).Data().Items()) == 1 }) {
		t.Fatal("the job is not retried")
	}
	p.Go("/public").See("Success rate", "0 %", "but every job has retries left").NotSee("No failures").Check()
}

func TestJobs_SearchForANumberFindsTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.create(`{"url":"https://example.com/orders","name":"Order %d","schedule_in":3600}`, w.done)
	p := Open(t, w.Service, Wide).Go(fmt.Sprintf("/public/jobs?q=%d", w.done)).See("Welcome mail", fmt.Sprintf("Order %d", w.done))
	if first := p.Value(`document.querySelector("tbody tr").id`); first != fmt.Sprintf("job-%d", w.done) {
		t.Errorf("%s is first", first)
	}
	if p.Is(`[...document.querySelectorAll(".tabs .count")].length > 0`) {
		t.Error("the tabs count jobs that the search does not find")
	}
	p.Go(fmt.Sprintf("/public/jobs?q=order+%d", w.done)).See(fmt.Sprintf("#%d", n)).NotSee("Welcome mail")
}

func TestJobs_CancelFromATabStaysThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.create(`{"url":"https://example.com/a","schedule_in":3600}`), w.create(`{"url":"https://example.com/b","schedule_in":3600}`)
	p := Open(t, w.Service, Wide).Go("/public/jobs?state=available")
	p.Click(fmt.Sprintf("#pick-%d", a)).Click(fmt.Sprintf("#pick-%d", b)).ClickOn("Cancel selected").ClickOn("Cancel jobs")
	p.At("/public/jobs?state=available").See("2 jobs have been cancelled.").NotSee(fmt.Sprintf("Job %d", a)).Check()
	// Nothing can be selected among final jobs, so there is nothing to select all of.
	p.Go("/public/jobs?state=completed").See("Welcome mail")
	if p.Is(`!!document.querySelector("[data-pick-all]")`) {
		t.Error("all of nothing can be selected")
	}
}

func TestJob_RunNowIsNoSuccessYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := w.target.Route(t).Respond(harness.Reply(500, "text/plain", "no"))
	n := w.create(`{"url":%q,"schedule_in":3600,"retries":0}`, broken.URL)
	p := Open(t, w.Service, Wide).Go(w.job(n)).ClickOn("Run now").See("The run has been requested", "Failed")
	if p.Is(`!!document.querySelector(".notice.good")`) {
		t.Error("a success is shown above a job that failed")
	}
}

func TestFrame_WayBackFromPublicPages(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	p := signUp(Open(t, s, Wide))
	p.Go("/public/jobs").See("Visible to everyone", "Your dashboard").NotSee("Sign in").Check()
	p.ClickOn("Your dashboard").At("/").See("ann@example.com")
}

// TestFrame_Details tests small things that every page has.
func TestFrame_Details(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide).Go("/public/jobs").See("Welcome mail")
	if status := p.Value(`(() => { const r = new XMLHttpRequest(); r.open("GET", "/favicon.ico", false); r.send(); return r.status + " " + r.getResponseHeader("Content-Type"); })()`); status != "200 image/svg+xml" {
		t.Errorf("/favicon.ico gives %s", status)
	}
	if shadow := p.Value(`getComputedStyle(document.querySelector(".skip")).boxShadow`); shadow != "none" {
		t.Errorf("the skip link, out of sight, has the shadow %s", shadow)
	}
	if !p.Is(`Math.abs(document.querySelector(".tabs").getBoundingClientRect().left - document.querySelector(".table-card").getBoundingClientRect().left) < 1`) {
		t.Error("the line below the tabs does not begin where the table does")
	}
	// Columns stay where they are, whatever the rows contain.
	const columns = `[...document.querySelectorAll("th")].map((e) => Math.round(e.getBoundingClientRect().left)).join()`
	all := p.Value(columns)
	p.Go("/public/jobs?state=completed").See("Welcome mail")
	if got := p.Value(columns); got != all {
		t.Errorf("the columns are at %s, and with other rows at %s", all, got)
	}
}
