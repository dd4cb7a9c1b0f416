package e2e

import (
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestDurabilityRestart_UnderLoadLosesAndRepeatsNothing stops the service with
// SIGTERM at random times: what is under way finishes, so nothing is sent
// twice.
func TestDurabilityRestart_UnderLoadLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	s := newStorm(t, 10, func(s *harness.Service) {
		if code := s.Stop(); code != 0 {
			t.Errorf("exit status %d", code)
		}
	})
	s.run(seeded(t))
	s.judge()
	l := takeLedger(t, s.client, s.target)
	for id, job := range l.jobs {
		if job.Get("job.state").Str() != "completed" {
			continue // the last runs of the schedules
		}
		if len(l.hits[id]) != 1 || slices.Contains(l.logs[id], "error interrupted") {
			t.Errorf("job %d made %d requests with logs %q", id, len(l.hits[id]), l.logs[id])
		}
	}
	called := map[int64]int{}
	for _, hit := range s.receiver.Hits() {
		called[hit.JSON().Get("job.job_id").Int()]++
	}
	for id, times := range called {
		if times != 1 {
			t.Errorf("job %d called back %d times", id, times)
		}
	}
}
