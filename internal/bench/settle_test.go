package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSettle_AsksTheStoreWhereOtherNodesCount has a service whose metrics are those of one
// node, which has recorded some of the jobs only.
func TestSettle_AsksTheStoreWhereOtherNodesCount(t *testing.T) {
	t.Parallel()
	executing, asked := []string{"7", "2", "0"}, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/metrics":
			_, _ = io.WriteString(w, "punctual_jobs_finished_total{outcome=\"completed\"} 40\n")
		case "/api/jobs/counts?state=executing":
			_, _ = io.WriteString(w, `{"data":{"available":5,"executing":`+executing[min(asked, 2)]+`},"limit":1000}`)
			asked++
		default:
			t.Errorf("%s was called", r.URL)
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		recorded float64
		asks     int
	}{{60, 0}, {20, 3}} {
		asked = 0
		run := &trial{bench: &bench{Config: Config{BaseURL: s.URL}}, service: &service{api: newAPI(s.URL, "", 1)}}
		now, err := run.settle(t.Context(), vitals{completed: 40 - c.recorded}, 50)
		if err != nil || now.completed != 40 || asked != c.asks || len(run.result.Problems) > 0 {
			t.Errorf("with %v recorded, settled after %d counts: %+v %v %v", c.recorded, asked, now, err, run.result.Problems)
		}
	}
}
