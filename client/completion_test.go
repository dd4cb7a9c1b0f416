package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestCompleteAttempt_ReportsToTheServiceOnly(t *testing.T) {
	var paths []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		_, _ = w.Write([]byte(`{"data":{"awaiting":true,"deadline":null,"progress":null}}`))
	}))
	defer service.Close()
	var foreign atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	defer other.Close()
	c, err := New(Config{URL: service.URL + "/base/", Key: "sk_test", MaxRetries: -1})
	if err != nil {
		t.Fatal(err)
	}
	report := Report{Result: "private"}
	if _, err := c.CompleteAttempt(t.Context(), strings.Replace(service.URL, "http:", "HTTP:", 1)+"/base/api/completions/t0k-en_",
		report); err != nil {
		t.Error(err)
	}
	const path = "/base/api/completions/t0k-en_"
	for _, address := range []string{
		"", "not a url", "http://[", path, other.URL + path, "https" + strings.TrimPrefix(service.URL, "http") + path,
		strings.Replace(service.URL, "127.0.0.1", "localhost", 1) + path, "http://127.0.0.1:1" + path, "http://169.254.169.254" + path,
		service.URL + "@" + strings.TrimPrefix(other.URL, "http://") + path, "http://user@" + strings.TrimPrefix(service.URL, "http://") +
			path,
		service.URL + "/api/completions/t0k-en_", service.URL + "/base/api/completions/", service.URL + "/base/api/completions/../jobs",
		service.URL + "/base/api/completions/%2e%2e%2fjobs", service.URL + "/base/api/completions/a/b", service.URL + path + "?a=b",
		service.URL + path + "#a",
		service.URL + "/elsewhere/api/completions/t0k-en_", service.URL + "/x" + path,
	} {
		_, err := c.CompleteAttempt(t.Context(), address, report)
		if err == nil || !strings.HasPrefix(err.Error(), "punctual: ") || strings.Contains(err.Error(), "t0k-en_") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if len(paths) != 1 || paths[0] != path || foreign.Load() > 0 {
		t.Errorf("reported to %q, and %d times elsewhere", paths, foreign.Load())
	}
}
