package staticfile

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func serve(f *File, method string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.Serve(w, r, "no-cache")
	return w
}

func TestServe_CompressesForWhoAcceptsIt(t *testing.T) {
	text := strings.Repeat("the same words again, ", 100)
	f := New("text/plain", []byte(text))
	for accept, want := range map[string]string{
		"": "", "gzip": "gzip", "br, GZIP;q=0.5": "gzip", "gzip;q=0": "", "gzip; q=0.000": "", "deflate": "", "x-gzipped": "",
	} {
		w := serve(f, http.MethodGet, "Accept-Encoding", accept)
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("%q: the encoding is %q, want %q", accept, got, want)
		}
		var body io.Reader = w.Body
		if want == "gzip" {
			unpacked, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = unpacked
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != text {
			t.Errorf("%q: got %d bytes of text: %v", accept, len(got), err)
		}
		if w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%q: the header is %v", accept, w.Header())
		}
	}
}

func TestServe_AnswersWhatIsCachedWith304(t *testing.T) {
	f := New("text/plain", []byte("text"))
	tag := serve(f, http.MethodGet).Header().Get("ETag")
	strong := strings.TrimPrefix(tag, "W/")
	for list, want := range map[string]int{
		tag: 304, strong: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, "": 200, "W/" + `"x"`: 200,
	} {
		w := serve(f, http.MethodGet, "If-None-Match", list)
		if w.Code != want || want == 304 && w.Body.Len() > 0 {
			t.Errorf("%s: status %d with %d bytes, want %d", list, w.Code, w.Body.Len(), want)
		}
	}
	if New("text/plain", []byte("other")).Hash() == f.Hash() {
		t.Error("two texts have one hash")
	}
}

func TestServe_SendsNoBodyToHead(t *testing.T) {
	w := serve(New("text/plain", []byte("text")), http.MethodHead)
	if w.Body.Len() > 0 || w.Header().Get("Content-Length") != "4" {
		t.Errorf("got %q, header %v", w.Body, w.Header())
	}
}
