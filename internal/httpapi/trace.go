package httpapi

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/job"
)

// trace begins the span of a call that may change something, once its caller is
// known: strangers make no spans. Jobs that the call creates keep the span.
func (s *Server) trace(route route, c *call) {
	if s.Tracer == nil || route.access == open || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return
	}
	c.span = s.Tracer.Call(c.r, route.path, c.owner, c.began)
	c.r = c.r.WithContext(job.WithTrace(c.r.Context(), c.span.Origin()))
}
