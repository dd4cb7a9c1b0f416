package httpapi

import (
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
)

// operations are the paths that Operations serves.
var operations = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// here returns the route as served together with the API, and whether it is
// served there at all.
func (s *Server) here(r route) (route, bool) {
	switch {
	case !s.OperationsElsewhere:
	case r.path == "/metrics":
		return r, false
	case r.path == "/readyz":
		r.methods = map[string]handler{"GET": bare(r.methods["GET"])}
	}
	return r, true
}

// bare wraps a handler so that its errors do not disclose the reason.
func bare(handle handler) handler {
	return func(s *Server, c *call) error {
		if err := handle(s, c); err != nil {
			return &fault.Error{Code: fault.Unavailable, Message: "the service is not ready", Cause: err}
		}
		return nil
	}
}

// Operations returns a handler for the operators of the service: metrics, and
// health with the reasons.
func (s *Server) Operations() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		if operations[r.path] {
			mux.Handle(r.path, s.serve(r))
		}
	}
	mux.Handle("/", s.serve(route{path: "/"}))
	return mux
}

// Refuse responds with an error to a request that is not for any route.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	c := &call{ResponseWriter: w, r: r}
	id := edge.RequestID(r)
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("Cache-Control", "no-store")
	s.problem(c, id, err)
	s.Metrics.Requested("refused", strconv.Itoa(c.status))
}
