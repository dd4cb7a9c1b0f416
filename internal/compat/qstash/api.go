package qstash

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// Prefix begins all paths of the API.
const Prefix = "/v2/"

// LLMPrefix begins the paths at which that API calls language models itself. They are
// refused.
const LLMPrefix = "/llm/"

// Config configures an API.
type Config struct {
	Service *service.Service
	Auth    *auth.Authenticator
	// Concurrency is how many requests may be under way at once on this node.
	Concurrency int
	// InUse returns how many requests are under way on this node.
	InUse func() int
}

// API is the QStash-compatible API.
type API struct {
	Config
	limits definedLimits
}

// New returns an API.
func New(config Config) *API { return &API{Config: config} }

// call is a call of the API with the values of its path.
type call struct {
	*httpapi.ForeignCall
	api *API
	// values are those of the path, the last one with the query if it is the rest of the
	// path: a destination, as it was sent.
	values []string
	status int // of a response with a body; 0 for 200
}

// handler responds to a call or returns the error to respond with.
type handler func(*call) error

// route is a path of the API: the steps before its values, and how many there are.
type route struct {
	path    string // with {} for values; {...} for the rest of the path and the query
	admin   bool
	methods map[string]handler
}

var routes = []route{
	{path: "publish/{...}", methods: map[string]handler{"POST": (*call).publish, "GET": (*call).publish, "PUT": (*call).publish,
		"PATCH": (*call).publish}},
	{path: "enqueue/{}/{...}", methods: map[string]handler{"POST": (*call).enqueue}},
	{path: "batch", methods: map[string]handler{"POST": (*call).batch}},
	{path: "messages", methods: map[string]handler{"DELETE": (*call).cancelMessages}},
	{path: "messages/{}", methods: map[string]handler{"GET": (*call).getMessage, "DELETE": (*call).cancelMessage}},
	{path: "schedules", methods: map[string]handler{"GET": (*call).listSchedules}},
	{path: "schedules/{...}", methods: map[string]handler{
		"POST": (*call).postSchedule, "GET": (*call).getSchedule, "DELETE": (*call).deleteSchedule, "PATCH": (*call).patchSchedule}},
	{path: "dlq", methods: map[string]handler{"GET": (*call).listDead, "DELETE": (*call).deleteManyDead}},
	{path: "dlq/retry", methods: map[string]handler{"POST": (*call).retryManyDead}},
	{path: "dlq/retry/{}", methods: map[string]handler{"POST": (*call).retryDead}},
	{path: "dlq/{}", methods: map[string]handler{"GET": (*call).getDead, "DELETE": (*call).deleteDead}},
	{path: "logs", methods: map[string]handler{"GET": (*call).listLogs}},
	{path: "events", methods: map[string]handler{"GET": (*call).listEvents}},
	{path: "queues", methods: map[string]handler{"GET": (*call).listQueues, "POST": (*call).putQueue}},
	{path: "queues/{}", methods: map[string]handler{"GET": (*call).getQueue, "DELETE": (*call).deleteQueue}},
	{path: "queues/{}/{}", methods: map[string]handler{"POST": (*call).changeQueue}},
	{path: "topics", methods: map[string]handler{"GET": (*call).listTopics}},
	{path: "topics/{}", methods: map[string]handler{"GET": (*call).getTopic, "DELETE": (*call).deleteTopic}},
	{path: "topics/{}/endpoints", methods: map[string]handler{"POST": (*call).addEndpoints, "DELETE": (*call).removeEndpoints}},
	{path: "flowControl", methods: map[string]handler{"GET": (*call).listFlow}},
	{path: "flowControl/{...}", methods: map[string]handler{"GET": (*call).getFlow, "POST": (*call).changeFlow}},
	{path: "globalParallelism", methods: map[string]handler{"GET": (*call).globalParallelism}},
	{path: "trigger/{...}", methods: map[string]handler{"POST": (*call).trigger}},
	{path: "batch/trigger", methods: map[string]handler{"POST": (*call).batchTrigger}},
	{path: "wait/{}", methods: map[string]handler{"POST": (*call).wait}},
	{path: "notify/{}", methods: map[string]handler{"POST": (*call).notify}},
	{path: "notify/{}/{}", methods: map[string]handler{"POST": (*call).notifyRun}},
	{path: "waiters/{}", methods: map[string]handler{"GET": (*call).waiters}},
	{path: "workflows/runs", methods: map[string]handler{"DELETE": (*call).cancelRuns}},
	{path: "workflows/events", methods: map[string]handler{"GET": (*call).listRuns}},
	{path: "workflows/logs", methods: map[string]handler{"GET": (*call).listRuns}},
	{path: "workflows/dlq", methods: map[string]handler{"GET": (*call).listFailedRuns, "DELETE": (*call).deleteFailedRuns}},
	{path: "workflows/dlq/callback/{}", methods: map[string]handler{"POST": (*call).retryReport}},
	{path: "workflows/dlq/resume", methods: map[string]handler{"POST": (*call).resumeRuns}},
	{path: "workflows/dlq/restart", methods: map[string]handler{"POST": (*call).restartRuns}},
	{path: "workflows/runs/{}", methods: map[string]handler{"GET": (*call).getRun, "DELETE": (*call).endRun}},
	{path: "keys", admin: true, methods: map[string]handler{"GET": (*call).getKeys}},
	{path: "keys/rotate", admin: true, methods: map[string]handler{"POST": (*call).rotateKeys}},
}

// hooks is the path of webhooks, which are called without a key.
var hooks = route{path: "workflows/hooks/{}/{}/{}"}

// Names are the names of the calls, for metrics.
func Names() []string {
	names := []string{Prefix, Prefix + hooks.path}
	for _, r := range routes {
		names = append(names, Prefix+r.path)
	}
	return names
}

// Find implements httpapi.Foreign.
func (a *API) Find(r *http.Request) httpapi.ForeignRoute {
	path := strings.TrimPrefix(r.URL.EscapedPath(), Prefix)
	if values, ok := hooks.match(path); ok { // credentials there are for the webhook's run
		return a.hook(values)
	}
	a.authorize(r)
	if strings.HasPrefix(r.URL.Path, LLMPrefix) {
		return httpapi.ForeignRoute{Name: Prefix, Serve: func(*httpapi.ForeignCall) error { return noProvider(providers["llm"]) }}
	}
	for _, route := range routes {
		values, ok := route.match(path)
		if !ok {
			continue
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		handle := route.methods[method]
		found := httpapi.ForeignRoute{Name: Prefix + route.path, Admin: route.admin}
		if handle == nil {
			found.Serve = func(f *httpapi.ForeignCall) error {
				f.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(route.methods)), ", "))
				return fault.New(fault.MethodNotAllowed, "this path does not support "+r.Method)
			}
			return found
		}
		if strings.HasSuffix(route.path, "{...}") && r.URL.RawQuery != "" {
			values[len(values)-1] += "?" + r.URL.RawQuery
		}
		found.Serve = func(f *httpapi.ForeignCall) error { return handle(&call{ForeignCall: f, api: a, values: values}) }
		return found
	}
	return httpapi.ForeignRoute{Name: Prefix, Serve: refusal(path)}
}

// refusal returns what responds to paths whose function the service does not have; nil for
// paths that don't exist.
func refusal(path string) func(*httpapi.ForeignCall) error {
	first, _, _ := strings.Cut(path, "/")
	switch first {
	case "workflows":
		return func(*httpapi.ForeignCall) error { return bad("this function of workflows is not served here: " + path) }
	}
	return nil
}

// match returns the values of a path, decoded but for the rest of the path.
func (r *route) match(path string) (values []string, ok bool) {
	steps, more := r.path, true
	for more {
		var step, given string
		step, steps, more = strings.Cut(steps, "/")
		if step == "{...}" {
			return append(values, path), path != ""
		}
		var further bool
		given, path, further = strings.Cut(path, "/")
		if more != further && !(further && path == "") {
			return nil, false
		}
		if step != "{}" {
			if step != given {
				return nil, false
			}
			continue
		}
		name, err := url.PathUnescape(given)
		if err != nil || name == "" {
			return nil, false
		}
		values = append(values, name)
	}
	return values, true
}

// authorize puts the key where the service looks for it. A token is a key, or the base64
// of {"UserID": ..., "Password": KEY}; it is in Authorization or in qstash_token.
func (a *API) authorize(r *http.Request) {
	token, inHeader := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if query, given := takeParameter(r.URL, "qstash_token"); given && r.Header.Get("Authorization") == "" {
		token, inHeader = query, true
	}
	if !inHeader {
		return
	}
	r.Header.Set("Authorization", "Bearer "+keyOf(strings.TrimSpace(token)))
}

const maxToken = 1024

// keyOf returns the key in a token.
func keyOf(token string) string {
	if strings.HasPrefix(token, auth.KeyPrefix) || len(token) > maxToken {
		return token
	}
	text, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		text, err = base64.RawStdEncoding.DecodeString(token)
	}
	var pair struct{ Password string }
	if err != nil || json.Unmarshal(text, &pair) != nil || pair.Password == "" {
		return token
	}
	return pair.Password
}

// takeParameter removes a parameter from the query of an address, in which a destination's
// own parameters stay as they were sent, and returns its first value.
func takeParameter(u *url.URL, name string) (value string, given bool) {
	if !strings.Contains(u.RawQuery, name) {
		return "", false
	}
	var kept []string
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		key, text, _ := strings.Cut(part, "=")
		if key != name {
			kept = append(kept, part)
			continue
		}
		if !given {
			value, _ = url.QueryUnescape(text)
		}
		given = true
	}
	u.RawQuery = strings.Join(kept, "&")
	return value, given
}

// Fail implements httpapi.Foreign.
func (a *API) Fail(w http.ResponseWriter, _ *http.Request, status int, f *fault.Error) {
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(rawjson.AppendText([]byte(`{"error":`), said(f)), '}'))
}

// write responds with a value as JSON.
func (c *call) write(value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.writeRaw(body)
}

// writeRaw responds with JSON, and 200 unless the call has another status.
func (c *call) writeRaw(body []byte) error {
	c.Header().Set("Content-Type", "application/json")
	c.WriteHeader(cmp.Or(c.status, http.StatusOK))
	_, _ = c.Write(body) // fails only if the client is gone
	return nil
}

// done responds to a call that has no result.
func (c *call) done() error {
	c.WriteHeader(http.StatusOK)
	return nil
}
