package edge

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/job"
)

// CountHops notes on each request how many jobs made one another up to it, for
// those that create jobs.
func CountHops(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Several fields can't come of a job; the first decides.
		if values := r.Header.Values(job.HopsField); len(values) > 0 {
			r = r.WithContext(job.WithHops(r.Context(), values[0]))
		}
		next.ServeHTTP(w, r)
	})
}
