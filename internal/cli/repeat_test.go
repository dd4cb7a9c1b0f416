package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// TestCreate_RepeatsWhatWasLost: the responses to the first tries are lost, and the
// service recognises the last by its request_id.
func TestCreate_RepeatsWhatWasLost(t *testing.T) {
	t.Parallel()
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch bodies = append(bodies, string(body)); len(bodies) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, `{"data":{"job_id":7,"args":{"has_confict":true},"job":{"state":"pending","has_confict":true}}}`)
	}))
	defer s.Close()
	var out bytes.Buffer
	env := &environment{ctx: t.Context(), out: &out, errOut: &out}
	c := jobsCreate{serviceFlags: serviceFlags{URL: s.URL, Key: "sk_x", displayFlags: displayFlags{JSON: true}}}
	record, err := c.create(env, []byte(`{"url":"https://x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"job_id":7,"args":{"has_confict":true},"job":{"state":"pending","has_confict":false}}`; string(record) != want {
		t.Errorf("the record is %s, want %s", record, want)
	}
	if len(bodies) != 3 || bodies[0] != bodies[1] || bodies[1] != bodies[2] || !strings.HasPrefix(bodies[0], `{"request_id":"auto-`) {
		t.Errorf("the bodies are %q", bodies)
	}
}

// TestCreate_DoesNotRepeatARefusal also of a service that nobody listens for.
func TestCreate_DoesNotRepeatARefusal(t *testing.T) {
	t.Parallel()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusUnprocessableEntity)
	}))
	env := &environment{ctx: t.Context(), out: io.Discard, errOut: io.Discard}
	c := jobsCreate{serviceFlags: serviceFlags{URL: s.URL, Key: "sk_x"}}
	_, repeated, err := c.callRepeating(env, "/api/jobs", []byte(`{}`), nil)
	if err == nil || repeated || calls != 1 {
		t.Errorf("after a refusal: %d calls, %v", calls, err)
	}
	s.Close()
	_, repeated, err = c.callRepeating(env, "/api/jobs", []byte(`{}`), nil)
	if err == nil || repeated || exitStatus(err) != statusUnreachable {
		t.Errorf("without a service: repeated %v, %v", repeated, err)
	}
}

func TestIdentifyAll(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text, want string
		lines      bool
		own        []bool
	}{
		{"{\"a\":1.10}\n\n {} \n[1]\n", "{\"request_id\":\"ID\",\"a\":1.10}\n\n{\"request_id\":\"ID\"}\n[1]\n", true,
			[]bool{true, true, false}},
		{`[{"idempotency_key":"k"}, {"request_id":"r"}]`, `[{"request_id":"ID","idempotency_key":"k"},{"request_id":"r"}]`, false,
			[]bool{false, false}},
		{`{"jobs":[{"a":1}],"then":{"b":2}}`, `{"jobs":[{"request_id":"ID","a":1}],"then":{"request_id":"ID","b":2}}`, false, []bool{true}},
		{`[{"a":1`, `[{"a":1`, false, nil},
	} {
		with, own := identifyAll([]byte(x.text), x.lines)
		got := string(with)
		for {
			_, rest, found := strings.Cut(got, `"auto-`)
			if !found {
				break
			}
			id, _, _ := strings.Cut(rest, `"`)
			got = strings.Replace(got, "auto-"+id, "ID", 1)
		}
		if got != x.want || len(own) != len(x.own) {
			t.Errorf("%s becomes %s (%v), want %s (%v)", x.text, got, own, x.want, x.own)
			continue
		}
		for i := range own {
			if own[i] != x.own[i] {
				t.Errorf("%s: item %d is own: %v", x.text, i, own[i])
			}
		}
	}
}

func TestWithoutConflicts(t *testing.T) {
	t.Parallel()
	records := rawjson.Value(`[{"job_id":1,"has_confict":true},{"job_id":2,"has_confict":true}]`)
	if got, want := string(withoutConflicts(records, []bool{true, false})),
		`[{"job_id":1,"has_confict":false},{"job_id":2,"has_confict":true}]`; got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
}
