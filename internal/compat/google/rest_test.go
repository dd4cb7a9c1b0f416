package google

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/punctual-dev/punctual/internal/fault"
)

func TestMatch(t *testing.T) {
	a := New(Config{})
	for request, want := range map[string]string{
		"GET /v2/projects/p/locations/l/queues":                           "ListQueues projects/p/locations/l",
		"POST /v2/projects/p/locations/l/queues":                          "CreateQueue projects/p/locations/l",
		"GET /v2/projects/p/locations/l/queues/q":                         "GetQueue projects/p/locations/l/queues/q",
		"PATCH /v2/projects/p/locations/l/queues/q":                       "UpdateQueue projects/p/locations/l/queues/q",
		"DELETE /v2/projects/p/locations/l/queues/q":                      "DeleteQueue projects/p/locations/l/queues/q",
		"POST /v2/projects/p/locations/l/queues/q:purge":                  "PurgeQueue projects/p/locations/l/queues/q",
		"POST /v2/projects/p/locations/l/queues/q:getIamPolicy":           "GetIamPolicy projects/p/locations/l/queues/q",
		"POST /v2/projects/p/locations/l/queues/q/tasks/t:run":            "RunTask projects/p/locations/l/queues/q/tasks/t",
		"POST /v2/projects/example.com%3Ap/locations/l/queues/q/tasks":    "CreateTask projects/example.com:p/locations/l/queues/q",
		"POST /v2/projects/example.com:p/locations/l/queues/q/tasks":      "CreateTask projects/example.com:p/locations/l/queues/q",
		"GET /v1/projects/p/locations/l/jobs/j":                           "GetJob projects/p/locations/l/jobs/j",
		"POST /v1/projects/p/locations/l/jobs/j:pause":                    "PauseJob projects/p/locations/l/jobs/j",
		"PATCH /v1/projects/p/locations/l/jobs/j":                         "UpdateJob projects/p/locations/l/jobs/j",
		"GET /v1/projects/p/locations":                                    "ListLocations projects/p",
		"GET /v2/projects/p/locations/l":                                  "GetLocation projects/p/locations/l",
		"GET /v2/projects/p/locations/l/queues/q:purge":                   "",
		"POST /v2/projects/p/locations/l/queues/q:burn":                   "",
		"GET /v1/projects/p/locations/l/queues":                           "",
		"GET /v2/projects/p/locations/l/queues/q%2Ftasks%2Ft":             "",
		"GET /v2/projects//locations/l/queues":                            "",
		"GET /v2":                                                         "",
		"GET /":                                                           "",
		"GET /v2/projects/p/locations/l/queues/q/tasks/t/further/and/far": "",
	} {
		verb, path, _ := strings.Cut(request, " ")
		got := ""
		if r, value := a.match(verb, path); r != nil {
			got = r.method.path[strings.LastIndexByte(r.method.path, '/')+1:] + " " + value
		}
		if got != want {
			t.Errorf("%s is %q, want %q", request, got, want)
		}
	}
}

func TestMethods_AllHaveRoutes(t *testing.T) {
	if n := len(methods()); n != 26 {
		t.Errorf("there are %d methods, want 16, 8 and 2", n)
	}
	for _, m := range methods() {
		if len(m.routes) == 0 {
			t.Errorf("%s has no route of REST", m.path)
		}
	}
}

func frame(compressed byte, text []byte) []byte {
	b := append([]byte{compressed}, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(b[1:], uint32(len(text)))
	return append(b, text...)
}

func zipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

func TestUnframed(t *testing.T) {
	for name, c := range map[string]struct {
		frame    []byte
		encoding string
		want     string
		ok       bool
	}{
		"plain":           {frame(0, []byte("abc")), "", "abc", true},
		"empty":           {frame(0, nil), "", "", true},
		"gzip":            {frame(1, zipped([]byte("abc"))), "gzip", "abc", true},
		"no coding":       {frame(1, zipped([]byte("abc"))), "", "", false},
		"another coding":  {frame(1, []byte("abc")), "snappy", "", false},
		"no gzip":         {frame(1, []byte("abc")), "gzip", "", false},
		"a bomb":          {frame(1, zipped(make([]byte, maxMessage+1))), "gzip", "", false},
		"two messages":    {append(frame(0, []byte("a")), frame(0, []byte("b"))...), "", "", false},
		"too short":       {frame(0, []byte("abc"))[:6], "", "", false},
		"nothing":         {nil, "", "", false},
		"a length of 4 G": {[]byte{0, 255, 255, 255, 255}, "", "", false},
	} {
		got, err := unframed(c.frame, c.encoding)
		if string(got) != c.want || (err == nil) != c.ok {
			t.Errorf("%s: %.20q, %v", name, got, err)
		}
	}
}

func FuzzREST(f *testing.F) {
	f.Add("GET", "/v2/projects/p/locations/l/queues/q:purge", "updateMask", "rateLimits.maxBurstSize")
	f.Add("PATCH", "/v1/projects/p/locations/l/jobs/j", "job.retryConfig.retryCount", "3")
	f.Add("POST", "/v2/%2F/{}", "queue.retry_config.min_backoff", "1s")
	a := New(Config{})
	f.Fuzz(func(t *testing.T, verb, path, name, value string) {
		r, variable := a.match(verb, path)
		if r == nil {
			r = &a.routes[len(path)%len(a.routes)]
		}
		request := r.method.request.New()
		_ = setField(request, name, []string{value})
		_ = setField(request, r.field, []string{variable})
		_, _ = unframed([]byte(path), name)
		_, _ = readToken(value, name)
		_, _ = readPosition(value)
	})
}

func TestMasked(t *testing.T) {
	into := &cloudtaskspb.Queue{Name: "a", RateLimits: &cloudtaskspb.RateLimits{MaxBurstSize: 1, MaxConcurrentDispatches: 2},
		State: cloudtaskspb.Queue_PAUSED}
	from := &cloudtaskspb.Queue{Name: "b", RateLimits: &cloudtaskspb.RateLimits{MaxConcurrentDispatches: 3}}
	err := masked(into, from, &fieldmaskpb.FieldMask{Paths: []string{"rate_limits.max_concurrent_dispatches", "name"}}, "name", "state")
	if err != nil || into.Name != "a" || into.RateLimits.MaxBurstSize != 1 || into.RateLimits.MaxConcurrentDispatches != 3 {
		t.Errorf("with a mask: %v, %v", into, err)
	}
	if err := masked(into, from, nil, "name", "state"); err != nil || into.RateLimits.MaxBurstSize != 0 ||
		into.State != cloudtaskspb.Queue_PAUSED {
		t.Errorf("without a mask: %v, %v", into, err)
	}
	for _, path := range []string{"", "nothing", "rate_limits.nothing", "name.x.y", "rate_limits..", "state.x"} {
		if err := masked(into, from, &fieldmaskpb.FieldMask{Paths: []string{path}}); err == nil {
			t.Errorf("the path %q was accepted", path)
		}
	}
}

func TestPageTokens(t *testing.T) {
	token := tokenOf("12.5.-7", "tasks a")
	if got, err := readToken(token, "tasks a"); got != "12.5.-7" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := readToken(token, "tasks b"); err == nil {
		t.Error("a token of another list was accepted")
	}
	for _, text := range []string{"1", "1.2", "1.2.3.4", "a.b.c", "..", "1.2.99999999999999999999"} {
		if _, err := readPosition(text); err == nil {
			t.Errorf("the position %q was accepted", text)
		}
	}
}

func TestSetField_Masks(t *testing.T) {
	for given, want := range map[string]string{
		"rateLimits.maxBurstSize,state": "rate_limits.max_burst_size state", "retry_config.max_attempts": "retry_config.max_attempts",
		"*": "*", "": "", ",name": "name",
	} {
		request := &cloudtaskspb.UpdateQueueRequest{}
		if err := setField(request.ProtoReflect(), "updateMask", []string{given}); err != nil {
			t.Errorf("the mask %q: %v", given, err)
		}
		if got := strings.Join(request.GetUpdateMask().GetPaths(), " "); got != want {
			t.Errorf("the mask %q names %q, want %q", given, got, want)
		}
	}
}

// A status that quotes bytes which are not UTF-8 can't be marshalled: the response said
// INTERNAL.
func TestFail_QuotesBytes(t *testing.T) {
	s := statusOf(&fault.Error{Code: fault.Unreadable, Message: "unexpected \xff",
		Problems: []fault.Problem{{Parameter: "\xff", Detail: "must not be \xff"}}})
	w := httptest.NewRecorder()
	failREST(w, s)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"status":"INVALID_ARGUMENT"`) {
		t.Errorf("by REST: %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	failRPC(w, s)
	if w.Header().Get("Grpc-Status-Details-Bin") == "" {
		t.Error("by gRPC the status has no details")
	}
}
