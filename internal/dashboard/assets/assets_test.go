package assets

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestPath_ContainsTheHashOfTheContent(t *testing.T) {
	for _, name := range []string{"app.css", "app.js", "htmx.min.js", "mark.svg", Typeface} {
		at := Path(name)
		if !regexp.MustCompile(`^/assets/[a-z.]+\.[0-9a-f]{12}\.(css|js|svg|woff2)$`).MatchString(at) {
			t.Errorf("%s is served at %s", name, at)
		}
		for _, encoding := range []string{"", "gzip"} {
			r := httptest.NewRequest(http.MethodGet, at, nil)
			r.Header.Set("Accept-Encoding", encoding)
			w := httptest.NewRecorder()
			if !Serve(w, r) || w.Code != http.StatusOK || w.Body.Len() == 0 {
				t.Fatalf("%s is not served", at)
			}
			want := encoding
			if name == Typeface {
				want = "" // it is compressed already
			}
			if got := w.Header().Get("Content-Encoding"); got != want {
				t.Errorf("%s: asked for %q, encoded as %q", name, encoding, got)
			}
			if got := w.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
				t.Errorf("%s may be kept %q", name, got)
			}
		}
	}
}

func TestServe_RefusesOtherNames(t *testing.T) {
	for _, path := range []string{"/assets/", "/assets/app.css", "/assets/app.000000000000.css", "/assets/../doc.go"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		if Serve(httptest.NewRecorder(), r) {
			t.Errorf("%s is served", path)
		}
	}
}

func TestAssets_RequestNothingFromOtherServers(t *testing.T) {
	for name, at := range paths {
		if strings.HasSuffix(name, ".txt") || name == Typeface || name == "htmx.min.js" {
			continue // a licence and a library name addresses without asking them
		}
		text := strings.ReplaceAll(string(served[at].Bytes()), "http://www.w3.org/", "")
		if strings.Contains(text, "http://") || strings.Contains(text, "https://") || strings.Contains(text, "@import") {
			t.Errorf("%s names another server", name)
		}
	}
}

func TestTypeface_IsNamedByTheStyleAndSmall(t *testing.T) {
	if style := string(served[Path("app.css")].Bytes()); !strings.Contains(style, `url("`+Path(Typeface)+`")`) {
		t.Error("app.css does not name the typeface by its path")
	}
	if size, _ := served[Path(Typeface)].Size(); size > 30_000 {
		t.Errorf("the typeface has %d bytes", size)
	}
}
