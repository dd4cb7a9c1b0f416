package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// soon is how long a test waits for what should happen at once.
const soon = 15 * time.Second

// world is a service whose public account has jobs of every kind.
type world struct {
	*harness.Service
	client                     *harness.Client
	target                     *harness.Target
	done, failed, waiting, far int64
}

const longURL = "/a/very/long/path/that/goes/on/and/on/because/somebody/put/everything/into/the/address?with=many&parameters=and&values=that&token=abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Service: harness.Start(t)}
	w.client = w.Public(t)
	target := harness.NewTarget(t)
	w.target = target
	ok := target.Route(t).Respond(harness.JSONReply(`{"ok":true,"items":[{"id":1,"name":"first"},{"id":2,"name":"second"}]}`))
	broken := target.Route(t).Respond(harness.Reply(404, "text/plain", "no such page"))
	w.done = w.create(`{"method":"post","url":%q,"name":"Welcome mail","body":{"to":"alex@example.com","lang":"en"},"headers":{"X-Team":"billing"}}`, ok.URL)
	w.failed = w.create(`{"url":%q,"name":"Nightly report","retries":0,"callback_url":%q}`, broken.URL, ok.URL)
	w.waiting = w.create(`{"method":"put","url":%q,"schedule_in":[3,"days"],"description":"Somebody wrote\nwhat this is for."}`,
		target.URL+longURL)
	w.far = w.create(`{"url":%q,"cron":"0 9 * * 1-5","timezone":"Europe/Berlin","name":"Weekday mornings"}`, ok.URL)
	for _, n := range []int64{w.done, w.failed} {
		if !harness.Within(soon, func() bool {
			state := w.client.Get(fmt.Sprintf("/api/jobs/%d", n)).Want(200).Data().Get("job.state").Str()
			return state == "completed" || state == "discarded"
		}) {
			t.Fatalf("job %d is not final within %s", n, soon)
		}
	}
	return w
}

func (w *world) create(body string, args ...any) int64 {
	return w.client.Post("/api/jobs", fmt.Sprintf(body, args...)).Want(201).Data().Get("job_id").Int()
}

// job returns the path of a job's page.
func (w *world) job(n int64) string { return fmt.Sprintf("/public/jobs/%d", n) }

func TestJobs_InEveryLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public/jobs").See("Visible to everyone", "Welcome mail", "Nightly report", "Weekday mornings").Check()
			if !p.Is(`document.querySelector("header.top").offsetWidth === innerWidth`) {
				t.Error("the header is narrower than the window")
			}
			if started := p.Value(`[...document.querySelectorAll("td[data-label='Last attempt']")].map((e) => e.textContent.trim()).join(", ")`); started != "none yet, none yet, on time, on time" {
				t.Errorf("the last attempts were %s", started)
			}
			p.Go("/public/jobs?state=discarded").See("Nightly report").NotSee("Welcome mail").Check()
			p.Go("/public/jobs?state=executing").See("No running jobs").Check()
			p.Go("/public/jobs?q=nothing-like-it").See("No job matches").Check()
			p.Go(w.job(w.done)).See("Welcome mail", "Completed", "Created, due at once", "Attempt 1: response 200", "alex@example.com").Check()
			p.Go(w.job(w.failed)).See("Failed", "Attempt 1: response 404", "no such page").Check()
			p.Go(w.job(w.waiting)).See("Scheduled", "in 2 d 23 h", "what this is for").Check()
			p.Go("/public/jobs/new").See("When it runs").Check()
			p.Expect(404).Go("/public/jobs/999999").See("Not found").Check()
			p.Go("/there-is-no-such-page").See("There is no page at this address").Check()
		})
	}
}

func TestJobs_EmptyAccount(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	for _, look := range []Look{Wide, PhoneDark} {
		p := Open(t, s, look)
		p.Go("/public/jobs").See("No jobs yet", "curl "+s.URL()+"/api/jobs").Check()
	}
}

func TestJobs_SearchAndTabs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public/jobs").Fill("#q", "nightly").Press(kb.Enter).At("/public/jobs?q=nightly").See("Nightly report").NotSee("Welcome mail")
	p.ClickOn("Failed").See("Nightly report")
	p.ClickOn("Completed").At("/public/jobs?q=nightly&state=completed").See("No job matches")
	p.ClickOn("Clear").At("/public/jobs").Fill("#q",
		fmt.Sprint(w.waiting)).Press(kb.Enter).At(fmt.Sprintf("/public/jobs?q=%d", w.waiting)).See("Job 3")
}

func TestJobs_CreateWithATimeInPlainEnglish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.target.Route(t).Respond(harness.JSONReply(`{"ok":true}`)).URL
	p := Open(t, w.Service, Wide)
	p.Go("/public/jobs/new").Fill("#f-url", url).Fill("#f-body", `{"hello":`)
	p.See("Not JSON yet")
	p.Fill("#f-body", `{"hello":"world"}`)
	p.Fill("#f-when", "every weekday at 9:00").See("Every weekday at 09:00, Europe/Berlin", "09:00:00 CE").See(`"cron": "0 9 * * 1-5"`,
		`"timezone": "Europe/Berlin"`)
	p.Fill("#f-when", "every wednesdayish").See("is not understood")
	p.Fill("#f-when", "in 2 days").See("in 1 d 23 h", `"schedule_in": [2, "days"]`).Check()
	p.ClickOn("Create job").At("/public/jobs/*").See("The job has been created", "Scheduled", "in 1 d 23 h").Check()
	if p.Is(`location.search.includes("done")`) {
		t.Error("the word of what was done stays in the address")
	}
	if got := w.client.Get("/api/jobs?limit=1").Want(200).Data().Items()[0].Get("args.body.hello").Str(); got != "world" {
		t.Errorf("the job's body says %q", got)
	}

	p.ClickOn("Reschedule").Fill("#f-when", "in 5 hours").See("Earlier than planned by").Check()
	p.Press(kb.Enter).See("The job has been rescheduled", "in 4 h")
	p.ClickOn("Run now").See("The run has been requested", "Attempt 1: response 200", "Completed")
	p.ClickOn("Run again").See("This is the new job", "Completed")
	p.ClickOn("More").ClickOn("Duplicate").At("/public/jobs/new*").Wait(fmt.Sprintf(`document.querySelector("#f-url").value === %q`, url))
	p.ClickOn("Edit as JSON").See("The body of POST /api/jobs").Check()
	p.Expect(422).Fill("#f-json", `{"urll":"https://example.com"}`).ClickOn("Create job").See("did you mean url?").Check()
}

func TestJobs_ErrorsAppearNextToTheirFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scripts := range []bool{true, false} {
		t.Run(fmt.Sprintf("scripts %v", scripts), func(t *testing.T) {
			p := Open(t, w.Service, Wide).Expect(422)
			p.Go("/public/jobs/new").Fill("#f-url", "http://example.com").Fill("#f-body", `{"a":`).Fill("#f-when", "whenever")
			if !scripts {
				p.Script(false).Go("/public/jobs/new")
				p.Fill("#f-url", "http://example.com").Fill("#f-body", `{"a":`).Fill("#f-when", "whenever")
			}
			p.Click(`button.primary[type=submit]`)
			p.Script(true)
			p.See("Nothing was created", "URL must use https", "Body is not valid JSON", "When is not understood")
			for _, id := range []string{"f-url", "f-body", "f-when"} {
				if !p.Is(fmt.Sprintf(`document.getElementById(%q).getAttribute("aria-invalid") === "true" && !!document.getElementById(%q + "-error")`, id, id)) {
					t.Errorf("%s is not marked", id)
				}
			}
			if got := p.Value(`document.getElementById("f-when").value`); got != "whenever" {
				t.Errorf("what was typed is gone: %q", got)
			}
			if scripts {
				p.Check()
			}
		})
	}
}

func TestJobs_CancelOneAndSeveral(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Phone)
	p.Go(w.job(w.waiting)).ClickOn("Cancel").See("Its request will not be sent").Check().ClickOn("Cancel job").See(
		"The job has been cancelled", "Cancelled")
	a, b := w.create(`{"url":"https://example.com/a","schedule_in":3000}`), w.create(`{"url":"https://example.com/b","schedule_in":3000}`)
	p.Go("/public/jobs").Click(fmt.Sprintf("#pick-%d", a)).Click(fmt.Sprintf("#pick-%d", b))
	p.ClickOn("Cancel selected").See("Cancel 2 jobs?").Check().ClickOn("Cancel jobs").See("2 jobs have been cancelled")
	for _, n := range []int64{a, b} {
		if got := w.client.Get(fmt.Sprintf("/api/jobs/%d", n)).Want(200).Data().Get("job.state").Str(); got != "cancelled" {
			t.Errorf("job %d is %s", n, got)
		}
	}
}

// TestJobs_ChangesAppearWithoutReloading tests that open pages update without
// reloading.
func TestJobs_ChangesAppearWithoutReloading(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list, detail := Open(t, w.Service, Wide), Open(t, w.Service, Phone)
	list.Go("/public/jobs").See("Welcome mail")
	detail.Go(w.job(w.waiting)).See("Scheduled")
	route := w.target.Route(t)
	release := route.Hold(harness.JSONReply(`{}`))
	n := w.create(`{"url":%q,"name":"Just now","timeout":600}`, route.URL)
	list.See("1 new job").NotSee("Just now").ClickOn("1 new job").See("Just now", "Running")
	w.client.Post(fmt.Sprintf("/api/jobs/%d/cancel", w.waiting), nil).Want(200)
	detail.See("Cancelled").Check()
	list.Click(fmt.Sprintf("#pick-%d", n))
	release()
	list.Wait(fmt.Sprintf(`!document.querySelector("#pick-%d") && document.querySelector("tbody tr .badge").innerText.trim() === "Completed"`, n)).Check()
}

// TestJobs_ByKeyboardOnly creates a job and cancels it without a mouse.
func TestJobs_ByKeyboardOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public/jobs").Press(kb.Tab).Wait(`document.activeElement.matches(".skip")`).Press(kb.Enter)
	p.Wait(`location.hash === "#main"`)
	p.TabTo("New job").Press(kb.Enter).At("/public/jobs/new")
	p.TabTo("url").Press(strings.Split("https://example.com/keys", "")...)
	p.TabTo("when").Press(strings.Split("in 3 days", "")...)
	p.TabTo("Create job").Press(kb.Enter).See("The job has been created")
	p.TabTo("Cancel").Press(kb.Enter).See("Its request will not be sent")
	p.Press(kb.Escape).Wait(`!document.querySelector("details.confirm[open]")`).Press(kb.Enter)
	p.TabTo("Cancel job").Press(kb.Enter).See("The job has been cancelled")
}

func TestJob_AttemptsAreDrawnAndCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The target waits, or a response may come before the sender notes that the request is written: then nothing is shown as "wait".
	flaky := w.target.Route(t).Respond(harness.Delay(300*time.Millisecond, harness.JSONReply(`{"ok":true}`)))
	flaky.RespondOnce(harness.Reply(503, "text/plain", "busy", "Retry-After", "3600"))
	n := w.create(`{"url":%q,"name":"Flaky","retries":3}`, flaky.URL)
	if !harness.Within(soon, func() bool {
		return len(w.client.Get("/api/jobs?state=retryable&limit=100").Want(200).Data().Items()) > 0
	}) {
		t.Fatal("the job is not retried")
	}
	w.client.Post(fmt.Sprintf("/api/jobs/%d/run", n), nil).Want(200)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go(w.job(n)).See("Attempt 2: response 200", "Lateness", "wait ").Check()
			if !p.Is(`document.querySelectorAll(".lane rect").length === 2 && document.querySelectorAll(".phases").length === 2`) {
				t.Error("the attempts are not drawn")
			}
			p.ClickOn("Compare with the attempt before").At(w.job(n)+"/compare?b=2").See("Attempt 1: 503", "Attempt 2: 200", "≠").Check()
		})
	}
}
