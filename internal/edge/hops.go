package edge

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/job"
)

// CountHops stores in each request's context the length of the chain of jobs that
// led to it, for calls that create jobs.
func CountHops(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A job sends one field only; of several, use the first.
		if values := r.Header.Values(job.HopsField); len(values) > 0 {
			r = r.WithContext(job.WithHops(r.Context(), values[0]))
		}
		next.ServeHTTP(w, r)
	})
}
