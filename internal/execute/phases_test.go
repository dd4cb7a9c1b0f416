package execute

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// The phases of an attempt add up to what it took, and each has the time that was spent
// in it.
func TestDo_MeasuresThePhases(t *testing.T) {
	const pause = 30 * time.Millisecond
	for _, h2 := range []bool{false, true} {
		t.Run("http2 "+strconv.FormatBool(h2), func(t *testing.T) {
			url := serve(t, h2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(pause)
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(pause)
				_, _ = io.WriteString(w, "done")
			}))
			c := newClient(t)
			first, second := c.Do(t.Context(), get(url)), c.Do(t.Context(), get(url))
			for i, out := range []job.Outcome{first, second} {
				var sum time.Duration
				for _, d := range out.Timings {
					sum += d
				}
				// The target may pause before this side has noticed that it has sent, or that the
				// response has begun: only the parts together are sure to have both pauses.
				after := out.Timings[job.SendPhase] + out.Timings[job.WaitPhase] + out.Timings[job.ReadPhase]
				if out.Failure != nil || after < 2*pause-negligible*3 || sum > out.Duration {
					t.Errorf("attempt %d took %s: %v, failure %v", i+1, out.Duration, out.Timings, out.Failure)
				}
			}
			if first.Timings[job.TLSPhase] == 0 || second.Timings[job.TLSPhase] != 0 || second.Timings[job.DNSPhase] != 0 {
				t.Errorf("a new connection has %v, a kept one %v", first.Timings, second.Timings)
			}
		})
	}
}

func TestDo_FailuresHaveTheirPhase(t *testing.T) {
	c := newClient(t)
	out := c.Do(t.Context(), get(strings.Replace(serve(t, false, http.NotFoundHandler()), "127.0.0.1", "nowhere.invalid", 1)))
	if out.Failure == nil || out.Failure.Kind != job.KindDNS || out.Timings[job.DNSPhase] == 0 || out.Timings[job.ConnectPhase] != 0 {
		t.Errorf("an unknown name: %v, %v", out.Timings, out.Failure)
	}
}
