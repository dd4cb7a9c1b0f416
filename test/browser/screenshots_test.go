package browser

import (
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
		picture := p.Shot(80)
		p.Close()
		if len(picture) > maxShot {
			t.Errorf("%s has %d bytes", x.name, len(picture))
		}
		if err := os.WriteFile(filepath.Join(dir, x.name+".webp"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
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
