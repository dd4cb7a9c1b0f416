package dashboard

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestSchedules_AreSearchedAndSorted reads the list in each order and by texts and tags.
func TestSchedules_AreSearchedAndSorted(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	for _, s := range []struct {
		name, tags string
		every      int
	}{{"Beta", `"eu"`, 3000}, {"Alpha", `"eu","us"`, 600}, {"Gamma", ``, 60}} {
		w.create(ann, fmt.Sprintf(`{"url":"https://example.com/%s","name":%q,"tags":[%s],"repeat_every":%d,"schedule_in":%d}`,
			strings.ToLower(s.name), s.name, s.tags, s.every, s.every))
		w.pass(time.Second)
	}
	for query, want := range map[string]string{
		"": "Gamma Alpha Beta", "order=next": "Gamma Alpha Beta", "order=name": "Alpha Beta Gamma", "order=late": "Gamma Alpha Beta",
		"q=ALPHA": "Alpha", "q=example.com&order=name": "Alpha Beta Gamma", "q=example.com&order=next": "Gamma Alpha Beta",
		"tag=eu&order=next": "Alpha Beta", "tag=eu&order=name": "Alpha Beta", "tag=us&q=example.com": "Alpha", "q=none": "",
		"order=name&offset=2": "Gamma", "order=next&offset=1": "Alpha Beta", "q=example.com&order=name&offset=1": "Beta Gamma",
		"order=nonsense": "Gamma Alpha Beta", "order=name&offset=-3": "Alpha Beta Gamma",
	} {
		if got := titles(b.want(b.get("/schedules?"+query), 200, "").body); got != want {
			t.Errorf("?%s shows %q, want %q", query, got, want)
		}
	}
	page := b.want(b.get("/schedules?q=example&tag=eu&order=name"), 200, `value="tag:eu example"`)
	b.want(page, 200, `<input type="hidden" name="order" value="name"`)
	b.want(b.get("/schedules?query="+url.QueryEscape("tag:eu alpha  beta")+"&order=name"), 303, "/schedules?order=name&q=alpha+beta&tag=eu")
	b.want(b.get("/schedules?query="+url.QueryEscape("tag:eu")), 303, "/schedules?tag=eu")
}
