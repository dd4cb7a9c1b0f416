package nodes

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// developer is a program that a listener forwards to. It counts the requests of
// each job.
type developer struct {
	*httptest.Server
	mu   sync.Mutex
	got  map[string]int // by job
	hold map[string]chan struct{}
}

func newDeveloper(t *testing.T) *developer {
	d := &developer{got: map[string]int{}, hold: map[string]chan struct{}{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.got[r.Header.Get("X-Punctual-Job-Id")]++
		hold := d.hold[r.URL.Path]
		d.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		_, _ = fmt.Fprint(w, `{"from":"the developer"}`)
	}))
	t.Cleanup(d.Close)
	t.Cleanup(d.CloseClientConnections)
	return d
}

func (d *developer) total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, of := range d.got {
		n += of
	}
	return n
}

// holds makes requests to a path wait until the function returned is called.
func (d *developer) holds(path string) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hold := make(chan struct{})
	d.hold[path] = hold
	return sync.OnceFunc(func() { close(hold) })
}

// attemptsOf returns how many attempts of jobs a node has made, by outcome.
func (c *Cluster) attemptsOf(t *testing.T, n *Node, outcome string) int {
	t.Helper()
	a, err := c.call(context.Background(), n, http.MethodGet, "/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(a.body)) {
		var count int
		if _, err := fmt.Sscanf(line, `punctual_attempts_total{kind="job",outcome="`+outcome+`"} %d`, &count); err == nil {
			return count
		}
	}
	return 0
}

// createAt creates a job, whose body is an object with a field.
func (c *Cluster) createAt(t *testing.T, n *Node, body string) int64 {
	t.Helper()
	body = `{"request_id":"` + uuid.NewString() + `",` + strings.TrimPrefix(body, "{")
	a, unknown, err := c.insist(context.Background(), n, http.MethodPost, "/api/jobs", body)
	if err != nil || a.status != http.StatusCreated && (a.status != http.StatusOK || unknown == 0) {
		t.Fatalf("creating a job: %v %+v", err, a)
	}
	var number int64
	if _, err := fmt.Sscan(harness.JSON(a.body).Get("data.job_id").Raw(), &number); err != nil {
		t.Fatal(err)
	}
	return number
}

func (c *Cluster) awaitState(t *testing.T, n *Node, number int64, state string, within time.Duration) {
	t.Helper()
	harness.Eventually(t, within, fmt.Sprintf("job %d to be %s", number, state), func() bool {
		a, err := c.call(context.Background(), n, http.MethodGet, fmt.Sprintf("/api/jobs/%d", number), "")
		return err == nil && a.status == http.StatusOK && harness.JSON(a.body).Get("data.job.state").Str() == state
	})
}

// TestListen_AnswersAttemptsOfEveryNode has a listener at one node answer attempts of
// both, for a name and for a tag: each once, from the moment it is ready.
func TestListen_AnswersAttemptsOfEveryNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t, same(pgtest.URL(t), 2)...)
	c.steady(t)
	d := newDeveloper(t)
	harness.Listen(t, c.Nodes[0].URL(), c.Key, "--forward-to", d.URL, "--name", "ann", "--tag", "ann").AwaitReady(t, 1)
	const jobs = 30
	var numbers []int64
	for i := range jobs {
		body := `{"retries":0,"url":"https://listen.invalid/ann/x","callback_url":"https://listen.invalid/ann/callback"}`
		if i%2 == 1 {
			body = `{"retries":0,"url":"` + c.Target.URL + `","tags":["ann"]}`
		}
		numbers = append(numbers, c.createAt(t, c.Nodes[i/2%2], body))
	}
	for _, number := range numbers {
		c.awaitState(t, c.Nodes[1], number, "completed", 30*time.Second)
	}
	for i, n := range c.Nodes {
		if made := c.attemptsOf(t, n, "success"); made == 0 {
			t.Errorf("node %d has made no attempt", i+1)
		}
	}
	harness.Eventually(t, 20*time.Second, "all callbacks", func() bool { return d.total() >= jobs+jobs/2 })
	for number, n := range d.got {
		if number != "" && n != 1 {
			t.Errorf("job %s was answered %d times", number, n)
		}
	}
	if n := len(c.Target.Hits()); n != 0 {
		t.Errorf("the target of jobs with the tag got %d requests", n)
	}
}

// TestListen_OutlivesItsNode kills the node of a listener while requests are under
// way. The listener connects to the other node, and the attempts are made again.
func TestListen_OutlivesItsNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t, same(pgtest.URL(t), 2)...)
	c.steady(t)
	d := newDeveloper(t)
	address := harness.Forward(t, c.Nodes[0].URL())
	l := harness.Listen(t, address.URL, c.Key, "--forward-to", d.URL, "--name", "ann")
	l.AwaitReady(t, 1)
	release := d.holds("/held")
	defer release()
	const jobs = 6
	var numbers []int64
	for i := range jobs {
		numbers = append(numbers, c.createAt(t, c.Nodes[i%2], `{"url":"https://listen.invalid/ann/held","retries":20,"backoff":[1]}`))
	}
	harness.Eventually(t, 20*time.Second, "the requests to be under way", func() bool { return d.total() >= jobs })
	address.To(c.Nodes[1].URL())
	c.Nodes[0].Kill()
	l.AwaitReady(t, 2)
	release()
	for _, number := range numbers {
		c.awaitState(t, c.Nodes[1], number, "completed", 60*time.Second)
	}
	if !strings.Contains(l.Notes(), "connecting again") {
		t.Errorf("the listener says:\n%s", l.Notes())
	}
}

// TestListen_EncryptsWhatIsPassedBetweenNodes holds requests with a secret, which wait
// for a listener of the other node: the database has no value of the secret.
func TestListen_EncryptsWhatIsPassedBetweenNodes(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t-of-ann"
	database := pgtest.URL(t)
	c := startClusterWith(t, []harness.Option{harness.SecretsKey(t)}, same(database, 2)...)
	c.steady(t)
	d := newDeveloper(t)
	release := d.holds("/held")
	defer release()
	harness.Listen(t, c.Nodes[0].URL(), c.Key, "--forward-to", d.URL, "--name", "ann").AwaitReady(t, 1)
	a, err := c.call(t.Context(), c.Nodes[0], http.MethodPut, "/api/secrets/ann", `{"value":"`+value+`","hosts":["listen.invalid"]}`)
	if err != nil || a.status != http.StatusCreated {
		t.Fatalf("storing a secret: %v %+v", err, a)
	}
	var numbers []int64
	for range 8 {
		body := `{"retries":0,"url":"https://listen.invalid/ann/held","headers":{"Authorization":"Bearer {{secret.ann}}"}}`
		numbers = append(numbers, c.createAt(t, c.Nodes[1], body))
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var requests [][]byte
	harness.Eventually(t, 20*time.Second, "requests for the other node's listener", func() bool {
		rows, err := conn.Query(t.Context(), `SELECT request FROM listener_requests`)
		if err != nil {
			t.Fatal(err)
		}
		requests, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
		return err == nil && len(requests) > 0
	})
	for _, request := range requests {
		if bytes.Contains(request, []byte(value)) || bytes.Contains(request, []byte("Bearer")) {
			t.Errorf("the database has %q", request)
		}
	}
	release()
	for _, number := range numbers {
		c.awaitState(t, c.Nodes[1], number, "completed", 30*time.Second)
	}
}
