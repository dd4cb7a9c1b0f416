package nodes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// told returns the types of the messages of an alert, each once, in order.
func told(hits []harness.Hit) string {
	var types []string
	seen := map[string]bool{}
	for _, h := range hits {
		if id := h.Header.Get("Webhook-Id"); !seen[id] {
			seen[id] = true
			types = append(types, strings.TrimPrefix(h.JSON().Get("type").Str(), "alert."))
		}
	}
	return strings.Join(types, " ")
}

// TestAlerts_EachChangeIsSentOnceByAnyNode ends jobs on two nodes, one of which is
// killed again and again.
func TestAlerts_EachChangeIsSentOnceByAnyNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t, same(pgtest.URL(t), 2)...)
	c.steady(t)
	receiver := harness.NewTarget(t).Route(t)
	client := c.Nodes[0].Client(t, c.Key)
	definition := `{"on":["failed","recovered"],"to":[{"webhook":"` + receiver.URL + `"}]}`
	client.Do(http.MethodPut, "/api/alerts/a", definition).Want(201)
	c.Nodes[1].Client(t, c.Key).Do(http.MethodPut, "/api/alerts/a", definition).Want(200) // so that it knows, too
	var want []string
	for i := range 8 {
		status, change := 500, "failed"
		if i%2 == 1 {
			status, change = 200, "recovered"
		}
		want = append(want, change)
		c.Target.Respond(harness.Status(status))
		for range 5 {
			c.create(t, c.Nodes[i%2], `"retries":0`)
		}
		if i%3 == 2 {
			pause(time.Duration(i) * 7 * time.Millisecond)
			c.Nodes[1].Kill()
		}
		harness.Eventually(t, 40*time.Second, fmt.Sprint("a message for change ", i),
			func() bool { return told(receiver.Hits()) == strings.Join(want, " ") })
		harness.Eventually(t, 40*time.Second, "all jobs are final", func() bool {
			return len(client.Get("/api/jobs?state=scheduled").Want(200).Data().Items()) == 0 &&
				len(client.Get("/api/jobs?state=executing").Want(200).Data().Items()) == 0
		})
		if i%3 == 2 {
			c.Nodes[1].Restart(t)
			c.Nodes[1].awaitReady(t, c, 20*time.Second)
		}
	}
	if got := told(receiver.Hits()); got != strings.Join(want, " ") {
		t.Errorf("the receiver got %s, want %s", got, strings.Join(want, " "))
	}
}
