package nodes

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestCompletion_AwaitingJobsOutliveTheirNode kills the nodes whose targets have
// responded with 202. Nothing is sent again; another node takes the reports and ends
// the attempts of silent targets.
func TestCompletion_AwaitingJobsOutliveTheirNode(t *testing.T) {
	t.Parallel()
	c := startClusterWith(t, []harness.Option{harness.Flag("public-url", publicURL)}, same(pgtest.URL(t), 3)...)
	c.Target.Respond(harness.Status(http.StatusAccepted))
	c.steady(t)
	const jobs = 20
	state := func(number int64) string {
		a, err := c.call(context.Background(), c.Nodes[2], http.MethodGet, fmt.Sprintf("/api/jobs/%d", number), "")
		if err != nil || a.status != http.StatusOK {
			return fmt.Sprint(a, err)
		}
		return harness.JSON(a.body).Get("data.job.state").Str()
	}
	numbers := map[string]int64{} // by the job's id in the request
	var silent []int64
	for i := range jobs {
		numbers[fmt.Sprint(c.create(t, c.Nodes[i%2], `"completion":{"within":[1,"hour"]}`).Number)] = 0
	}
	for i := range 4 {
		silent = append(silent, c.create(t, c.Nodes[i%2], `"retries":0,"completion":{"within":3}`).Number)
	}
	paths := map[string]string{}
	for _, hit := range c.Target.AwaitEnds(t, jobs+len(silent), 20*time.Second) {
		paths[hit.Header.Get("X-Punctual-Job-Id")] = strings.TrimPrefix(hit.Header.Get("X-Punctual-Complete"), publicURL)
	}
	harness.Eventually(t, 10*time.Second, "all jobs to await their completion", func() bool {
		a, err := c.call(context.Background(), c.Nodes[2], http.MethodGet, "/api/logs?event=worker.http.response&limit=100", "")
		return err == nil && strings.Count(string(a.body), `"awaiting":true`) == jobs+len(silent)
	})
	c.Nodes[0].Kill()
	c.Nodes[1].Kill()
	for _, number := range silent {
		harness.Eventually(t, 20*time.Second, "a silent target's job to be discarded", func() bool { return state(number) == "discarded" })
	}
	for number := range numbers {
		var id int64
		_, _ = fmt.Sscan(number, &id)
		if got := state(id); got != "executing" {
			t.Errorf("job %s is %s", number, got)
		}
		a, err := c.call(context.Background(), c.Nodes[2], http.MethodPost, paths[number], `{"result":{"by":"another node"}}`)
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("reporting: %v %+v", err, a)
		}
		if got := state(id); got != "completed" {
			t.Errorf("job %s is %s after its result", number, got)
		}
	}
	if n := len(c.Target.Hits()); n != jobs+len(silent) {
		t.Errorf("the target got %d requests, want %d", n, jobs+len(silent))
	}
}
