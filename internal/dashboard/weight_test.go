package dashboard

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"regexp"
	"testing"
)

// maxOverview is how many bytes the overview may have with all that it loads, compressed.
const maxOverview = 60_000

var loaded = regexp.MustCompile(`(?:href|src)="(/assets/[^"]+)"`)

func TestOverview_WeighsAtMost60KB(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	for i := range 30 {
		run := w.create(w.owner("ann@example.com"), fmt.Sprintf(`{"url":"https://%d.example.com/","name":"Report %d","repeat_every":60}`, i, i))
		if i%2 == 0 {
			w.failing(run, "HTTP 500")
		}
	}
	b.header = http.Header{"Accept-Encoding": {"gzip"}} // so that the client leaves the header to us
	page := b.get("/")
	sizes := map[string]int{"/": len(page.body)}
	all := len(page.body)
	unpacked, err := gzip.NewReader(bytes.NewReader([]byte(page.body)))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(unpacked); err != nil {
		t.Fatal(err)
	}
	for _, m := range loaded.FindAllStringSubmatch(text.String(), -1) {
		if sizes[m[1]] == 0 {
			sizes[m[1]] = len(b.get(m[1]).body)
			all += sizes[m[1]]
		}
	}
	if all > maxOverview || len(sizes) < 10 {
		t.Errorf("the overview has %d bytes, more than %d: %v", all, maxOverview, sizes)
	}
	t.Logf("the overview has %d bytes, of which the page %d", all, sizes["/"])
}
