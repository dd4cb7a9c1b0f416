package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// operationOf is an operation as the API returns it.
type operationOf struct {
	ID      string           `json:"id"`
	State   string           `json:"state"`
	Matched int              `json:"matched"`
	Done    int              `json:"done"`
	Skipped map[string]int64 `json:"skipped"`
}

// TestOperations_AnotherNodeTakesOver kills the node that carries out an operation
// and leaves it dead. Another node continues, and each job is rerun once.
func TestOperations_AnotherNodeTakesOver(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	c := startCluster(t, same(server.URL("postgres"), 2)...)
	const n = 1000
	var jobs []string
	for i := range n {
		jobs = append(jobs, fmt.Sprintf(`{"url":"https://example.com/","scheduled_at":"2031-01-01","method":"post","body":%d}`, i))
	}
	a, err := c.ask(context.Background(), http.MethodPost, "/api/jobs/batch", "["+strings.Join(jobs, ",")+"]")
	if err != nil || a.status != http.StatusCreated {
		t.Fatalf("creating the jobs: %v, %v", a, err)
	}
	first, second := c.Nodes[0], c.Nodes[1]
	read := func(node *Node, method, path, body string, status int) (o operationOf) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), pace.Guard(callWithin))
		defer cancel()
		a, err := c.call(ctx, node, method, path, body)
		if err != nil || a.status != status {
			t.Fatalf("%s %s: %v, %v", method, path, a, err)
		}
		var answer struct{ Data operationOf }
		if err := json.Unmarshal(a.body, &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Data
	}
	awaitEnd := func(o operationOf) operationOf {
		t.Helper()
		for o.State == "running" {
			before := o.Done
			if !harness.Within(60*time.Second, func() bool {
				o = read(second, http.MethodGet, "/api/operations/"+o.ID, "", http.StatusOK)
				return o.State != "running" || o.Done > before
			}) {
				t.Fatalf("the operation does not go on: %+v", o)
			}
		}
		return o
	}
	o := awaitEnd(read(second, http.MethodPost, "/api/operations", `{"action":"cancel","all":true}`, http.StatusAccepted))
	if o.Done != n || o.Matched != n {
		t.Fatalf("cancelled %+v, want all %d jobs", o, n)
	}
	// The node that accepts an operation begins it.
	o = read(first, http.MethodPost, "/api/operations", `{"action":"rerun","all":true,"set":{"scheduled_at":"2031-01-01"}}`,
		http.StatusAccepted)
	harness.Eventually(t, 90*time.Second, "some jobs to be rerun", func() bool {
		o = read(second, http.MethodGet, "/api/operations/"+o.ID, "", http.StatusOK)
		return o.Done > 0 || o.State != "running"
	})
	first.Kill()
	t.Logf("killed after %d jobs", o.Done)
	killed := time.Now()
	if o.State != "running" {
		t.Fatalf("the operation had ended: %+v", o)
	}
	o = awaitEnd(o)
	t.Logf("finished %s later", time.Since(killed).Round(time.Millisecond))
	if o.Done != n || o.Matched != n || len(o.Skipped) != 0 {
		t.Errorf("the operation ended with %+v, want all %d jobs", o, n)
	}
	first.avoid(time.Hour)
	reruns := map[string]int{}
	err = walk(c, "/api/jobs?state=available&limit=100", func(j *struct {
		Args struct{ Body json.Number }
	}) {
		reruns[j.Args.Body.String()]++
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if reruns[fmt.Sprint(i)] != 1 {
			t.Errorf("job %d was rerun %d times", i, reruns[fmt.Sprint(i)])
		}
	}
}
