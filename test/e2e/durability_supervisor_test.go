package e2e

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestDurabilityRestart_UnderASupervisorRefusesNoCall restarts the service while clients
// that don't retry create 200 jobs a second, half of them on connections that they keep.
func TestDurabilityRestart_UnderASupervisorRefusesNoCall(t *testing.T) {
	t.Parallel()
	const workers, restarts, between = 8, 3, 100 // creates between two restarts
	s := harness.Start(t, harness.Supervised(t))
	url := s.URL()
	var created atomic.Int64
	var stopped atomic.Bool
	var all sync.WaitGroup
	for worker := range workers {
		transport := &http.Transport{DisableKeepAlives: worker%2 == 0}
		defer transport.CloseIdleConnections()
		all.Go(func() {
			tick := time.NewTicker(workers * time.Second / 200)
			defer tick.Stop()
			for !stopped.Load() {
				if err := createOnce(transport, url); err != nil {
					t.Errorf("after %d creates: %v", created.Load(), err)
					return
				}
				created.Add(1)
				<-tick.C
			}
		})
	}
	more := func() {
		want := created.Load() + between
		harness.Eventually(t, soon, "more jobs to be created", func() bool { return created.Load() >= want || t.Failed() })
	}
	for range restarts {
		more()
		if code := s.Stop(); code != 0 {
			t.Errorf("exit status %d", code)
		}
		s.Restart(t)
		if s.URL() != url {
			t.Fatalf("the service is at %s after the restart, want %s", s.URL(), url)
		}
	}
	more()
	stopped.Store(true)
	all.Wait()
	counts := s.Public(t).Get("/api/jobs/counts")
	if stored := counts.Data().Get("available").Int(); stored != created.Load() {
		t.Errorf("%d jobs are stored, %d were created", stored, created.Load())
	}
}

// createOnce creates a job by a request that no layer can repeat.
func createOnce(transport *http.Transport, url string) error {
	body := struct{ io.Reader }{strings.NewReader(waiting)} // no GetBody
	r, err := http.NewRequest(http.MethodPost, url+"/api/jobs", body)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+harness.PublicKey)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(waiting))
	response, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		return errors.New("the response is " + response.Status)
	}
	return err
}
