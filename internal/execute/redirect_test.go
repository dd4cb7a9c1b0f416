package execute

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/punctual-dev/punctual/internal/job"
)

// redirecting is a target that answers /STATUS with a redirect of that status
// to the address in the query, and hands on the requests for other paths.
func redirecting() (http.Handler, chan seen) {
	h, requests := recorder()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%3d", &status); err != nil {
			h.ServeHTTP(w, r)
			return
		}
		if r.URL.RawQuery != "" {
			w.Header().Set("Location", r.URL.RawQuery)
		}
		w.WriteHeader(status)
		w.Write(make([]byte, 100))
	}), requests
}

// signedPost is a job's request with fields of every sort.
func signedPost(url string) Request {
	return Request{
		Method: "POST", URL: url, Body: []byte("hello"), Timeout: patience, FollowRedirects: true,
		Header: []Field{
			{"Authorization", "Bearer secret"}, {"cookie", "a=b"}, {"X-Punctual-Attempt", "seven"}, {"user-agent", "mine"},
			{"ACCEPT", "text/plain"}, {"content-type", "text/plain"}, {"Content-Language", "en"},
		},
		Own:       []Field{{"Content-Type", "application/json"}, {"X-Punctual-Attempt", "1"}, {"X-Punctual-Job-Id", "5"}},
		MessageID: "msg", Signing: Signing{Secrets: []Secret{[]byte("key")}},
	}
}

func TestRedirectMethods(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := redirecting()
		base, c := serve(h), newClient(t)
		for _, test := range []struct {
			status   int
			from, to string
			keeps    bool
		}{
			{301, "POST", "GET", false}, {302, "POST", "GET", false}, {303, "POST", "GET", false},
			{307, "POST", "POST", true}, {308, "POST", "POST", true},
			{301, "PUT", "PUT", true}, {302, "DELETE", "DELETE", true}, {303, "PATCH", "GET", false},
			{303, "DELETE", "GET", false}, {301, "GET", "GET", true}, {303, "GET", "GET", true},
		} {
			r := signedPost(fmt.Sprintf("%s/%d?/end%%3f", base, test.status))
			r.Method = test.from
			answered(t, c, r)
			got := receive(t, requests)
			body, contentType, language := "", "", ""
			if test.keeps {
				body, contentType, language = "hello", "text/plain", "en"
			}
			if got.Method != test.to || got.body != body || got.RequestURI != "/end%3f" ||
				got.Header.Get("Content-Type") != contentType || got.Header.Get("Content-Language") != language {
				t.Errorf("%d %s: got %s %s %q %v", test.status, test.from, got.Method, got.RequestURI, got.body, got.Header)
			}
			if got.Header.Get("Authorization") != "Bearer secret" || got.Header.Get("User-Agent") != "mine punctual/1.2.3" {
				t.Errorf("%d %s: the same origin got header %v", test.status, test.from, got.Header)
			}
			wh, _ := standardwebhooks.NewWebhookRaw([]byte("key"))
			if err := wh.Verify([]byte(got.body), got.Header); err != nil {
				t.Errorf("%d %s: %v", test.status, test.from, err)
			}
		}
	})
}

func TestRedirectToAnotherOrigin(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := redirecting()
		home, away, c := serve(h), serve(h), newClient(t)
		for _, test := range []struct{ name, path, contentType string }{
			{"keeping the body", "/307?" + away + "/end", "text/plain"},
			{"dropping the body", "/303?" + away + "/end", ""},
			{"there and back", "/307?" + away + "/308?" + home + "/end", "text/plain"},
		} {
			answered(t, c, signedPost(home+test.path))
			got := receive(t, requests).Header
			got.Del("Content-Length")
			want := http.Header{
				"Accept": {"text/plain"}, "User-Agent": {"punctual/1.2.3"},
				"X-Punctual-Attempt": {"1"}, "X-Punctual-Job-Id": {"5"},
			}
			if test.contentType != "" {
				want.Set("Content-Type", test.contentType)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got header %v, want %v", test.name, got, want)
			}
		}
	})
}

// A content type can be sent without a body; only a redirect that drops a body drops it.
func TestRedirectToAnotherOrigin_ContentTypeWithoutBody(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := redirecting()
		home, away, c := serve(h), serve(h), newClient(t)
		for _, method := range []string{"GET", "POST"} {
			r := signedPost(home + "/307?" + away + "/end")
			r.Method, r.Body = method, nil
			answered(t, c, r)
			if got := receive(t, requests); got.Header.Get("Content-Type") != "text/plain" || got.Header.Get("Content-Language") != "" {
				t.Errorf("%s: got header %v", method, got.Header)
			}
		}
	})
}

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example/x", "https://A.Example:443/y", true},
		{"https://a.example", "https://a.example:", true},
		{"https://a.example:8443", "https://a.example", false},
		{"https://a.example", "https://b.a.example", false},
		{"https://[::1]:443", "https://[::1]", true},
	} {
		a, errA := parseURL(test.a)
		b, errB := parseURL(test.b)
		if errA != nil || errB != nil || sameOrigin(a, b) != test.same {
			t.Errorf("%s and %s: want same origin %v", test.a, test.b, test.same)
		}
	}
}

func TestRedirect_FinalResponsesThatLookLikeRedirects(t *testing.T) {
	h, _ := redirecting()
	base, c := serve(t, true, h), newClient(t)
	for _, path := range []string{"/300?/end", "/304?/end", "/305?/end", "/301", "/308"} {
		if got := answered(t, c, get(base+path)); fmt.Sprint(got.Status) != path[1:4] {
			t.Errorf("%s: got %d", path, got.Status)
		}
	}
	r := get(base + "/302?/end")
	r.FollowRedirects = false
	if got := answered(t, c, r); got.Status != 302 || len(got.Body) != 100 {
		t.Errorf("not following: got %d with %d bytes", got.Status, len(got.Body))
	}
}

func TestRedirect_LimitsHops(t *testing.T) {
	var left, asked int
	base := serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if left--; left >= 0 {
			http.Redirect(w, r, "?", http.StatusFound)
		}
	}))
	c := newClient(t)
	left = 5
	answered(t, c, get(base))
	left, asked = 1000, 0
	fails(t, c, get(base), job.KindRedirect)
	if asked != 6 {
		t.Errorf("%d requests were made, want 6", asked)
	}
}

func TestRedirect_NotFollowed(t *testing.T) {
	h, _ := redirecting()
	base, c := serve(t, true, h), newClient(t)
	for _, location := range []string{
		"http://127.0.0.1:1/?token=secret", "https://user:secret@example.com/", "//user@example.com/", "https:///secret",
		"ftp://example.com/", "mailto:secret@example.com", "https://[::secret/", "https://exa mple.com/", "https:secret", "https://a:b:c/",
		`https://example.com\@secret/`,
	} {
		f := fails(t, c, get(base+"/302?"+location), job.KindRedirect)
		if strings.Contains(f.Message, "secret") {
			t.Errorf("%s: the message repeats the address: %s", location, f.Message)
		}
	}
}

// The last answer counts, also when it comes from a plain relative address
// with bytes that no URL may hold.
func TestRedirect_EncodesTheLocation(t *testing.T) {
	h, requests := recorder()
	base := serve(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a/b" {
			w.Header().Set("Location", `../é 100%/x?y="#z`)
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		h.ServeHTTP(w, r)
	}))
	answered(t, newClient(t), get(base+"/a/b"))
	if got := receive(t, requests).RequestURI; got != "/%C3%A9%20100%25/x?y=%22" {
		t.Errorf("got %s", got)
	}
}

// counter is a listener that answers everything.
type counter struct{ answered int }

func (c *counter) Answer(*http.Request, []byte, func() bool) (*http.Response, *job.Failure) {
	c.answered++
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
}

func TestRedirect_TargetsDoNotReachListeners(t *testing.T) {
	h, _ := redirecting()
	base, c, listener := serve(t, false, h), newClient(t), &counter{}
	r := signedPost(base + "/307?https://listen.invalid/dev/delete")
	r.Listener = listener
	fails(t, c, r, job.KindRedirect)
	if listener.answered > 0 {
		t.Errorf("%d requests reached the listener", listener.answered)
	}
	r.URL = "https://listen.invalid/dev/x"
	answered(t, c, r)
	if listener.answered != 1 {
		t.Errorf("%d requests to the listener's own address reached it, want 1", listener.answered)
	}
}
