package e2e

import (
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// fetchDocs requests a page of the documentation. Pages are not part of the API's
// document, so the client that validates responses does not know them.
func fetchDocs(t *testing.T, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, harness.Shared(t).URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(response.Body); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func TestDocs_AreServedWithoutAKey(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct{ mediaType, text string }{
		"/docs":                        {"text/html", "/api/jobs"},
		"/docs/guides":                 {"text/html", "Quickstart"},
		"/docs/guides/concepts":        {"text/html", `<h2 id="retries">`},
		"/docs/guides/concepts.md":     {"text/markdown", "## Retries"},
		"/docs/performance":            {"text/html", "<table>"},
		"/docs/search.json":            {"application/json", "/docs/guides/concepts#retries"},
		"/docs/images/jobs-phone.webp": {"image/webp", "RIFF"},
		"/llms.txt":                    {"text/markdown", "> punctual sends"},
		"/llms-full.txt":               {"text/markdown", "## Retries"},
	} {
		response, text := fetchDocs(t, http.MethodGet, path)
		if response.StatusCode != 200 || !strings.HasPrefix(response.Header.Get("Content-Type"), want.mediaType) ||
			!strings.Contains(text, want.text) {
			t.Errorf("%s: status %d, %s, %d bytes; want %s with %q", path, response.StatusCode, response.Header.Get("Content-Type"),
				len(text), want.mediaType, want.text)
		}
		if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", path, policy)
		}
	}
}

func TestDocs_AreCompressedAndCached(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/docs", "/docs/guides/concepts", "/llms-full.txt"} {
		plain, text := fetchDocs(t, http.MethodGet, path)
		packed, same := fetchDocs(t, http.MethodGet, path, "Accept-Encoding", "gzip")
		if packed.Header.Get("Content-Encoding") != "gzip" || same != text || packed.ContentLength*2 > plain.ContentLength {
			t.Errorf("%s: compressed to %d bytes of %d", path, packed.ContentLength, plain.ContentLength)
		}
		again, text := fetchDocs(t, http.MethodGet, path, "If-None-Match", plain.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified || text != "" {
			t.Errorf("%s: status %d for what is cached, want 304", path, again.StatusCode)
		}
	}
	harness.Shared(t).Client(t, "").Get("/docs", harness.Header("If-None-Match", "*")).Want(304) // as the contract describes it
}

// What a page loads must be there, and may be kept.
func TestDocs_LoadOnlyFromTheService(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/docs", "/docs/guides/quickstart"} {
		_, text := fetchDocs(t, http.MethodGet, path)
		loaded := regexp.MustCompile(`(?:src|rel="stylesheet" href|data-search)="([^"]*)"`).FindAllStringSubmatch(text, -1)
		if len(loaded) < 3 {
			t.Errorf("%s loads %q", path, loaded)
		}
		for _, m := range loaded {
			if response, _ := fetchDocs(t, http.MethodGet, m[1]); !strings.HasPrefix(m[1], "/docs/") || response.StatusCode != 200 {
				t.Errorf("%s loads %s, status %d", path, m[1], response.StatusCode)
			}
		}
	}
}

func TestDocs_UnknownPagesAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/docs/", "/docs/guides/none", "/docs/guides/", "/docs/..%2fgo.mod", "/docs/guides/%00",
		"/docs/adr/README.md"} {
		if response, _ := fetchDocs(t, http.MethodGet, path); response.StatusCode != http.StatusNotFound ||
			response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: status %d, %s", path, response.StatusCode, response.Header.Get("Content-Type"))
		}
	}
	if response, text := fetchDocs(t, http.MethodGet, "/docs/guides/none", "Accept",
		"text/html"); response.StatusCode != http.StatusNotFound || !strings.Contains(text, "<html") {
		t.Errorf("a browser gets status %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	response, _ := fetchDocs(t, http.MethodPost, "/docs/guides")
	if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") == "" {
		t.Errorf("POST: status %d, Allow %q", response.StatusCode, response.Header.Get("Allow"))
	}
	if response, text := fetchDocs(t, http.MethodHead, "/docs/guides"); response.StatusCode != 200 || text != "" ||
		response.ContentLength <= 0 {
		t.Errorf("HEAD: status %d, length %d, %d bytes", response.StatusCode, response.ContentLength, len(text))
	}
}
