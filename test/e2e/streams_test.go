package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// pushed is one server-sent event.
type pushed struct {
	kind, id string
	data     harness.JSON
}

func (e pushed) String() string {
	if e.kind == "job" {
		return fmt.Sprintf("job %s %s", e.data.Get("job_id").Raw(), e.data.Get("job.state").Str())
	}
	return fmt.Sprintf("%s %s %s", e.kind, e.data.Get("job_id").Raw(), e.data.Get("event").Str())
}

// stream is an open stream of events.
type stream struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan struct{}

	mu   sync.Mutex
	sent []pushed
}

// follow opens a stream, and waits until it is open.
func follow(t *testing.T, c *harness.Client, last string) *stream {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &stream{t: t, stop: stop, ended: make(chan struct{})}
	answer := askToFollow(ctx, t, c, last)
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("following gives %s, %v", answer.Status, answer.Header)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), ":") {
		t.Fatalf("the stream begins with %q", lines.Text())
	}
	go func() {
		defer close(s.ended)
		defer answer.Body.Close()
		var e pushed
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				e.kind = value
			case "id":
				e.id = value
			case "data":
				e.data = harness.JSON(value)
			case "":
				if e.kind != "" {
					s.mu.Lock()
					s.sent = append(s.sent, e)
					s.mu.Unlock()
				}
				e = pushed{}
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-s.ended
	})
	return s
}

func askToFollow(ctx context.Context, t *testing.T, c *harness.Client, last string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Service.URL()+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.Key)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func (s *stream) all() []pushed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]pushed(nil), s.sent...)
}

// await waits for an event.
func (s *stream) await(want string) (found pushed) {
	s.t.Helper()
	if !harness.Within(soon, func() bool {
		for _, e := range s.all() {
			if e.String() == want {
				found = e
				return true
			}
		}
		return false
	}) {
		s.t.Fatalf("%s does not come, only %s", want, s.all())
	}
	return found
}

func TestStream_ReportsWhatHappensInTheAccount(t *testing.T) {
	t.Parallel()
	a := account(t)
	create(a.Client, waiting)
	foreign := account(t)
	events, theirs := follow(t, a.Client, ""), follow(t, foreign.Client, "")
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	job := create(a.Client, `{"url":"`+target.URL+`","repeat_every":[1,"day"],"schedule_in":[1,"day"]}`)
	number := job.Get("job_id").Raw()
	created := events.await("job " + number + " available")
	wantSame(t, "the record", created.data, job.Raw())
	a.Post(jobPath(job)+"/run", nil).Want(200)
	events.await("job " + number + " executing")
	events.await("log " + number + " worker.http.request")
	release()
	events.await("job " + number + " completed")
	answered := events.await("log " + number + " worker.http.response")
	wantSame(t, "the log", answered.data, a.Get("/api/logs/"+answered.id).Want(200).Data().Raw())
	next := unfinished(a.Client, job.Get("schedule_id").Str())[0]
	events.await("job " + next.Get("job_id").Raw() + " available")
	a.Post(jobPath(next)+"/cancel", nil).Want(200)
	events.await("job " + next.Get("job_id").Raw() + " cancelled")
	// Two changes of a job that follow closely may both show what the second one made.
	seen := map[string]bool{}
	for _, e := range events.all() {
		if key := e.kind + e.data.Raw(); seen[key] && e.kind == "log" {
			t.Errorf("%s comes twice", e)
		} else {
			seen[key] = true
		}
	}
	if got := theirs.all(); len(got) != 0 {
		t.Errorf("another account is pushed %s", got)
	}
}

func TestStream_ResumesAfterTheLastLogSeen(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	before := follow(t, a.Client, "")
	for range 3 {
		number := create(a.Client, `{"url":"`+target.URL+`"}`).Get("job_id").Raw()
		before.await("job " + number + " completed") // what was pushed is not pushed to a later stream
		before.await("log " + number + " worker.http.response")
	}
	logs := a.Get("/api/logs?limit=100").Want(200).Data().Items() // the newest first
	events := follow(t, a.Client, logs[2].Get("id").Str())
	harness.Eventually(t, soon, "what was missed", func() bool { return len(events.all()) >= 2 })
	for i, want := range []harness.JSON{logs[1], logs[0]} {
		wantSame(t, "a missed log", events.all()[i].data, want.Raw())
	}
	last := create(a.Client, waiting)
	events.await("job " + last.Get("job_id").Raw() + " available")
	if got := events.all(); len(got) != 3 {
		t.Errorf("the stream has %s", got)
	}
	nothing := follow(t, a.Client, "no id of ours")
	a.Post(jobPath(last)+"/cancel", nil).Want(200)
	nothing.await("job " + last.Get("job_id").Raw() + " cancelled")
	if got := nothing.all(); len(got) != 1 {
		t.Errorf("the stream has %s", got)
	}
}

func TestStream_NeedsAKeyAndIsLimited(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Service.Client(t, "").Get("/api/events").WantProblem(401)
	var streams []*stream
	for range 20 {
		streams = append(streams, follow(t, a.Client, ""))
	}
	refused := a.Get("/api/events").WantProblem(429)
	if refused.Header.Get("Retry-After") == "" {
		t.Errorf("without Retry-After: %s", refused)
	}
	streams[7].stop()
	harness.Eventually(t, soon, "a place", func() bool {
		answer := askToFollow(t.Context(), t, a.Client, "")
		defer answer.Body.Close()
		return answer.StatusCode == 200
	})
}

func TestStream_EndsWhenItsKeyIsRevoked(t *testing.T) {
	t.Parallel()
	a := account(t)
	events := follow(t, a.Client, "")
	a.Service.Command(t, "keys", "revoke", a.KeyID)
	select {
	case <-events.ended:
	case <-time.After(pace.Guard(30 * time.Second)):
		t.Error("the stream goes on")
	}
}

func TestStream_EndsAtOnceWhenTheServiceStops(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	events := follow(t, s.Account(t).Client, "")
	began := time.Now()
	if status := s.Stop(); status != 0 {
		t.Errorf("the service ended with status %d", status)
	}
	<-events.ended
	if took := time.Since(began); took > harness.Allowed(5*time.Second, began) {
		t.Errorf("the stop took %s", took)
	}
}

// TestStream_SendsALargeJobComplete tests jobs so large that they are read only
// when they are written.
func TestStream_SendsALargeJobComplete(t *testing.T) {
	t.Parallel()
	a := account(t)
	events := follow(t, a.Client, "")
	for _, number := range heap(a.Client, 3) {
		if e := events.await("job " + number + " available"); len(e.data.Get("args.body").Raw()) < 1_000_000 {
			t.Errorf("of job %s only %d bytes are pushed", number, len(e.data))
		}
	}
}
