package goclient

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/test/clients/clienttest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestClient_CreatesEachJobOnceThoughAnswersAreLost creates jobs in every way, through a
// proxy that loses, cuts and delays answers and lets requests arrive late.
func TestClient_CreatesEachJobOnceThoughAnswersAreLost(t *testing.T) {
	watcher, _, account := start(t)
	service := harness.Shared(t)
	proxy := clienttest.NewUnreliable(t, service)
	call[*client.Group](t)(watcher.PutGroup(t.Context(), "both", []client.Target{
		{Name: "a", URL: proxy.Target + "/group/a"}, {Name: "b", URL: proxy.Target + "/group/b"},
	}))
	_, key := service.NewKey(t, account.Email)
	var calls sync.WaitGroup
	want := 0
	for _, faults := range []string{"lose", "cut", "delay", "late", "late,lose,cut,delay"} {
		c := call[*client.Client](t)(client.New(client.Config{URL: proxy.URL + "/" + faults, Key: key, MaxRetries: 12,
			AttemptTimeout: 2 * time.Second}))
		for _, own := range []string{"", "own"} {
			request := func(n int) client.JobRequest {
				r := client.JobRequest{URL: fmt.Sprintf("%s/once/%s/%d%s", proxy.Target, faults, n, own), Tags: []string{"once"}}
				if own != "" {
					r.IdempotencyKey = fmt.Sprintf("%s-%d", faults, n)
				}
				return r
			}
			calls.Go(func() {
				if record, err := c.CreateJob(t.Context(), request(0)); err != nil || own == "" && record.Job.HasConflict {
					t.Errorf("%s: %+v, %v", faults, record, err)
				}
			})
			calls.Go(func() {
				if records, err := c.CreateJobs(t.Context(), []client.JobRequest{request(1), request(2)}); err != nil || len(records) != 2 {
					t.Errorf("%s: %d records, %v", faults, len(records), err)
				}
			})
			want += 3
		}
	}
	for _, own := range []string{"", "own"} {
		c := call[*client.Client](t)(client.New(client.Config{URL: proxy.URL + "/late,lose", Key: key, MaxRetries: 12}))
		calls.Go(func() {
			if records, err := c.CreateGroupJobs(t.Context(), client.JobRequest{Group: "both", IdempotencyKey: own}); err != nil ||
				len(records) != 2 {
				t.Errorf("a group: %d records, %v", len(records), err)
			}
		})
	}
	calls.Wait()
	jobs := 0
	for job, err := range watcher.ListJobs(t.Context(), client.JobFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		call[*client.JobRecord](t)(watcher.WaitJob(t.Context(), client.ID(job.ID)))
		jobs++
	}
	if jobs != want+4 {
		t.Errorf("%d jobs were created, want %d", jobs, want+4)
	}
	hits := proxy.Hits("once")
	for path, n := range hits {
		if n != 1 {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	if len(hits) != want {
		t.Errorf("%d of %d jobs arrived", len(hits), want)
	}
	if got := fmt.Sprint(proxy.Hits("group")); got != "map[a:2 b:2]" {
		t.Errorf("the two jobs of two calls for a group arrived so often: %s", got)
	}
}
