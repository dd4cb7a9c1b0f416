package client

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

func TestDo_SendsWhatItIsGiven(t *testing.T) {
	c, e := testClient(t, nil, respond(201, "made", "ETag", `"1"`))
	got, err := c.Do(t.Context(), Request{Method: "post", Path: "/api/new?a=1", Query: map[string][]string{"b": {"2 3"}},
		Header: http.Header{"Content-Type": {"text/csv"}, "Authorization": {"Bearer other"}}, Body: []byte("x,y")})
	if err != nil || got.Status != 201 || got.Header.Get("ETag") != `"1"` || string(got.Body) != "made" {
		t.Fatalf("got %+v, %v", got, err)
	}
	r := e.requests[0]
	if r.Method != "POST" || r.URL.String() != "https://punctual.example/base/api/new?a=1&b=2+3" || e.bodies[0] != "x,y" ||
		r.Header.Get("Content-Type") != "text/csv" || r.Header.Get("Authorization") != "Bearer sk_x" {
		t.Errorf("sent %s %s %v %q", r.Method, r.URL, r.Header, e.bodies[0])
	}
}

func TestDo_EncodesBodies(t *testing.T) {
	for _, x := range []struct {
		body       any
		want, kind string
	}{
		{nil, "", ""},
		{json.RawMessage(`{"n": 1.0}`), `{"n": 1.0}`, "application/json"},
		{map[string]string{"html": "<&>"}, `{"html":"<&>"}`, "application/json"},
	} {
		c, e := testClient(t, nil, respond(200, ""))
		if _, err := c.Do(t.Context(), Request{Path: "/api/x", Body: x.body}); err != nil {
			t.Fatal(err)
		}
		if r := e.requests[0]; r.Method != "GET" || e.bodies[0] != x.want || r.Header.Get("Content-Type") != x.kind {
			t.Errorf("%v is sent as %s %q with %v", x.body, r.Method, e.bodies[0], r.Header)
		}
	}
}

func TestDo_RepeatsWhatMayBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, x := range []struct {
			method     string
			repeatable bool
			tries      int
		}{{"", false, 2}, {"PUT", false, 2}, {"DELETE", false, 2}, {"post", false, 1}, {"PATCH", false, 1}, {"POST", true, 2}} {
			c, e := testClient(t, nil, respond(503, ""), respond(200, ""))
			_, err := c.Do(t.Context(), Request{Method: x.method, Path: "/api/x", Repeatable: x.repeatable})
			if len(e.requests) != x.tries || (err == nil) != (x.tries == 2) {
				t.Errorf("%+v: %d tries, %v", x, len(e.requests), err)
			}
		}
	})
}

// A path without a slash would continue the host's name, and the key would go there.
func TestDo_APathStaysAtTheService(t *testing.T) {
	c, e := testClient(t, func(config *Config) { config.URL = "https://punctual.example" })
	for _, path := range []string{"", ".evil.example/", "@evil.example/", "https://evil.example/"} {
		_, err := c.Do(t.Context(), Request{Path: path})
		_, opened := c.Open(t.Context(), Request{Path: path})
		if err == nil || opened == nil || len(e.requests) != 0 {
			t.Errorf("%q: %v, %v, %d requests", path, err, opened, len(e.requests))
		}
	}
}

func TestDo_AProblemHasTheResponse(t *testing.T) {
	c, _ := testClient(t, nil, respond(422, refused, "X-Y", "z"), respond(307, "", "Location", "https://x"),
		respond(500, strings.Repeat("x", maxProblemBytes+1)))
	var problem *Problem
	if _, err := c.Do(t.Context(), Request{Path: "/"}); !errors.As(err, &problem) || string(problem.Body) != refused ||
		problem.Header.Get("X-Y") != "z" {
		t.Errorf("got %v", err)
	}
	if _, err := c.Do(t.Context(), Request{Path: "/"}); !errors.As(err, &problem) || problem.Header.Get("Location") != "https://x" {
		t.Errorf("got %v", err)
	}
	if _, err := c.Do(t.Context(), Request{Path: "/"}); !errors.As(err, &problem) || len(problem.Body) != maxProblemBytes {
		t.Errorf("of a long response it keeps %d bytes", len(problem.Body))
	}
}

func TestOpen_LeavesTheBodyUnread(t *testing.T) {
	c, e := testClient(t, func(config *Config) { config.MaxResponseBytes = 3 }, respond(200, "a stream"), respond(503, "no"))
	got, err := c.Open(t.Context(), Request{Path: "/api/events"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(got.Body); err != nil || string(text) != "a stream" || got.Body.Close() != nil {
		t.Errorf("read %q, %v", text, err)
	}
	var problem *Problem
	if _, err := c.Open(t.Context(), Request{Path: "/"}); !errors.As(err, &problem) || problem.Status != 503 || len(e.requests) != 2 {
		t.Errorf("%d requests, %v", len(e.requests), err)
	}
}

func TestPages_FollowsLinksOfItsPath(t *testing.T) {
	for _, x := range []struct {
		link, err string
		pages     int
	}{
		{`<https://other.example/base/api/x?cursor=2>; rel="next"`, "", 2},
		{`<https://punctual.example/base/api/y?cursor=2>; rel="next"`, "leads elsewhere", 1},
		{`<?a=1>; rel="next"`, "leads elsewhere", 1},
		{`</api/x?a=1>; rel="next"`, "the same page", 1},
	} {
		c, e := testClient(t, nil, respond(200, "[]", "Link", x.link), respond(200, "[]"))
		pages, text := 0, ""
		for got, err := range c.Pages(t.Context(), Request{Path: "/api/x", Query: map[string][]string{"a": {"1"}}}) {
			if err != nil {
				text = err.Error()
				continue
			}
			if pages++; string(got.Body) != "[]" {
				t.Errorf("page %d is %q", pages, got.Body)
			}
		}
		if pages != x.pages || !strings.Contains(text, x.err) || (text == "") != (x.err == "") {
			t.Errorf("%s: %d pages, %q", x.link, pages, text)
		}
		if last := e.requests[len(e.requests)-1].URL; x.pages == 2 && last.String() != "https://punctual.example/base/api/x?cursor=2" {
			t.Errorf("the second page is %s", last)
		}
	}
}

func TestConfig_OnRetryEndsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []int
		c, e := testClient(t, func(config *Config) {
			config.OnRetry = func(err error) bool {
				var problem *Problem
				if errors.As(err, &problem) {
					seen = append(seen, problem.Status)
				}
				return len(seen) < 2
			}
		}, respond(503, ""), respond(429, ""))
		if err := c.Ping(t.Context()); err == nil || len(e.requests) != 2 || len(seen) != 2 || seen[0] != 503 || seen[1] != 429 {
			t.Errorf("%d tries, told of %v: %v", len(e.requests), seen, err)
		}
	})
}
