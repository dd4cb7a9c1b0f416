package google

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/service"
)

// Config configures an API.
type Config struct {
	Service *service.Service
	// AppEngine is where App Engine targets are: relative URIs are appended to it. Nil
	// refuses them.
	AppEngine *url.URL
	// Key is the key of calls by gRPC without one, for development; "" refuses them. No
	// page in a browser can make such calls: they have neither HTTP/2 without TLS nor
	// trailers.
	Key string
}

// API is the Google-compatible API.
type API struct {
	Config
	methods map[string]*method // by path of gRPC
	routes  []route            // of REST
}

// New returns an API.
func New(config Config) *API {
	a := &API{Config: config, methods: map[string]*method{}}
	for _, m := range methods() {
		a.methods[m.path] = m
		a.routes = append(a.routes, m.routes...)
	}
	return a
}

// call is a call of the API.
type call struct {
	*httpapi.ForeignCall
	api *API
	ctx context.Context
}

// method is a method of a service.
type method struct {
	path    string // of gRPC
	reads   bool   // it changes nothing
	request protoreflect.MessageType
	serve   func(*call, proto.Message) (proto.Message, error)
	routes  []route
}

// unary describes a method of a service that is called SERVICE/METHOD.
func unary[Request, Response proto.Message](service, name string, serve func(*call, Request) (Response, error)) *method {
	var request Request
	m := &method{
		path: "/" + service + "/" + name, request: request.ProtoReflect().Type(),
		serve: func(c *call, r proto.Message) (proto.Message, error) { return serve(c, r.(Request)) },
	}
	for _, prefix := range []string{"Get", "List", "Test"} {
		m.reads = m.reads || strings.HasPrefix(name, prefix)
	}
	return m
}

// Names are the names of the calls, for metrics.
func Names() []string {
	names := []string{unknown}
	for _, m := range methods() {
		names = append(names, m.path)
	}
	return names
}

// unknown is the name of calls that are none of the API's.
const unknown = "google"

// Find implements httpapi.Foreign.
func (a *API) Find(r *http.Request) httpapi.ForeignRoute {
	if isRPC(r) {
		if a.Key != "" && r.ProtoMajor == 2 && r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer "+a.Key)
		}
		m := a.methods[r.URL.Path]
		if m == nil || r.Method != http.MethodPost {
			return httpapi.ForeignRoute{Name: unknown, Serve: func(*httpapi.ForeignCall) error {
				return fault.New(fault.NotImplemented, "there is no method "+r.URL.Path+" here")
			}}
		}
		return httpapi.ForeignRoute{Name: m.path, Reads: m.reads, Serve: func(f *httpapi.ForeignCall) error { return a.serveRPC(f, m) }}
	}
	found, values := a.match(r.Method, r.URL.EscapedPath())
	if found == nil {
		return httpapi.ForeignRoute{Name: unknown}
	}
	return httpapi.ForeignRoute{
		Name: found.method.path, Reads: found.method.reads,
		Serve: func(f *httpapi.ForeignCall) error { return a.serveREST(f, found, values) },
	}
}

// Fail implements httpapi.Foreign.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, _ int, f *fault.Error) {
	if isRPC(r) {
		failRPC(w, statusOf(f))
		return
	}
	failREST(w, statusOf(f))
}

// maxMessage bounds a request, in bytes: a task's body may have 1 MiB, which is a third
// more as base64.
const maxMessage = 2 << 20

// Refuse responds to a request that the limits of the server refuse.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := &fault.Error{Code: fault.Internal, Message: "the request was refused"}
	_ = errors.As(err, &f)
	(*API)(nil).Fail(w, r, 0, f)
}
