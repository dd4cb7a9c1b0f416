package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestListSearch_CountsTheCallersJobsByState(t *testing.T) {
	t.Parallel()
	a := account(t)
	wantSame(t, "counts of nothing", a.Get("/api/jobs/counts").Want(200).JSON,
		`{"data":{"available":0,"executing":0,"retryable":0,"completed":0,"cancelled":0,"discarded":0},"limit":10000}`)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	running := create(a.Client, `{"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	for range 3 {
		create(a.Client, waiting)
	}
	a.Post(jobPath(create(a.Client, waiting))+"/cancel", nil).Want(200)
	wantSame(t, "counts", a.Get("/api/jobs/counts").Want(200).Data(),
		`{"available":3,"executing":1,"retryable":0,"completed":0,"cancelled":1,"discarded":0}`)
	release()
	awaitState(t, a.Client, running, "completed")
	wantSame(t, "counts afterwards", a.Get("/api/jobs/counts").Want(200).Data(),
		`{"available":3,"executing":0,"retryable":0,"completed":1,"cancelled":1,"discarded":0}`)
}

// search returns the UUIDs that a search finds.
func search(c *harness.Client, q, more string) string {
	answer := c.Get("/api/jobs?q=" + url.QueryEscape(q) + more).Want(200)
	return strings.Join(answer.Data().Pluck("id"), " ")
}

func TestListSearch_FindsByIDKeyURLAndName(t *testing.T) {
	t.Parallel()
	a := account(t)
	plain := create(a.Client, with(waiting, `"name":"Daily Résumé"`))
	keyed := create(a.Client, with(waiting, `"idempotency_key":"hook"`))
	other := create(a.Client, `{"url":"https://pay.example.org/In?a=%22","scheduled_at":"`+far+`","body":{"url":"https://secret.example"}}`)
	foreign := create(account(t).Client, waiting)
	for q, want := range map[string]string{
		plain.Get("job_id").Raw():   plain.Get("id").Raw(),
		plain.Get("id").Str():       plain.Get("id").Raw(),
		"hook":                      keyed.Get("id").Raw(),
		" hook ":                    keyed.Get("id").Raw(),
		"HOOK":                      keyed.Get("id").Raw() + " " + plain.Get("id").Raw(),
		"daily résumé":              plain.Get("id").Raw(),
		"PAY.example":               other.Get("id").Raw(),
		"secret":                    "",
		"scheduled_at":              "",
		"100%":                      "",
		"_":                         "",
		foreign.Get("job_id").Raw(): "",
		foreign.Get("id").Str():     "",
		"  ":                        other.Get("id").Raw() + " " + keyed.Get("id").Raw() + " " + plain.Get("id").Raw(),
	} {
		if got := search(a.Client, q, ""); got != want {
			t.Errorf("%q finds %s, want %s", q, got, want)
		}
	}
	a.Post(jobPath(plain)+"/cancel", nil).Want(200)
	for q, want := range map[string]string{plain.Get("job_id").Raw(): plain.Get("id").Raw(), "example.com": plain.Get("id").Raw(),
		"hook": ""} {
		if got := search(a.Client, q, "&state=cancelled"); got != want {
			t.Errorf("%q finds %s among the cancelled, want %s", q, got, want)
		}
	}
}

func TestListSearch_IsPagedByItsLinks(t *testing.T) {
	t.Parallel()
	a := account(t)
	for range 5 {
		create(a.Client, waiting)
		create(a.Client, `{"url":"https://example.org/","scheduled_at":"`+far+`"}`)
	}
	found := 0
	for path, pages := "/api/jobs?q=EXAMPLE.com&limit=2", 0; path != ""; pages++ {
		if pages > 5 {
			t.Fatal("the walk does not end")
		}
		answer := a.Get(path).Want(200)
		found += len(answer.Data().Items())
		path = answer.Next()
	}
	if found != 5 {
		t.Errorf("found %d, want 5", found)
	}
}

func TestListSearch_RefusesIncompatibleParameters(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, more := range []string{"&offset=0", "&order_by=state", "&order_by[]=state", "&schedule_id=" + noUUID, "&idempotency_key=k"} {
		a.Get("/api/jobs?q=x" + more).WantParameters("q")
	}
	a.Get("/api/jobs?q=" + strings.Repeat("x", 256)).WantParameters("q")
	a.Get("/api/jobs?q=%00").WantParameters("q")
	a.Get("/api/jobs?q=%ff").WantParameters("q")
	a.Get("/api/jobs?q=a&q=b").WantParameters("q")
	a.Get("/api/jobs?q=x&limit=0&state=nope").WantParameters("limit", "state")
}
