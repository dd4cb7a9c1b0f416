package google

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// Bounds and defaults of tasks.
const (
	leastDeadline   = 15 * time.Second
	defaultDeadline = 10 * time.Minute
	maxURL          = 2083 // characters
	maxRelative     = 2083
	maxBody         = 1 << 20 // bytes
)

// taskFields are the names of a task's fields by those of its job.
var taskFields = map[string]string{
	"url": "task.http_request.url", "headers": "task.http_request.headers", "body_base64": "task.http_request.body",
	"method": "task.http_request.http_method", "auth": "task.http_request.authorization_header", "timeout": "task.dispatch_deadline",
	"scheduled_at": "task.schedule_time", "idempotency_key": "task.name", "limits": "parent",
}

// outgoing is the request that a task or a Scheduler job makes.
type outgoing struct {
	url, method string
	headers     map[string]string
	body        []byte
	auth        *job.OIDCAuth // nil for none
	deadline    time.Duration
	appEngine   bool
}

// methodName returns a method of HTTP in lower case; POST if none is given.
func methodName(name, field string) (string, error) {
	switch name {
	case "HTTP_METHOD_UNSPECIFIED", "":
		return "post", nil
	case "GET", "POST", "PUT", "PATCH", "DELETE":
		return strings.ToLower(name), nil
	}
	return "", unsupported(field, "the method must be GET, POST, PUT, PATCH or DELETE, not "+name)
}

// describe adds the fields of a request.
func (o *outgoing) describe(f *fields, field string) error {
	if len(o.body) > 0 && (o.method == "get" || o.method == "delete") {
		return invalid(field+".body", "HTTP request body only allowed for POST, PUT and PATCH requests.")
	}
	if len(o.body) > maxBody {
		return invalid(field+".body", "the body may have 1 MiB")
	}
	f.Text("url", o.url)
	f.Text("method", o.method)
	f.Add("headers", o.forwarded())
	f.body(o.body)
	f.Seconds("timeout", o.deadline)
	f.Add("metadata", rawjson.Value("false"))
	if o.auth == nil {
		return nil
	}
	var oidc fields
	if o.auth.Audience != "" {
		oidc.Text("audience", o.auth.Audience)
	}
	if o.auth.Email != "" {
		oidc.Text("email", o.auth.Email)
	}
	f.Add("auth", rawjson.Object([]rawjson.Member{{Name: "oidc", Value: oidc.Object()}}))
	return nil
}

// replaced are the prefixes of headers that these APIs leave out, beside those that
// belong to the connection.
var replaced = []string{"x-google-", "x-appengine-", "x-cloudtasks-", "x-cloudscheduler"}

// forwarded returns the headers that are sent.
func (o *outgoing) forwarded() rawjson.Value {
	var kept fields
	for _, name := range sortedKeys(o.headers) {
		lower := strings.ToLower(name)
		leave := !job.MayForward(name) || lower == "host" || lower == "content-length" || lower == "user-agent" || o.auth != nil &&
			lower == "authorization"
		for _, prefix := range replaced {
			leave = leave || strings.HasPrefix(lower, prefix)
		}
		if !leave {
			kept.Text(name, o.headers[name])
		}
	}
	return kept.Object()
}

// oidc returns the token that a request has. Without an audience it is the whole URL.
func oidc(email, audience, url string) *job.OIDCAuth {
	if audience == "" {
		audience = url
	}
	return &job.OIDCAuth{Email: email, Audience: audience}
}

// readRequest reads the request of a task.
func (a *API) readRequest(q *queue, t *cloudtaskspb.Task) (o *outgoing, err error) {
	o = &outgoing{deadline: defaultDeadline}
	if err := between("task.dispatch_deadline", t.GetDispatchDeadline(), leastDeadline, job.MaxGoogleTimeout); err != nil {
		return nil, err
	}
	if d := t.GetDispatchDeadline(); d != nil {
		o.deadline = d.AsDuration()
	}
	if r := t.GetAppEngineHttpRequest(); r != nil {
		o.headers, o.body, o.appEngine = r.GetHeaders(), r.GetBody(), true
		if o.method, err = methodName(r.GetHttpMethod().String(), "task.app_engine_http_request.http_method"); err != nil {
			return nil, err
		}
		routing := r.GetAppEngineRouting()
		if override := q.GetAppEngineRoutingOverride(); override != nil {
			routing = override
		}
		if !routable(routing.GetService(), routing.GetVersion(), routing.GetInstance()) {
			return nil, invalid("task.app_engine_http_request.app_engine_routing",
				"service, version and instance must have letters, digits and hyphens, 63 at most")
		}
		o.url, err = a.appEngineURL("task.app_engine_http_request", r.GetRelativeUri())
		return o, err
	}
	r := t.GetHttpRequest()
	if r == nil {
		return nil, invalid("task.http_request", "Task.message_type must be set: give http_request or app_engine_http_request")
	}
	o.url, o.headers, o.body = r.GetUrl(), r.GetHeaders(), r.GetBody()
	if o.method, err = methodName(r.GetHttpMethod().String(), "task.http_request.http_method"); err != nil {
		return nil, err
	}
	if err := checkURL("task.http_request.url", o.url); err != nil {
		return nil, err
	}
	switch token := r.GetAuthorizationHeader().(type) {
	case *cloudtaskspb.HttpRequest_OidcToken:
		o.auth = oidc(token.OidcToken.GetServiceAccountEmail(), token.OidcToken.GetAudience(), o.url)
	case *cloudtaskspb.HttpRequest_OauthToken:
		o.auth = oidc(token.OauthToken.GetServiceAccountEmail(), "", o.url)
	}
	return o, nil
}

func checkURL(field, url string) error {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return invalid(field, `HttpRequest.url must start with "http://" or "https://"`)
	}
	if len(url) > maxURL {
		return invalid(field, "HttpRequest.url may have 2083 characters")
	}
	return nil
}

// appEngineURL returns the URL of a relative URI of an App Engine target.
func (a *API) appEngineURL(field, relative string) (string, error) {
	if a.AppEngine == nil {
		return "", unsupported(field, "App Engine targets need a service that was started with --app-engine-url; ask its operator, or give an HTTP target")
	}
	if relative == "" {
		relative = "/"
	}
	if relative[0] != '/' || len(relative) > maxRelative {
		return "", invalid(field+".relative_uri", "relative_uri must begin with a slash, and may have 2083 characters")
	}
	return strings.TrimSuffix(a.AppEngine.String(), "/") + relative, nil
}

// retries describes how failed attempts are retried.
type retries struct {
	attempts  int // job.UnlimitedAttempts for no limit
	within    time.Duration
	least     time.Duration
	most      time.Duration
	doublings int
}

func retriesOf(r *cloudtaskspb.RetryConfig) retries {
	return retries{
		attempts: int(r.GetMaxAttempts()), within: r.GetMaxRetryDuration().AsDuration(),
		least: r.GetMinBackoff().AsDuration(), most: r.GetMaxBackoff().AsDuration(), doublings: int(r.GetMaxDoublings()),
	}
}

// delay returns the waits as the expression retry_delay: they double, then grow by the
// same amount, up to the longest.
func (r retries) delay() string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	n := strconv.Itoa(r.doublings)
	return "min(" + ms(r.most) + ", " + ms(r.least) + " * pow(2, min(retried, " + n + ")) * max(1, retried - " + n + " + 1))"
}

// createTask returns the body of the create request for a task.
func (a *API) createTask(q *queue, t *cloudtaskspb.Task) (rawjson.Value, error) {
	o, err := a.readRequest(q, t)
	if err != nil {
		return nil, err
	}
	config := proto.Clone(q.RetryConfig).(*cloudtaskspb.RetryConfig)
	if own := t.GetRetryConfig(); own != nil {
		proto.Merge(config, own)
		if err := completeRetry("task.retry_config", config); err != nil {
			return nil, err
		}
	}
	r := retriesOf(config)
	view, err := protojson.Marshal(viewOf(t))
	if err != nil {
		return nil, err
	}
	d := job.Dialect{
		API: job.DialectCloudTasks, Queue: q.Name, Name: t.GetName(), MaxAttempts: r.attempts, RetryFor: r.within,
		View: rawjson.Value(view),
	}
	if o.appEngine {
		d.Endpoint = job.AppEngine
	}
	f := fields{make(rawjson.Fields, 0, 16)}
	if err := o.describe(&f, "task.http_request"); err != nil {
		return nil, err
	}
	if at := t.GetScheduleTime(); at != nil {
		if at.CheckValid() != nil {
			return nil, invalid("task.schedule_time", "schedule_time is not a time")
		}
		if due := at.AsTime(); due.After(a.Service.Now()) {
			f.Text("scheduled_at", due.UTC().Format(time.RFC3339Nano))
		}
	}
	if t.GetName() != "" {
		id := job.LastPart(t.GetName())
		f.Text("idempotency_key", taskKey(q, id))
		f.Text("name", id[:min(len(id), 255)])
	}
	f.Text("retry_delay", r.delay())
	f.Add("limits", rawjson.Array([]rawjson.Value{rawjson.Quote(limitKey(q.Name))}))
	f.Add("dialect", d.Value())
	return f.Object(), nil
}

// taskKey returns the idempotency key of a task with a name.
func taskKey(q *queue, id string) string { return shortened("task:" + q.id + ":" + id) }

// viewOf returns what is kept of a task beside the fields of its job.
func viewOf(t *cloudtaskspb.Task) *cloudtaskspb.Task {
	v := &cloudtaskspb.Task{RetryConfig: t.GetRetryConfig()}
	if r := t.GetAppEngineHttpRequest(); r != nil {
		v.MessageType = &cloudtaskspb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &cloudtaskspb.AppEngineHttpRequest{
			AppEngineRouting: r.GetAppEngineRouting(), RelativeUri: r.GetRelativeUri(),
		}}
		return v
	}
	r := &cloudtaskspb.HttpRequest{}
	if token, ok := t.GetHttpRequest().GetAuthorizationHeader().(*cloudtaskspb.HttpRequest_OauthToken); ok {
		r.AuthorizationHeader = token
	}
	v.MessageType = &cloudtaskspb.Task_HttpRequest{HttpRequest: r}
	return v
}

// showTask returns a job as a task.
func showTask(j *job.Job, spec *job.Spec, view cloudtaskspb.Task_View) *cloudtaskspb.Task {
	d := spec.Dialect
	t := &cloudtaskspb.Task{}
	_ = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(d.View, t) // it was written here
	t.Name = d.Queue + "/tasks/" + job.TaskID(j, d)
	t.View = cloudtaskspb.Task_BASIC
	var body []byte
	if view == cloudtaskspb.Task_FULL {
		t.View, body = cloudtaskspb.Task_FULL, bodyOf(spec)
	}
	method := cloudtaskspb.HttpMethod(cloudtaskspb.HttpMethod_value[strings.ToUpper(spec.Method)])
	if r := t.GetAppEngineHttpRequest(); r != nil {
		r.HttpMethod, r.Headers, r.Body = method, flat(job.HeaderOf(spec.Headers)), body
	} else {
		r := t.GetHttpRequest()
		if r == nil {
			r = &cloudtaskspb.HttpRequest{}
			t.MessageType = &cloudtaskspb.Task_HttpRequest{HttpRequest: r}
		}
		r.Url, r.HttpMethod, r.Headers, r.Body = spec.URL, method, flat(job.HeaderOf(spec.Headers)), body
		if o := spec.Auth.OIDC; o != nil && r.AuthorizationHeader == nil {
			r.AuthorizationHeader = &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{ServiceAccountEmail: o.Email,
				Audience: o.Audience}}
		}
	}
	t.ScheduleTime, t.CreateTime = stamp(j.ScheduledAt), stamp(j.InsertedAt)
	if next := service.NextAttempt(j); !next.IsZero() {
		t.ScheduleTime = stamp(next)
	}
	t.DispatchDeadline = durationpb.New(spec.Timeout)
	t.DispatchCount = int32(min(j.Attempt, job.MaxAttempts))
	if j.Attempt > 0 {
		t.LastAttempt = &cloudtaskspb.Attempt{DispatchTime: stamp(j.AttemptedAt)}
	}
	return t
}

// flat returns headers with one value each.
func flat(h http.Header) map[string]string {
	if len(h) == 0 {
		return nil
	}
	m := make(map[string]string, len(h))
	for name, values := range h {
		m[name] = strings.Join(values, ",")
	}
	return m
}

// addAttempts adds what is known of the attempts of a task.
func addAttempts(t *cloudtaskspb.Task, attempts []job.AttemptSummary) {
	t.ResponseCount = 0
	for i := range attempts {
		past := &attempts[i]
		shown := &cloudtaskspb.Attempt{DispatchTime: stamp(past.StartedAt)}
		if past.Duration >= 0 {
			shown.ResponseStatus = attemptStatus(past)
		}
		if past.Status != 0 {
			t.ResponseCount++
			shown.ResponseTime = stamp(past.StartedAt.Add(past.Duration))
		}
		if i == 0 {
			t.FirstAttempt = &cloudtaskspb.Attempt{DispatchTime: shown.DispatchTime}
		}
		t.LastAttempt = shown
	}
}

// attemptStatus returns the outcome of an attempt as google.rpc.Status.
func attemptStatus(past *job.AttemptSummary) *status.Status {
	name, message := job.RPCName(past.Status), ""
	switch f := past.Failure; {
	case past.Status != 0:
		message = "HTTP status code " + strconv.Itoa(past.Status)
	case f != nil:
		name, message = job.FailureName(f), f.Message
	}
	return &status.Status{Code: code.Code_value[name], Message: message}
}
