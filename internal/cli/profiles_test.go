package cli

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// profileService responds to every key that begins with sk_ and records it.
func profileService(t *testing.T) (url string, key *string) {
	t.Helper()
	key = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	t.Cleanup(server.Close)
	return server.URL, key
}

// play runs a command and returns its status and what it printed.
func play(t *testing.T, typed string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	status := run(t.Context(), args, strings.NewReader(typed), &out, &out)
	return status, out.String()
}

func wantPlayed(t *testing.T, typed string, want int, args ...string) string {
	t.Helper()
	status, said := play(t, typed, args...)
	if status != want {
		t.Fatalf("punctual %q ended with status %d, want %d: %s", args, status, want, said)
	}
	return said
}

func TestProfiles_AreStoredUsedAndRemoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "profiles.json")
	t.Setenv("PUNCTUAL_PROFILES_FILE", file)
	one, oneKey := profileService(t)
	two, twoKey := profileService(t)
	wantPlayed(t, "sk_one\r\nrest\n", 0, "login", "--url", one+"/")
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("the file has mode %v, %v, want 0600", info.Mode(), err)
	}
	wantPlayed(t, "sk_two\n", 0, "login", "--profile", "two", "--url", two)
	for _, x := range []struct {
		args     []string
		one, two string
	}{
		{[]string{"jobs", "list"}, "", "sk_two"},
		{[]string{"jobs", "list", "--profile", "default"}, "sk_one", ""},
		{[]string{"jobs", "list", "--url", one, "--api-key", "sk_three"}, "sk_three", ""},
		{[]string{"jobs", "list", "--api-key", "sk_three"}, "", "sk_three"},
		{[]string{"jobs", "list", "--url", strings.ToUpper(two[:4]) + two[4:] + "/"}, "", "sk_two"},
	} {
		*oneKey, *twoKey = "", ""
		wantPlayed(t, "", 0, x.args...)
		if *oneKey != x.one || *twoKey != x.two {
			t.Errorf("%q sent %q and %q, want %q and %q", x.args, *oneKey, *twoKey, x.one, x.two)
		}
	}
	// The key of a profile is for its service only.
	*oneKey = ""
	wantPlayed(t, "", statusRefused, "jobs", "list", "--url", one)
	if *oneKey != "" {
		t.Errorf("another service got the key %s", *oneKey)
	}
	if said := wantPlayed(t, "", 0, "profiles", "list", "--json"); strings.Contains(said, "sk_") || !strings.Contains(said, one) {
		t.Errorf("the profiles are listed as %s", said)
	}
	wantPlayed(t, "", 0, "profiles", "use", "default")
	wantPlayed(t, "", 0, "jobs", "list")
	if *oneKey != "sk_one" {
		t.Errorf("after profiles use, the key is %q", *oneKey)
	}
	wantPlayed(t, "", statusNotFound, "profiles", "use", "three")
	wantPlayed(t, "", 0, "logout")
	wantPlayed(t, "", statusNotFound, "logout")
	wantPlayed(t, "", statusUsage, "login", "--profile", "a/b")
	wantPlayed(t, "", statusUsage, "jobs", "list", "--profile", "default")
}

func TestProfiles_TheEnvironmentWinsOverTheProfileInUse(t *testing.T) {
	t.Setenv("PUNCTUAL_PROFILES_FILE", filepath.Join(t.TempDir(), "profiles.json"))
	one, oneKey := profileService(t)
	two, twoKey := profileService(t)
	wantPlayed(t, "sk_one", 0, "login", "--url", one)
	t.Setenv("PUNCTUAL_URL", two)
	t.Setenv("PUNCTUAL_API_KEY", "sk_env")
	*oneKey = ""
	wantPlayed(t, "", 0, "jobs", "list")
	wantPlayed(t, "", 0, "jobs", "list", "--profile", "default")
	if *oneKey != "sk_one" || *twoKey != "sk_env" {
		t.Errorf("the keys are %q and %q, want sk_one with --profile and sk_env without", *oneKey, *twoKey)
	}
	// The older names of the variables work too.
	t.Setenv("PUNCTUAL_URL", "")
	t.Setenv("PUNCTUAL_API_KEY", "")
	t.Setenv("PUNCTUAL_SERVICE", two)
	t.Setenv("PUNCTUAL_KEY", "sk_old")
	wantPlayed(t, "", 0, "jobs", "list")
	if *twoKey != "sk_old" {
		t.Errorf("with the older names the key is %q", *twoKey)
	}
}

func TestProfiles_AFileThatOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode")
	}
	file := filepath.Join(t.TempDir(), "profiles.json")
	t.Setenv("PUNCTUAL_PROFILES_FILE", file)
	for text, mode := range map[string]fs.FileMode{`{"current":"a","profiles":{"a":{"url":"http://127.0.0.1:1","api_key":"sk_a"}}}`: 0o640,
		`{`: 0o600, `[]`: 0o600} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if said := wantPlayed(t, "", statusFailed, "jobs", "list"); !strings.Contains(said, file) {
			t.Errorf("the error does not name the file: %s", said)
		}
	}
}

func TestCall_ARedirectIsNotFollowedWithTheKey(t *testing.T) {
	t.Parallel()
	other, key := profileService(t)
	server := httptest.NewServer(http.RedirectHandler(other+"/\x1b[31m", http.StatusTemporaryRedirect))
	defer server.Close()
	said := wantPlayed(t, "", statusUnreachable, "jobs", "list", "--url", server.URL, "--api-key", "sk_a")
	if *key != "" || !strings.Contains(said, other) || strings.Contains(said, "\x1b") {
		t.Errorf("the other service got %q; said: %q", *key, said)
	}
}

func TestCall_WhatTheServiceSendsIsEscaped(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte("{\"detail\":\"bad \\u001b[2J\\nthing\",\"errors\":[{\"pointer\":\"#/a\\u001b\",\"detail\":\"x\\u009b\"},{\"detail\":\"y\"}]}"))
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"job_id":1,"name":"\u001b]0;evil\u0007","job":{"state":"\u001b[2J","scheduled_at":"2026-11-22T09:00:00"},"args":{"method":"get","url":"https://x/\u202e"}}]}`))
	}))
	defer server.Close()
	flags := []string{"--url", server.URL, "--api-key", "sk_a", "--color", "always"}
	for _, x := range []struct {
		args []string
		want int
	}{{[]string{"jobs", "list"}, 0}, {[]string{"jobs", "create", "https://x"}, 1}, {[]string{"jobs", "cancel", "\x1b[31m"}, 1}} {
		said := wantPlayed(t, "", x.want, append(x.args, flags...)...)
		if strings.ContainsAny(said, "\x1b\x07\u009b\u202e") {
			t.Errorf("%q prints %q", x.args, said)
		}
	}
}

func TestCall_ExitStatusesTellTheKindOfTheProblem(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{400: 1, 401: 4, 403: 4, 404: 3, 409: 6, 410: 6, 412: 6, 422: 1, 429: 7, 500: 1, 502: 5, 503: 5,
		301: 5} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		wantPlayed(t, "", want, "jobs", "show", "1", "--json", "--url", server.URL, "--api-key", "sk_a")
		server.Close()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer server.Close()
	if said := wantPlayed(t, "", statusUnreachable, "jobs", "list", "--url", server.URL, "--api-key", "sk_a"); !strings.Contains(said,
		"is not punctual") {
		t.Errorf("another program is reported as %s", said)
	}
}
