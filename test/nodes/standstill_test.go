package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// A node is stopped while it holds jobs. Meanwhile most of them are cancelled through
// another node. When the first one goes on, it sends none of these, and the others.
func TestStandstill_CancelsThroughAnotherNodeHold(t *testing.T) {
	t.Parallel()
	c := startCluster(t, same(pgtest.URL(t), 2)...)
	c.steady(t)
	standstill(t, c, c.Nodes[1], true)
}

// On SQLite, the only node answers cancels and is stopped right afterwards.
func TestStandstill_CancelsBeforeItHoldOnSQLite(t *testing.T) {
	t.Parallel()
	standstill(t, startCluster(t, harness.NewDatabase(t)), nil, false)
}

// standstill cancels jobs through another node while the first one is stopped or, if
// there is none, right before that.
func standstill(t *testing.T, c *Cluster, other *Node, during bool) {
	const rounds, each, kept = 10, 12, 2
	cancelled, broken := 0, 0
	for range rounds {
		seen := len(c.Target.Hits())
		due := time.Now().Add(1500 * time.Millisecond)
		var numbers []int64
		for i := range each {
			at := due.Add(time.Duration(40+5*i) * time.Millisecond)
			numbers = append(numbers, c.create(t, c.Nodes[0], `"scheduled_at":"`+at.UTC().Format(time.RFC3339Nano)+`"`).Number)
		}
		pause(time.Until(due))
		over := map[int64]bool{}
		cancel := func(n *Node) {
			for _, number := range c.cancelAll(t, n, numbers[kept:]) {
				over[number] = true
			}
		}
		if !during {
			cancel(c.Nodes[0])
		}
		signal(t, c.Nodes[0], syscall.SIGSTOP)
		if during {
			cancel(other)
		}
		arrived(400*time.Millisecond, due)
		continued := time.Now()
		signal(t, c.Nodes[0], syscall.SIGCONT)
		c.awaitJobs(t, numbers)
		cancelled += len(over)
		for _, hit := range c.Target.Hits()[seen:] {
			number, _ := strconv.ParseInt(hit.Header.Get("X-Punctual-Job-Id"), 10, 64)
			if over[number] && hit.At.After(continued) {
				broken++
				t.Errorf("job %d was sent %s after the node went on, though its cancel had been answered", number, hit.At.Sub(continued))
			}
		}
	}
	t.Logf("%d of %d cancelled jobs were sent", broken, cancelled)
	if cancelled == 0 {
		t.Error("no job was cancelled in time")
	}
}

// A node is stopped while it holds runs of schedules. Meanwhile these are edited, disabled
// or deleted through another node. When the first one goes on, it sends no run as it was.
func TestStandstill_ChangesOfSchedulesThroughAnotherNodeHold(t *testing.T) {
	t.Parallel()
	c := startCluster(t, same(pgtest.URL(t), 2)...)
	c.steady(t)
	changes := []struct{ method, path, body string }{
		{http.MethodPatch, "", `{"body":"new"}`},
		{http.MethodPost, "/disable", ""},
		{http.MethodDelete, "", ""},
	}
	const rounds, each = 5, 12
	answered := 0
	for range rounds {
		due := time.Now().Add(1500 * time.Millisecond)
		var numbers []int64
		change := map[int64]int{} // by job
		ids := map[int64]string{}
		for i := range each {
			at := due.Add(time.Duration(40+5*i) * time.Millisecond)
			j := c.create(t, c.Nodes[0], `"method":"post","body":"old","repeat_every":3600,"scheduled_at":"`+
				at.UTC().Format(time.RFC3339Nano)+`"`)
			numbers = append(numbers, j.Number)
			change[j.Number], ids[j.Number] = i%len(changes), *j.Schedule
		}
		pause(time.Until(due))
		signal(t, c.Nodes[0], syscall.SIGSTOP)
		pause(250 * time.Millisecond) // the runs count as started
		for _, number := range numbers {
			x := changes[change[number]]
			a, err := c.call(context.Background(), c.Nodes[1], x.method, "/api/schedules/"+ids[number]+x.path, x.body)
			if err != nil || a.status/100 != 2 {
				t.Fatalf("%s %s: %v %+v", x.method, x.path, err, a)
			}
			answered++
		}
		arrived(150*time.Millisecond, due)
		continued := time.Now()
		signal(t, c.Nodes[0], syscall.SIGCONT)
		c.awaitJobs(t, numbers)
		for _, hit := range c.Target.Hits() {
			number, _ := strconv.ParseInt(hit.Header.Get("X-Punctual-Job-Id"), 10, 64)
			kind, mine := change[number]
			if mine && hit.At.After(continued) && (kind > 0 || !strings.Contains(string(hit.Body), "new")) {
				t.Errorf("job %d was sent with %q %s after the node went on, though %+v had been answered",
					number, hit.Body, hit.At.Sub(continued), changes[kind])
			}
		}
	}
	if answered == 0 {
		t.Error("nothing was changed")
	}
}

// arrived waits until the target has noted what was sent before, which takes as long as
// timers have been late since a time.
func arrived(usual time.Duration, since time.Time) {
	pause(usual + min(harness.Slack(since), 3*time.Second))
}

func signal(t *testing.T, n *Node, s syscall.Signal) {
	t.Helper()
	if err := n.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// cancelAll cancels jobs at the same time and returns which are cancelled.
func (c *Cluster) cancelAll(t *testing.T, n *Node, numbers []int64) (cancelled []int64) {
	var mu sync.Mutex
	var callers sync.WaitGroup
	for _, number := range numbers {
		callers.Go(func() {
			a, err := c.call(context.Background(), n, http.MethodPost, fmt.Sprintf("/api/jobs/%d/cancel", number), "")
			if err != nil {
				t.Errorf("cancelling: %v", err)
				return
			}
			var made struct{ Data Job }
			if json.Unmarshal(a.body, &made) == nil && made.Data.Job.State == "cancelled" {
				mu.Lock()
				defer mu.Unlock()
				cancelled = append(cancelled, number)
			}
		})
	}
	callers.Wait()
	return cancelled
}

// awaitJobs waits until jobs are final.
func (c *Cluster) awaitJobs(t *testing.T, numbers []int64) {
	t.Helper()
	for _, number := range numbers {
		harness.Eventually(t, 30*time.Second, fmt.Sprintf("job %d to be final", number), func() bool {
			var found struct{ Data Job }
			_, err := c.get(fmt.Sprintf("/api/jobs/%d", number), &found)
			return err == nil && (found.Data.Job.State == "completed" || found.Data.Job.State == "cancelled")
		})
	}
}
