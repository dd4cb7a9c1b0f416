package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestLogs_InEveryLook(t *testing.T) {
	t.Parallel()
	w, often, _, _ := withSchedules(t)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public/logs").See("Visible to everyone", "New logs appear at the top.", "worker.http.response").Check()
			p.Go("/public/logs?schedule="+often+"&follow=off").See("Sync the inbox", "Follow live").Check()
			p.Go("/public/logs?event=worker.webhook.failed").See("No log matches").Check()
			p.Expect(422).Go("/public/logs?job=nonsense&since=whenever").See("Job must be a job's integer id or UUID",
				"From, in UTC").Check()
			p.Go(fmt.Sprintf("/public/logs?job=%d", w.failed)).See("404").ClickOn("worker.http.response").See("no such page",
				"Log of job").Check()
		})
	}
}

func TestLogs_Filter(t *testing.T) {
	t.Parallel()
	w, _, _, _ := withSchedules(t)
	for _, scripts := range []bool{true, false} {
		p := Open(t, w.Service, Wide).Go("/public/logs").Script(scripts)
		p.Fill("#f-job", fmt.Sprint(w.failed)).Press(kb.Enter)
		p.Script(true).At(fmt.Sprintf("/public/logs?event=&last=&job=%d*", w.failed)).See("404").NotSee("/r1")
		if n := p.Value(`document.querySelectorAll("tbody tr").length`); n != "2" {
			t.Errorf("%s lines are shown, want 2", n)
		}
		if to := p.Value(`document.querySelector("a[download]").getAttribute("href")`); to != fmt.Sprintf(
			"/public/logs/export?event=&job=%d&last=&schedule=&since=&until=", w.failed) {
			t.Errorf("the export leads to %s", to)
		}
		p.ClickOn("Clear").At("/public/logs").See("New logs appear at the top.", "worker.http.request").Close()
	}
}

func TestLogs_FollowAndPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.target.Route(t).Respond(harness.JSONReply(`{}`)).URL
	p := Open(t, w.Service, Phone)
	p.Go("/public/logs").See("New logs appear at the top.")
	n := w.create(`{"url":%q}`, url)
	p.Wait(fmt.Sprintf(`document.querySelector('tbody a[href="/public/jobs/%d"]')`, n)).Check()
	p.ClickOn("Pause").At("/public/logs?follow=off").See("Follow live").NotSee("New logs appear at the top.").Check()
	if p.Is(`!!document.querySelector("[data-live]")`) {
		t.Error("it follows while it is paused")
	}
	p.ClickOn("Follow live").At("/public/logs").See("New logs appear at the top.")
}

func TestOverview_InEveryLook(t *testing.T) {
	t.Parallel()
	w, _, _, _ := withSchedules(t)
	w.create(`{"url":"https://example.com/soon","name":"Soon to come","schedule_in":[20,"minutes"]}`)
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, w.Service, look)
			p.Go("/public").See("Visible to everyone", "Attempts", "Success rate", "Lateness", "Attempt duration", "in the last day",
				"500").Check()
			p.Wait(`document.getElementById("ribbon-summary").textContent.includes("Last hour")`) // a new account fits into it
			p.ClickOn("Day").At("/public?span=24h").Wait(`document.getElementById("ribbon-summary").textContent.includes("Last 24 hours")`)
			p.ClickOn("Hour").At("/public?span=1h").Wait(
				`document.getElementById("ribbon-summary").textContent.includes("Last hour")`).Check()
		})
	}
}

func TestOverview_UpdatesWithoutReloading(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	p.Go("/public?view=table").See("Planned").NotSee("Just added")
	w.create(`{"url":"https://example.com/soon","name":"Just added","schedule_in":600}`)
	p.See("Just added").Check()
}

func TestOverview_EmptyLikeTheLogs(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	for _, look := range []Look{Wide, PhoneDark} {
		p := Open(t, s, look)
		p.Go("/public").See("Nothing has run yet", "curl "+s.URL()+"/api/jobs", "Bearer "+harness.PublicKey).Check()
		p.Go("/public/logs").See("Nothing has happened yet").Check().Close()
	}
}
