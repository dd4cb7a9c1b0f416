package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

func TestPreferences_AreKeptInTheBrowser(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.wantAll(b.get("/jobs"), "Times in UTC", `content="light dark"`)
	b.want(b.post("/preferences", "theme", "dark", "density", "compact", "zone", "Europe/Berlin", "from", "page"), 303,
		"/preferences?done=preferences")
	page := b.wantAll(b.get("/preferences"), "Times in Europe/Berlin", `data-theme="dark"`, `data-density="compact"`, `content="dark"`,
		`value="Europe/Berlin"`)
	if strings.Contains(page.body, "done=") {
		t.Error("the page repeats the notice")
	}
	b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "2026-03-04 at 12:00", "zone", "UTC")
	b.wantAll(b.get("/jobs/1"), "2026-03-04 13:00:00 CET")
	b.want(b.post("/preferences", "theme", "system"), 303, "/")
	page = b.wantAll(b.get("/jobs"), "Times in Europe/Berlin", `data-density="compact"`)
	if strings.Contains(page.body, "data-theme") {
		t.Error("the theme is still set")
	}
	b.header = http.Header{"Referer": {b.url + "/jobs?state=available"}}
	b.want(b.post("/preferences", "zone", "UTC"), 303, "/jobs?state=available")
	b.header = http.Header{"Referer": {"https://example.com/jobs"}}
	b.want(b.post("/preferences", "density", "x"), 303, "/")
	for _, zone := range []string{"Mars/Base", "../etc/passwd", "Local", strings.Repeat("x", 70)} {
		b.want(b.post("/preferences", "zone", zone), 422, "must be the name of a time zone")
	}
}

func TestReadPreferences_IgnoresWhatItDoesNotKnow(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	for _, text := range []string{"theme=purple", "zone=Mars", "%zz", strings.Repeat("theme=dark&", 40)} {
		b.header = http.Header{"Cookie": {preferencesCookie + "=" + text}}
		page := b.get("/sign-in")
		if strings.Contains(page.body, "data-theme") {
			t.Errorf("%q sets a theme", text)
		}
	}
}

func FuzzApplyPreferences(f *testing.F) {
	f.Add("theme=dark&zone=Europe/Berlin&density=compact")
	f.Fuzz(func(t *testing.T, text string) {
		c := &call{r: &http.Request{Header: http.Header{"Cookie": {preferencesCookie + "=" + text}}}}
		p := c.readPreferences()
		if p.Theme != "" && p.Theme != "light" && p.Theme != "dark" || p.Location() == nil {
			t.Errorf("%q is read as %+v", text, p)
		}
		_ = ui.Preferences(p)
	})
}
