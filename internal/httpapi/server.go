package httpapi

import (
	"log/slog"
	"maps"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/broadcast"
	"github.com/punctual-dev/punctual/internal/docsite"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/eventstream"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/listen"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/tracing"
)

// Config configures a Server.
type Config struct {
	Service    *service.Service
	Alerts     *service.Alerts
	Auth       *auth.Authenticator
	Members    *auth.Members
	Secrets    *secret.Vault
	Issuer     *issuer.Issuer // nil if the service issues no tokens
	Audit      *audit.Log     // must not be nil
	Metrics    *metrics.Metrics
	Tracer     *tracing.Tracer // nil for no spans
	Stats      *stats.Collector
	Broadcasts *broadcast.Hub
	Events     *eventstream.Hub
	// Listeners are what punctual listen connects to.
	Listeners *listen.Hub
	Log       *slog.Logger
	// Running reports whether jobs are being fired.
	Running func() bool
	Quotas  *quota.Book
	Rates   *edge.Rates
	// Retention is how long final jobs and logs are kept; 0 means forever.
	Retention time.Duration
	Version   string
	// PublicPunctuality answers /api/punctuality without a key.
	PublicPunctuality bool
	// OperationsElsewhere restricts metrics, and the reason why the service is not
	// ready, to the handler that Operations returns.
	OperationsElsewhere bool
}

// Server serves the API.
type Server struct {
	Config
	mux     *http.ServeMux
	parsing chan struct{} // has one for each large body that is being parsed
	guesses guesses
	reports *quota.Meter[job.TokenHash] // of targets, by attempt; of strangers, by secret address
	site    *docsite.Site

	complaints edge.Complaints
	foreign    []mount
}

// handler responds to a call or returns the error to respond with.
type handler func(*Server, *call) error

// route is a path of the API with its methods.
type route struct {
	path    string
	access  audience
	methods map[string]handler
}

// routes lists every path that is served.
var routes = []route{
	{"/api/jobs", forJobs, map[string]handler{"GET": (*Server).listJobs, "POST": (*Server).createJob}},
	{"/api/jobs/batch", forJobs, map[string]handler{"POST": (*Server).createJobs}},
	{"/api/jobs/counts", forJobs, map[string]handler{"GET": (*Server).countJobs}},
	{"/api/jobs/{job_id}", forJobs, map[string]handler{"GET": (*Server).getJob, "PATCH": (*Server).patchJob}},
	{"/api/jobs/{job_id}/details", forJobs, map[string]handler{"GET": (*Server).jobDetails}},
	{"/api/jobs/{job_id}/revisions", forJobs, map[string]handler{"GET": (*Server).jobRevisions}},
	{"/api/jobs/cancel", forJobs, map[string]handler{"POST": (*Server).cancelJobs}},
	{"/api/jobs/{job_id}/run", forJobs, map[string]handler{"POST": (*Server).runJob}},
	{"/api/jobs/{job_id}/rerun", forJobs, map[string]handler{"POST": (*Server).rerunJob}},
	{"/api/jobs/{job_id}/cancel", forJobs, map[string]handler{"POST": (*Server).cancelJob}},
	{"/api/schedules", forJobs, map[string]handler{"GET": (*Server).listSchedules}},
	{"/api/schedules/{schedule_id}", forJobs, map[string]handler{"GET": (*Server).getSchedule, "PATCH": (*Server).patchSchedule,
		"PUT": (*Server).putSchedule, "DELETE": (*Server).deleteSchedule}},
	{"/api/schedules/{schedule_id}/details", forJobs, map[string]handler{"GET": (*Server).scheduleDetails}},
	{"/api/schedules/{schedule_id}/punctuality", forJobs, map[string]handler{"GET": (*Server).schedulePunctuality}},
	{"/api/schedules/{schedule_id}/revisions", forJobs, map[string]handler{"GET": (*Server).scheduleRevisions}},
	{"/api/schedules/{schedule_id}/run", forJobs, map[string]handler{"POST": (*Server).runSchedule}},
	{"/api/schedules/{schedule_id}/state", forJobs,
		map[string]handler{"GET": (*Server).getState, "PUT": (*Server).putState, "DELETE": (*Server).deleteState}},
	{"/api/schedules/{schedule_id}/disable", forJobs, map[string]handler{"POST": (*Server).disableSchedule}},
	{"/api/schedules/{schedule_id}/enable", forJobs, map[string]handler{"POST": (*Server).enableSchedule}},
	{"/api/schedules/{schedule_id}/mute", forJobs, map[string]handler{"PUT": (*Server).muteSchedule, "DELETE": (*Server).unmuteSchedule}},
	{"/api/operations", forJobs, map[string]handler{"GET": own((*Server).listOperations), "POST": own((*Server).startOperation)}},
	{"/api/operations/{operation_id}", forJobs, map[string]handler{"GET": own((*Server).getOperation),
		"DELETE": own((*Server).stopOperation)}},
	{"/api/apply", forJobs, map[string]handler{"POST": own((*Server).apply)}},
	{"/api/export", forJobs, map[string]handler{"GET": (*Server).exportSchedules}},
	{"/api/events", forJobs, map[string]handler{"GET": (*Server).followEvents}},
	{"/api/listen", forChanges, map[string]handler{"GET": own((*Server).listen)}},
	{"/api/logs", forJobs, map[string]handler{"GET": (*Server).listLogs}},
	{"/api/logs/export", forJobs, map[string]handler{"GET": (*Server).exportLogs}},
	{"/api/logs/{log_id}", forJobs, map[string]handler{"GET": (*Server).getLog}},
	{"/api/alerts", forJobs, map[string]handler{"GET": own((*Server).listAlerts)}},
	{"/api/alerts/{name}", forJobs, map[string]handler{"GET": own((*Server).getAlert), "PUT": own((*Server).putAlert),
		"DELETE": own((*Server).deleteAlert)}},
	{"/api/alerts/{name}/test", forJobs, map[string]handler{"POST": own((*Server).testAlert)}},
	{"/api/account", forAdmins, map[string]handler{"GET": own((*Server).getAccount)}},
	{"/api/account/keys", forAdmins, map[string]handler{"GET": own((*Server).listKeys), "POST": own((*Server).createKey)}},
	{"/api/account/keys/{key_id}", forAdmins, map[string]handler{"DELETE": own((*Server).revokeKey)}},
	{"/api/account/signing-secrets", forAdmins, map[string]handler{"GET": own((*Server).listSecrets)}},
	{"/api/account/signing-secrets/rotate", forAdmins, map[string]handler{"POST": own((*Server).rotateSecret)}},
	{"/api/account/members", forAdmins, map[string]handler{"GET": own((*Server).listMembers), "POST": own((*Server).inviteMember)}},
	{"/api/account/members/{member_id}", forAdmins,
		map[string]handler{"PATCH": own((*Server).changeMember), "DELETE": own((*Server).removeMember)}},
	{"/api/account/audit", forAdmins, map[string]handler{"GET": own((*Server).listAudit)}},
	{"/api/secrets", forAdmins, map[string]handler{"GET": own((*Server).listHeaderSecrets)}},
	{"/api/secrets/{name}", forAdmins, map[string]handler{
		"GET": own((*Server).getHeaderSecret), "PUT": own((*Server).putHeaderSecret), "DELETE": own((*Server).deleteHeaderSecret)}},
	{"/api/groups", forJobs, map[string]handler{"GET": own((*Server).listGroups)}},
	{"/api/groups/{name}", forJobs, map[string]handler{
		"GET": own((*Server).getGroup), "PUT": own((*Server).putGroup), "DELETE": own((*Server).deleteGroup)}},
	{"/api/runs", forJobs, map[string]handler{"GET": own((*Server).listRuns)}},
	{"/api/runs/{run_id}", forJobs, map[string]handler{"GET": own((*Server).getRun)}},
	{"/api/runs/{run_id}/cancel", forJobs, map[string]handler{"POST": own((*Server).cancelRun)}},
	{"/api/limits", forJobs, map[string]handler{"GET": own((*Server).listLimits)}},
	{"/api/limits/{key}", forJobs, map[string]handler{
		"GET": own((*Server).getLimit), "PUT": own((*Server).putLimit), "DELETE": own((*Server).deleteLimit)}},
	{"/api/stats", forJobs, map[string]handler{"GET": (*Server).getStats}},
	{punctuality, forReading, map[string]handler{"GET": (*Server).getPunctuality}},
	{"/api/rehearse", forReading, map[string]handler{"POST": own((*Server).rehearse)}},
	{"/api/preview", forReading, map[string]handler{"POST": (*Server).preview}},
	{completions, open, map[string]handler{"POST": (*Server).complete}},
	{"/api/broadcast", open, map[string]handler{"POST": (*Server).broadcast}},
	{"/api/ping", open, map[string]handler{"GET": (*Server).ping}},
	{"/api/echo", open, map[string]handler{"POST": (*Server).echo}},
	{issuer.DiscoveryPath, open, map[string]handler{"GET": (*Server).discovery}},
	{issuer.KeysPath, open, map[string]handler{"GET": (*Server).publicKeys}},
	{"/healthz", open, map[string]handler{"GET": (*Server).healthz}},
	{"/readyz", open, map[string]handler{"GET": (*Server).readyz}},
	{"/metrics", open, map[string]handler{"GET": (*Server).metrics}},
	{"/openapi.json", open, map[string]handler{"GET": (*Server).openAPI}},
	{docsite.Prefix, open, map[string]handler{"GET": (*Server).docs}},
	{docsite.Prefix + "/{page...}", open, map[string]handler{"GET": (*Server).docs}},
	{docsite.LLMs, open, map[string]handler{"GET": (*Server).docs}},
	{docsite.LLMsFull, open, map[string]handler{"GET": (*Server).docs}},
}

// streams are routes whose responses last as long as the client wants.
var streams = map[string]bool{"/api/events": true, "/api/listen": true, "/api/logs/export": true, "/mcp": true}

// parameters lists the query parameters that each call takes; none unless it is
// listed here. See misspelt for others.
var parameters = map[string][]string{
	"POST /api/jobs/batch":     {"atomic"},
	"GET /api/export":          {"owner", maskParameter},
	"GET /api/alerts":          {"limit", "offset"},
	"GET /api/groups":          {"limit", "offset"},
	"GET /api/limits":          {"limit", "offset"},
	"GET /api/runs":            {"limit", "cursor", "state", "label"},
	"GET /api/account/members": {"limit", "offset"},
	"GET /api/jobs":            slices.Concat([]string{"q", maskParameter}, job.FilterNames(job.OfJobs), pageParameters),
	"GET /api/jobs/counts":     job.FilterNames(job.OfJobs),
	"GET /api/schedules":       slices.Concat(job.FilterNames(job.OfSchedules), []string{"include", maskParameter}, pageParameters),
	"GET /api/operations":      {"limit", "cursor"},
	"GET /api/logs":            slices.Concat(logParameters, pageParameters),
	"GET /api/logs/export":     logParameters,
	"GET /api/account/audit":   {"event", "limit", "cursor"},
	"GET /api/listen":          {"name", "tag", "instance"},
	"GET /api/stats":           {"minutes"},
	"GET /api/secrets":         {"limit", "offset"},

	"GET /api/jobs/{job_id}":                       {maskParameter},
	"GET /api/schedules/{schedule_id}":             {maskParameter},
	"GET /api/schedules/{schedule_id}/details":     {"include"},
	"GET /api/schedules/{schedule_id}/punctuality": {"month"},
	"GET /api/logs/{log_id}":                       {maskParameter},
}

var (
	pageParameters = []string{"limit", "offset", "order_by", "cursor"}
	logParameters  = append(job.FilterNames(job.OfLogs), maskParameter)
)

// New returns a Server.
func New(config Config) *Server {
	s := &Server{Config: config, mux: http.NewServeMux(), parsing: newParsing(), site: docsite.New(),
		reports: quota.NewMeter[job.TokenHash](time.Now())}
	s.Metrics.Expect("refused")
	for _, r := range routes {
		s.Metrics.Expect(r.path)
		if served, here := s.here(r); here {
			s.mux.Handle(r.path, s.serve(served))
		}
	}
	s.mux.Handle("/", s.serve(route{path: "/"}))
	return s
}

// Answers reports whether the request's path is one of the API's.
func (s *Server) Answers(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, docsite.Prefix+"/") {
		return s.site.Has(r.URL.Path)
	}
	_, pattern := s.mux.Handler(r)
	return pattern != "/" || s.mounted(r.URL.Path) != nil
}

// call is a request being served.
type call struct {
	http.ResponseWriter
	r       *http.Request
	owner   job.Owner
	began   time.Time
	span    *tracing.Span
	caller  auth.Caller
	status  int
	started bool // something has been written
	mask    bool // credentials in headers are not shown

	problems []fault.Problem // of the query, found before the handler was called

	parsing chan struct{} // the server's
}

func (c *call) WriteHeader(status int) {
	c.status, c.started = status, true
	c.ResponseWriter.WriteHeader(status)
}

func (c *call) Write(b []byte) (int, error) {
	c.started = true
	return c.ResponseWriter.Write(b)
}

// Unwrap supports http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m := s.mounted(r.URL.Path); m != nil {
		m.ServeHTTP(w, r)
		return
	}
	// The mux would redirect paths that are not clean; here they don't exist.
	// An escaped slash is part of a key.
	// The mux answers a bare asterisk itself.
	if p := r.URL.EscapedPath(); p != "/" && path.Clean(p) != p || r.RequestURI == "*" {
		s.serve(route{path: "/"}).ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) serve(route route) http.Handler {
	return s.answer(route.path, func(c *call) error { return s.dispatch(route, c) }, s.problem)
}

// answer returns a handler that calls handle, and fail with the error that it returns. A
// path names the calls in metrics and logs.
func (s *Server) answer(path string, handle func(*call) error, fail func(c *call, id string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := edge.RequestID(r)
		ctx, release := admission.Hold(r.Context())
		defer release()
		c := &call{ResponseWriter: w, r: r.WithContext(ctx), began: start, status: http.StatusOK, parsing: s.parsing}
		cut := false
		header := w.Header()
		header.Set("X-Request-Id", id)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		defer func() {
			if broken := recover(); broken != nil {
				s.Log.Error("panic in a handler", "request", id, "route", path, "panic", broken, "stack", string(debug.Stack()))
				if cut = c.started; !cut {
					fail(c, id, fault.New(fault.Internal, internalMessage))
				}
			}
			s.Metrics.Requested(path, strconv.Itoa(c.status))
			if !streams[path] {
				s.Metrics.Took(path, c.status, time.Since(start))
			}
			c.span.EndCall(c.status)
			s.Log.Debug("call", "request", id, "method", r.Method, "route", path, "status", c.status, "client", edge.ClientAddr(r),
				"duration", time.Since(start))
			if cut { // only a closed connection shows the client that the response is incomplete
				panic(http.ErrAbortHandler)
			}
		}()
		switch err := handle(c); {
		case err != nil && c.started:
			s.Log.Debug("response cut off", "request", id, "route", path, "error", err)
			cut = true
		case err != nil:
			fail(c, id, err)
		}
	})
}

// dispatch checks the method, the credentials and the rate of a call, then calls
// its handler.
func (s *Server) dispatch(route route, c *call) error {
	if len(route.methods) == 0 {
		if err := s.Rates.Address(c.Header(), c.r); err != nil {
			return err
		}
		message := "there is nothing at this path; GET /docs lists every call"
		if meant := s.similar(c.r.URL.Path); meant != "" {
			message = "there is nothing at this path; did you mean " + meant + "? GET /docs lists every call"
		}
		return &fault.Error{Code: fault.NotFound, Reason: "unknown_path", Message: message}
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle := route.methods[method]
	if handle == nil {
		if err := s.Rates.Address(c.Header(), c.r); err != nil {
			return err
		}
		c.Header().Set("Allow", edge.Allow(maps.Keys(route.methods)))
		return fault.New(fault.MethodNotAllowed, "this path does not support "+c.r.Method+"; it supports "+
			edge.Allow(maps.Keys(route.methods)))
	}
	if err := s.admit(route, method, c); err != nil {
		return err
	}
	c.problems = misspelt(route, method, c.r.URL)
	c.readMask(route, method)
	if !readsQuery(route, method) {
		if err := fault.Refuse(c.problems); err != nil {
			return err
		}
	}
	s.trace(route, c)
	return handle(s, c)
}

// writeJSON responds with a JSON text.
func (c *call) writeJSON(status int, body []byte) error {
	c.Header().Set("Content-Type", "application/json")
	c.WriteHeader(status)
	_, _ = c.Write(body) // fails only if the client is gone
	return nil
}

// writeRecord responds with {"data": record}.
func (c *call) writeRecord(status int, add func([]byte) []byte) error {
	b := append(make([]byte, 0, 1024), `{"data":`...)
	return c.writeJSON(status, append(add(b), '}'))
}

// piece is how many bytes of a list are written at once.
const piece = 64 << 10

// writeList responds with {"data": [record, …]}.
func writeList[T any](c *call, records []*T, add func([]byte, *T) []byte) error {
	return writeItems(c, http.StatusOK, records, func(b []byte, r **T) []byte { return add(b, *r) })
}

// writeItems responds with {"data": [item, …]}, written in pieces.
func writeItems[T any](c *call, status int, items []T, add func([]byte, *T) []byte) error {
	return writeItemsAnd(c, status, items, nil, add)
}

// writeItemsAnd is writeItems with further members behind the items, which begin with a
// comma.
func writeItemsAnd[T any](c *call, status int, items []T, after []byte, add func([]byte, *T) []byte) error {
	c.Header().Set("Content-Type", "application/json")
	c.WriteHeader(status)
	b := append(make([]byte, 0, min(piece, 1024*(len(items)+1))), `{"data":[`...)
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		if b = add(b, &items[i]); len(b) >= piece {
			if _, err := c.Write(b); err != nil {
				return nil // the client is gone
			}
			b = b[:0]
		}
	}
	_, _ = c.Write(append(append(append(b, ']'), after...), '}'))
	return nil
}
