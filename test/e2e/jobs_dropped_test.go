package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// dropping is a target that answers the first request on each connection and drops the
// others, without a byte of a response.
type dropping struct {
	url string

	mu    sync.Mutex
	conns map[string]int
	hits  map[string][]droppedHit
}

type droppedHit struct {
	at      time.Time
	attempt string
	dropped bool
}

func newDropping(t *testing.T) *dropping {
	d := &dropping{conns: map[string]int{}, hits: map[string][]droppedHit{}}
	d.url = harness.BareTarget(t, d)
	return d
}

func (d *dropping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.conns[r.RemoteAddr]++
	drop := d.conns[r.RemoteAddr] > 1
	d.hits[r.URL.Path] = append(d.hits[r.URL.Path], droppedHit{time.Now(), r.Header.Get("X-Punctual-Attempt"), drop})
	d.mu.Unlock()
	if drop {
		panic(http.ErrAbortHandler)
	}
}

func (d *dropping) hitsOf(path string) []droppedHit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]droppedHit(nil), d.hits[path]...)
}

// atOnce is far less than the first back-off, of jobs (10 s) and deliveries (5 s).
const atOnce = 3 * time.Second

func TestDropped_TheFirstRetryIsMadeAtOnce(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"get", "post"} {
		a, target := account(t).Client, newDropping(t)
		finished(t, a, `{"retries":0,"url":"`+target.url+`/before"}`, "completed")
		job := create(a, fmt.Sprintf(`{"method":%q,"retries":1,"url":"%s/job"}`, method, target.url))
		job = awaitState(t, a, job, "completed")
		logs := logsOf(a, job)
		wantEvents(t, logs, "http.request", "http.error", "http.request", "http.response")
		failure := logs[1].Get("payload")
		wantSame(t, "kind", failure.Get("kind"), `"closed"`)
		wantSame(t, "attempt", failure.Get("attempt"), "1")
		if wait := instant(t, failure.Get("retry_at")).Sub(instant(t, logs[1].Get("inserted_at"))); wait < 0 || wait > 10*time.Millisecond {
			t.Errorf("%s: the retry is planned %s after the failure", method, wait)
		}
		hits := target.hitsOf("/job")
		if len(hits) != 2 || !hits[0].dropped || hits[0].attempt != "1" || hits[1].dropped || hits[1].attempt != "2" {
			t.Fatalf("%s: the target received %+v", method, hits)
		}
		if wait := hits[1].at.Sub(hits[0].at); wait > harness.Allowed(atOnce, hits[0].at) {
			t.Errorf("%s: the retry came after %s", method, wait)
		}
	}
}

// A job without retries, or whose retry is excluded, is never sent twice, nor over a
// connection that was not used lately.
func TestDropped_WithoutRetriesNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]string{"retries": `"retries":0`, "no_retry": `"no_retry":["closed"]`} {
		a, target := account(t).Client, newDropping(t)
		finished(t, a, `{"retries":0,"url":"`+target.url+`/before"}`, "completed")
		// The connection was used lately, so it is used again, and dropped.
		job := awaitFinal(t, a, create(a, `{`+members+`,"url":"`+target.url+`/now"}`))
		time.Sleep(1200 * time.Millisecond) // the connections must have been idle for a second
		finished(t, a, `{`+members+`,"url":"`+target.url+`/later"}`, "completed")
		now, later := target.hitsOf("/now"), target.hitsOf("/later")
		if len(now) != 1 || len(later) != 1 || later[0].dropped {
			t.Errorf("%s: the target received %+v and %+v", name, now, later)
		}
		if state := job.Get("job.state").Str(); (state == "discarded") != now[0].dropped {
			t.Errorf("%s: the job is %s, its request was dropped: %t", name, state, now[0].dropped)
		}
	}
}

func awaitFinal(t *testing.T, c *harness.Client, job harness.JSON) harness.JSON {
	t.Helper()
	harness.Eventually(t, atOnce, "the end of the job", func() bool {
		job = c.Get(fmt.Sprintf("/api/jobs/%d", job.Get("job_id").Int())).Want(200).Data()
		return strings.Contains("completed discarded", job.Get("job.state").Str())
	})
	return job
}

// Callbacks and webhooks likewise.
func TestDropped_DeliveriesAreRetriedAtOnce(t *testing.T) {
	t.Parallel()
	a, target, receiver := account(t).Client, newDropping(t), newDropping(t)
	for _, where := range []string{"callback_url", "webhook_url"} {
		path := "/" + where
		create(a, fmt.Sprintf(`{"url":"%s/%s","%s":"%s%s"}`, target.url, where, where, receiver.url, path))
		harness.Eventually(t, 2*atOnce, "the retry of the "+where, func() bool {
			hits := receiver.hitsOf(path)
			for i, hit := range hits {
				if hit.dropped && i+1 < len(hits) && !hits[i+1].dropped {
					if wait := hits[i+1].at.Sub(hit.at); wait > harness.Allowed(atOnce, hit.at) {
						t.Errorf("the retry came after %s", wait)
					}
					return true
				}
			}
			if len(hits) > 0 && !hits[0].dropped { // the first delivery over the connection
				create(a, fmt.Sprintf(`{"url":"%s/%s","%s":"%s%s"}`, target.url, where, where, receiver.url, path))
			}
			return false
		})
	}
}
