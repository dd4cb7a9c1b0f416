package receiver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/client"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func verifier(t *testing.T) *client.Verifier {
	t.Helper()
	v, err := client.NewVerifier(secret)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// message returns a request as the service sends it.
func message(t *testing.T, id, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook", strings.NewReader(body))
	sign(t, r.Header, id, body)
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestNew_PassesEachMessageOnce(t *testing.T) {
	calls := 0
	h, err := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Mine", "1")
		fmt.Fprintf(w, `{"call": %d, "id": %q}`, calls, Message(r.Context()).ID)
	}), Options{Verifier: verifier(t)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`{"call": 1, "id": "job_a"}`, `{"call": 1, "id": "job_a"}`} {
		w := serve(h, message(t, "job_a", "{}"))
		if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%d: answered %d %s %v", i, w.Code, w.Body, w.Header())
		}
	}
	if w := serve(h, message(t, "job_b", "{}")); w.Body.String() != `{"call": 2, "id": "job_b"}` {
		t.Errorf("another message is answered with %s", w.Body)
	}
}

func TestNew_RefusesBeforeTheHandler(t *testing.T) {
	h, err := New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler is called") }),
		Options{Verifier: verifier(t), MaxBody: 10})
	if err != nil {
		t.Fatal(err)
	}
	forged := message(t, "job_a", "{}")
	forged.Header.Set("webhook-id", "job_b")
	if w := serve(h, forged); w.Code != 401 {
		t.Errorf("a forged message is answered with %d", w.Code)
	}
	if w := serve(h, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook",
		strings.NewReader("12345678901"))); w.Code != 401 {
		t.Errorf("a message without a signature is answered with %d", w.Code)
	}
	if w := serve(h, message(t, "job_a", "12345678901")); w.Code != 413 {
		t.Errorf("a large message is answered with %d", w.Code)
	}
	if _, err := New(http.NotFoundHandler(), Options{}); err == nil {
		t.Error("a receiver without a verifier is made")
	}
}

func TestNew_ForgetsFailures(t *testing.T) {
	calls := 0
	h, err := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch calls++; calls {
		case 1:
			w.WriteHeader(500)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			_, _ = w.Write(make([]byte, 11))
		}
	}), Options{Verifier: verifier(t), MaxResponse: 10})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for range 5 {
		func() {
			defer func() {
				if recover() != nil {
					got = append(got, -1)
				}
			}()
			got = append(got, serve(h, message(t, "job_a", "{}")).Code)
		}()
	}
	if fmt.Sprint(got) != "[500 -1 503 200 200]" || calls != 4 {
		t.Errorf("answered %v after %d calls", got, calls)
	}
}

func TestNew_RepeatWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		h, err := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			time.Sleep(time.Minute)
			fmt.Fprint(w, "done")
		}), Options{Verifier: verifier(t)})
		if err != nil {
			t.Fatal(err)
		}
		first := message(t, "job_a", "{}")
		done := make(chan struct{})
		go func() {
			defer close(done)
			serve(h, first)
		}()
		synctest.Wait()
		if w := serve(h, message(t, "job_a", "{}")); w.Body.String() != "done" || calls != 1 {
			t.Errorf("answered %s after %d calls", w.Body, calls)
		}
		<-done
	})
}

func TestNew_RemembersWithinItsBounds(t *testing.T) {
	for name, x := range map[string]struct {
		options Options
		ids     int // handled after the first one
		later   time.Duration
		want    int // calls for the first one
	}{
		"known":             {Options{MaxMessages: 3}, 2, time.Hour, 1},
		"too many messages": {Options{MaxMessages: 3}, 3, 0, 2},
		"too many bytes":    {Options{MaxBytes: 4096}, 4, 0, 2},
		"too old":           {Options{Remember: time.Minute}, 0, time.Minute + time.Second, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := map[string]int{}
			x.options.Verifier = verifier(t)
			h, err := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls[Message(r.Context()).ID]++
				_, _ = w.Write(make([]byte, 800))
			}), x.options)
			if err != nil {
				t.Fatal(err)
			}
			serve(h, message(t, "first", "{}"))
			for i := range x.ids {
				serve(h, message(t, fmt.Sprint("other", i), "{}"))
			}
			time.Sleep(x.later)
			serve(h, message(t, "first", "{}"))
			if calls["first"] != x.want {
				t.Errorf("%s: handled %d times, want %d", name, calls["first"], x.want)
			}
		})
	}
}
