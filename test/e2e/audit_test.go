package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// auditEvents returns the events of entries, the latest first.
func auditEvents(entries harness.JSON) (events []string) {
	for _, e := range entries.Items() {
		events = append(events, e.Get("event").Str())
	}
	return events
}

func TestAudit_LogsWhoDidWhat(t *testing.T) {
	t.Parallel()
	a := account(t)
	made := a.Post("/api/account/keys", `{"name":"billing","scope":"jobs"}`).Want(201).Data()
	a.Post("/api/account/signing-secrets/rotate", nil).Want(200)
	path := "/api/account/keys/" + made.Get("id").Str()
	a.Do(http.MethodDelete, path, nil).Want(204)
	a.Do(http.MethodDelete, path, nil).Want(204) // changes nothing
	a.Service.SetPassword(t, a.Email, "correct horse battery")
	entries := a.Get("/api/account/audit").Want(200).Data()
	if got, want := strings.Join(auditEvents(entries), " "),
		"password.changed key.revoked secret.rotated key.created key.created account.created"; got != want {
		t.Fatalf("the events are %s\nwant %s", got, want)
	}
	first := entries.Get("3")
	wantKeys(t, "an entry", first, "id", "inserted_at", "event", "actor", "address", "detail", "count", "last_at")
	wantSame(t, "the actor", first.Get("actor"), `{"kind":"key","name":"`+a.Key[:9]+`"}`)
	wantSame(t, "the address", first.Get("address"), `"127.0.0.1"`)
	wantSame(t, "the detail", first.Get("detail"), fmt.Sprintf("%q", made.Get("prefix").Str()+` "billing", scope jobs`))
	wantSame(t, "the count", first.Get("count"), "1")
	wantSame(t, "the actor of a command", entries.Get("0.actor"), `{"kind":"cli","name":null}`)
	wantSame(t, "the address of a command", entries.Get("0.address"), "null")
	if strings.Contains(string(entries), made.Get("key").Str()) {
		t.Error("a key is told")
	}
	wantSame(t, "one event", a.Get("/api/account/audit?event=secret.rotated").Want(200).Data().Get("0.id"), entries.Get("2.id").Raw())
	// The command line shows the same.
	shown := command(t, a.Service, "accounts", "audit", a.Email, "--json")
	wantSame(t, "the command's", shown, entries.Raw())
	// It is in the service's log as well.
	if want := `"msg":"audit","event":"key.created","actor":"key","name":"` + a.Key[:9] + `","account":"` + a.ID +
		`","address":"127.0.0.1"`; !harness.Within(soon, func() bool { return strings.Contains(a.Service.Stderr(), want) }) {
		t.Errorf("the log has no %s", want)
	}
	if n := len(account(t).Get("/api/account/audit").Want(200).Data().Items()); n != 2 {
		t.Errorf("another account has %d entries", n)
	}
}

func TestAudit_LogIsPaged(t *testing.T) {
	t.Parallel()
	a := account(t)
	for i := range 7 {
		a.Post("/api/account/keys", fmt.Sprintf(`{"name":"%d"}`, i)).Want(201)
	}
	all := a.Get("/api/account/audit?limit=100").Want(200)
	if n := len(all.Data().Items()); n != 9 || all.Next() != "" {
		t.Fatalf("%d entries, next %q", n, all.Next())
	}
	var walked []string
	for path := "/api/account/audit?limit=2"; path != ""; {
		page := a.Get(path).Want(200)
		for _, e := range page.Data().Items() {
			walked = append(walked, e.Get("id").Str())
		}
		path = page.Next()
		if path != "" && len(walked) == 4 {
			a.Post("/api/account/keys", `{"name":"meanwhile"}`).Want(201) // neither gap nor repeat
		}
	}
	if len(walked) != 9 {
		t.Fatalf("%d entries in pages", len(walked))
	}
	for i, id := range walked {
		if want := all.Data().Get(fmt.Sprintf("%d.id", i)).Str(); id != want {
			t.Errorf("entry %d is %s, want %s", i, id, want)
		}
	}
	a.Get("/api/account/audit?limit=0").WantParameters("limit")
	a.Get("/api/account/audit?cursor=x").WantParameters("cursor")
	a.Get("/api/account/audit?event=").WantParameters("event")
	a.Get("/api/account/audit?offset=1&order_by[]=event").WantParameters("offset", "order_by")
	a.Get("/api/account/audit?order_by=event,id,asc").WantParameters("order_by")
	jobs := a.Get("/api/jobs?limit=1")
	if cursor := jobs.Next(); cursor != "" {
		t.Fatalf("there are jobs: %s", cursor)
	}
}

func TestAudit_LogsEdits(t *testing.T) {
	t.Parallel()
	a := account(t)
	alert := `{"on":["failed"],"to":[{"webhook":"https://hooks.example.com/secret-path"}]}`
	a.Do(http.MethodPut, "/api/alerts/nightly", alert).Want(201)
	a.Do(http.MethodPut, "/api/alerts/nightly", `{"on":["failed","late"],"to":[{"webhook":"https://hooks.example.com/secret-path"}]}`).Want(
		200)
	a.Do(http.MethodDelete, "/api/alerts/nightly", nil).Want(204)
	a.Do(http.MethodDelete, "/api/alerts/nightly", nil).Want(404)
	a.Do(http.MethodPut, "/api/limits/stripe", `{"rate":{"calls":100,"per":60},"parallel":5}`).Want(201)
	a.Do(http.MethodPut, "/api/limits/stripe", `{"paused":true}`).Want(200)
	a.Do(http.MethodPut, "/api/limits/stripe", `{"paused":"yes"}`).Want(422)
	a.Do(http.MethodDelete, "/api/limits/stripe", nil).Want(204)
	document := `{"owner":"infra","prune":true,"schedules":[%s]}`
	item := `{"key":"report","name":"Report","url":"https://example.com/report","repeat_every":[1,"hours"]}`
	a.Post("/api/apply", fmt.Sprintf(document, item)).Want(200)
	a.Post("/api/apply", fmt.Sprintf(document, item)).Want(200) // changes nothing
	a.Post("/api/schedules/key:report/disable", nil).Want(200)
	a.Post("/api/schedules/key:report/disable", nil).Want(200) // changes nothing
	a.Post("/api/schedules/key:report/enable", nil).Want(200)
	id := a.Get("/api/schedules/key:report").Want(200).Data().Get("id").Str()
	a.Do(http.MethodDelete, "/api/schedules/"+id, nil).Want(204)
	entries := a.Get("/api/account/audit?limit=100").Want(200).Data()
	want := []string{
		`schedule.deleted "Report", "report", schedule ` + id,
		`schedule.enabled "Report", "report", schedule ` + id,
		`schedule.disabled "Report", "report", schedule ` + id,
		`document.applied owner "infra": 1 created (report)`,
		`limit.deleted stripe`, `limit.changed stripe: no limit, paused`, `limit.created stripe: 100 calls in 1m, 5 at once`,
		`alert.deleted nightly`, `alert.changed nightly: on failed, late, to hooks.example.com`,
		`alert.created nightly: on failed, to hooks.example.com`,
	}
	for i, text := range want {
		e := entries.Get(fmt.Sprint(i))
		if got := e.Get("event").Str() + " " + e.Get("detail").Str(); got != text {
			t.Errorf("entry %d: %s\nwant: %s", i, got, text)
		}
		wantSame(t, "the actor", e.Get("actor"), `{"kind":"key","name":"`+a.Key[:9]+`"}`)
		wantSame(t, "the address", e.Get("address"), `"127.0.0.1"`)
	}
	if n := len(entries.Items()); n != len(want)+2 { // the account and its key
		t.Errorf("%d entries: %s", n, auditEvents(entries))
	}
}
