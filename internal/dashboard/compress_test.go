package dashboard

import (
	"net/http"
	"testing"
)

func TestPages_AreCompressedUnlessTheyShowSecrets(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.header = http.Header{"Accept-Encoding": {"gzip"}} // so that the client leaves the header to us
	for path, want := range map[string]string{"/": "gzip", "/jobs": "gzip", "/attempts": "gzip", "/find": "gzip", "/settings/audit": "",
		"/jobs?reveal=true": "", "/settings": ""} {
		a := b.get(path)
		if got := a.Header.Get("Content-Encoding"); got != want || a.Header.Get("Vary") != "Accept-Encoding" ||
			a.ContentLength != int64(len(a.body)) {
			t.Errorf("%s: encoding %q, want %q; vary %q, %d of %d bytes", path, got, want, a.Header.Get("Vary"), len(a.body),
				a.ContentLength)
		}
	}
	b.header = http.Header{"Accept-Encoding": {"gzip;q=0"}}
	if a := b.want(b.get("/jobs"), 200, "No jobs yet"); a.Header.Get("Content-Encoding") != "" {
		t.Error("a page is compressed for a client that does not accept it")
	}
}
