package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// maxShot is how large a picture may be: they are kept in the repository.
const maxShot = 80 << 10

// TestScreenshots takes the pictures of the README, into the directory that
// PUNCTUAL_SCREENSHOTS names.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("PUNCTUAL_SCREENSHOTS")
	if dir == "" {
		t.Skip("PUNCTUAL_SCREENSHOTS names no directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	shoot := func(p *Page, name string) {
		picture := p.Shot(80)
		p.Close()
		if len(picture) > maxShot {
			t.Errorf("%s has %d bytes", name, len(picture))
		}
		if err := os.WriteFile(filepath.Join(dir, name+".webp"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	night := atNight(t)
	wide := Wide
	wide.Height = 820
	shoot(signIn(Open(t, night, wide), "ann@example.com").At("/").See("3 schedules failing"), "overview")
	shoot(signIn(Open(t, night, Phone), "ann@example.com").At("/").See("3 schedules failing"), "overview-phone")
	w := newWorld(t)
	schedule := w.fillForPictures(t)
	for _, x := range []struct {
		name, path, see string
		look            Look
	}{
		{"jobs", "/public/jobs", "Welcome mail", Wide},
		{"jobs-phone", "/public/jobs", "Welcome mail", Phone},
		{"job", w.job(w.failed), "response 404", Wide},
		{"new-job", "/public/jobs/new", "When it runs", Wide},
		{"schedule", "/public/schedules/" + schedule, "Every second", Wide},
	} {
		x.look.Height = 760
		p := Open(t, w.Service, x.look)
		p.Go(x.path).See(x.see)
		if x.name == "new-job" {
			p.Fill("#f-url", "https://example.com/reports").Fill("#f-body", `{"report": "weekly", "to": "team@example.com"}`)
			p.Fill("#f-when", "every weekday at 9:00").See("Every weekday at 09:00")
		}
		shoot(p, x.name)
	}
}

// atNight is a service whose operator has schedules, of which three have begun to fail.
func atNight(t *testing.T) *harness.Service {
	t.Helper()
	s := harness.Start(t)
	signUp(Open(t, s, Wide)).Close()
	_, key := s.NewKey(t, "ann@example.com")
	client, target := s.Client(t, key), harness.NewTarget(t)
	fine := target.Route(t).Respond(harness.JSONReply(`{}`)).URL
	broken := target.Route(t).Respond(harness.Reply(500, "text/plain", "no connection to the database"))
	busy := target.Route(t).Respond(harness.Reply(503, "text/plain", "busy"))
	for range 8 {
		broken.RespondOnce(harness.JSONReply(`{}`))
		busy.RespondOnce(harness.JSONReply(`{}`))
	}
	for name, url := range map[string]string{
		"Invoices": broken.URL, "Trial reminders": busy.URL, "Partner feed": "https://127.0.0.1:1/closed", "Nightly report": fine,
		"Search index":   fine,
		"Exchange rates": fine, "Heartbeat": fine, "Backups": fine, "Newsletter": fine, "Clean up uploads": fine,
	} {
		client.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"name":%q,"method":"post","repeat_every":1,"retries":0}`, url, name)).Want(201)
	}
	if !harness.Within(3*soon, func() bool {
		return len(client.Get("/api/jobs?state=discarded&limit=100").Want(200).Data().Items()) >= 40
	}) {
		t.Fatal("the runs of the picture have not failed")
	}
	return s
}

// fillForPictures adds jobs as an account has them in real life, and gives the
// id of a schedule that has run.
func (w *world) fillForPictures(t *testing.T) (schedule string) {
	t.Helper()
	ok := w.target.Route(t).Respond(harness.JSONReply(`{"ok":true}`)).URL
	busy := w.target.Route(t)
	busy.Hold(harness.JSONReply(`{}`))
	for i, name := range []string{"Invoice 1042", "Invoice 1043", "Reminder to Sam", "Trial ends"} {
		w.create(`{"method":"post","url":%q,"name":%q,"schedule_in":[%d,"hours"]}`, ok, name, i+2)
	}
	w.create(`{"method":"post","url":%q,"name":"Thumbnails"}`, busy.URL)
	for i := range 5 {
		w.create(`{"method":"post","url":%q,"name":"Order %d shipped","body":{"order":%d}}`, ok, 1200+i, 1200+i)
	}
	w.create(`{"method":"post","url":%q,"name":"Heartbeat","repeat_every":1}`, ok)
	if !harness.Within(soon, func() bool {
		done := w.client.Get("/api/jobs?state=completed&limit=100").Want(200).Data().Items()
		return len(done) >= 12
	}) {
		t.Fatalf("the jobs of the pictures are not completed within %s", soon)
	}
	schedules := w.client.Get("/api/schedules?limit=1").Want(200).Data().Items()
	return schedules[0].Get("id").Str()
}
