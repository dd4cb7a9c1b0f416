package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// Kind is what a job of the mix has beside a request. The target knows it by the
// path.
type Kind string

// The kinds. Plain jobs are the rest.
const (
	Plain    Kind = ""
	Rated    Kind = "rated"    // under a limit on starts
	Slotted  Kind = "slotted"  // under a limit on attempts under way
	Both     Kind = "both"     // under both
	Reported Kind = "reported" // the target responds with 202 and reports a result; under Slotted's limit
	Refused  Kind = "refused"  // it reports a failure that is not retried
	Again    Kind = "again"    // it reports a failure, and of the retry a result
	Silent   Kind = "silent"   // it never reports
	Expiring Kind = "expiring" // must start within ExpiresIn
	Held     Kind = "held"     // likewise, under a limit that is paused
	Failing  Kind = "failing"  // the target responds with 500; an alert watches
	Passing  Kind = "passing"  // the target responds with 200; the same alert watches
)

// limited are the kinds that wait for limits.
var limited = []Kind{Rated, Slotted, Both, Reported, Held}

// awaited reports whether attempts of the kind are completed by reports.
func (k Kind) awaited() bool { return k == Reported || k == Refused || k == Again || k == Silent }

// Terms are the limits and times of the mix.
type Terms struct {
	Calls    int // starts of rated jobs in each Per
	Per      time.Duration
	Parallel int // of slotted jobs

	Within    time.Duration // of silent jobs
	ExpiresIn map[Kind]time.Duration
}

// termsOf returns terms that let the shares of the mix pass at a rate of jobs.
func termsOf(rate int) Terms {
	return Terms{
		Calls: max(2, rate/3), Per: 5 * time.Second, Parallel: 2 + rate/40, Within: 3 * time.Second,
		ExpiresIn: map[Kind]time.Duration{Expiring: 8 * time.Second, Held: time.Second},
	}
}

// mix draws the kinds of a load's jobs and plays their targets.
type mix struct {
	*Load
	receiver *harness.Route // of alerts

	reports sync.WaitGroup
}

// shares are how many of 100 jobs have each kind.
var shares = []struct {
	kind  Kind
	share int
}{{Rated, 6}, {Slotted, 4}, {Both, 2}, {Reported, 5}, {Refused, 2}, {Again, 1}, {Silent, 1}, {Expiring, 3}, {Held, 1}}

func drawKind() Kind {
	n := rand.IntN(100)
	for _, s := range shares {
		if n -= s.share; n < 0 {
			return s.kind
		}
	}
	return Plain
}

// watchers is how many alerts there are. Each may send 20 messages a minute before
// they are merged, so it gets one every pulse at most.
const (
	watchers = 4
	pulse    = 3500 * time.Millisecond
)

// define stores the limits and the alerts. The node that an alert was put through
// records outcomes for it from then on; others within a second, so it is put through
// all.
func (m *mix) define() error {
	t := m.Terms
	for path, body := range map[string]string{
		"/api/limits/rate":  fmt.Sprintf(`{"rate":{"calls":%d,"per":%g}}`, t.Calls, t.Per.Seconds()),
		"/api/limits/slots": fmt.Sprintf(`{"parallel":%d}`, t.Parallel),
		"/api/limits/held":  `{"paused":true}`,
	} {
		if err := m.put(m.Nodes[0], path, body); err != nil {
			return err
		}
	}
	for i := range watchers {
		body := fmt.Sprintf(`{"on":["failed","recovered"],"match":{"tags":["watched-%d"]},"to":[{"webhook":%q}]}`, i, m.receiver.URL)
		for _, n := range m.Nodes {
			if err := m.put(n, fmt.Sprintf("/api/alerts/watch-%d", i), body); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *mix) put(n *Node, path, body string) error {
	a, err := m.call(context.Background(), n, http.MethodPut, path, body)
	if err == nil && a.status != http.StatusCreated && a.status != http.StatusOK {
		err = fmt.Errorf("PUT %s: status %d: %s", path, a.status, a.body)
	}
	return err
}

// members returns what a create of a kind has beside the url, the key and the time.
func (m *mix) members(kind Kind) string {
	expires := m.Terms.ExpiresIn[kind].Seconds()
	switch kind {
	case Rated:
		return `,"limits":["rate"]`
	case Slotted:
		return `,"limits":["slots"]`
	case Both:
		return `,"limits":["slots","rate"]`
	case Reported:
		return `,"limits":["slots"],"completion":{"within":[5,"minutes"]}`
	case Refused, Again:
		return `,"backoff":[1],"completion":{"within":[5,"minutes"],"heartbeat":[4,"minutes"]}`
	case Silent:
		return fmt.Sprintf(`,"retries":0,"completion":{"within":%g}`, m.Terms.Within.Seconds())
	case Expiring:
		return fmt.Sprintf(`,"expires_in":%g`, expires)
	case Held:
		return fmt.Sprintf(`,"limits":["held"],"expires_in":%g`, expires)
	}
	return ""
}

// ServeHTTP is the target of the jobs that are not plain.
func (m *mix) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	kind := Kind(req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:])
	status := http.StatusOK
	switch {
	case kind == Failing:
		status = http.StatusInternalServerError
	case kind.awaited():
		status = http.StatusAccepted
		if body := outcomeOf(kind, req.Header.Get("X-Punctual-Attempt")); body != "" {
			m.reports.Go(func() { m.report(req.Header, body) })
		}
	}
	wait := time.Duration(rand.Int64N(int64(100 * time.Millisecond)))
	harness.Delay(wait, harness.Status(status)).ServeHTTP(w, req)
}

// outcomeOf returns what the target of a kind reports; "" for nothing.
func outcomeOf(kind Kind, attempt string) string {
	switch {
	case kind == Refused:
		return `{"error":"no","retry":false}`
	case kind == Again && attempt == "1":
		return `{"error":"not yet"}`
	case kind == Silent:
		return ""
	}
	return `{"result":{"by":"the target"}}`
}

// report reports the outcome of an attempt, sometimes before the response has left,
// until a node takes or refuses it.
func (m *mix) report(header http.Header, body string) {
	pause(time.Duration(rand.Int64N(int64(600 * time.Millisecond))))
	number, _ := strconv.ParseInt(header.Get("X-Punctual-Job-Id"), 10, 64) // 0 is no job
	path, found := strings.CutPrefix(header.Get("X-Punctual-Complete"), publicURL)
	if !found {
		m.t.Errorf("a request of job %d says nothing of its completion: %q", number, header)
		return
	}
	asked := time.Now()
	a, err := m.ask(context.Background(), http.MethodPost, path, body)
	if err != nil {
		m.t.Errorf("reporting for job %d: %v", number, err)
		return
	}
	m.note(func() {
		m.Outcomes[number] = append(m.Outcomes[number], Outcome{Path: path, Body: body, Asked: asked, Acked: time.Now(), Status: a.status})
	})
}

// pulses makes an alert change, again and again, until ctx ends.
func (m *mix) pulses(ctx context.Context, watcher int) {
	for i := 0; ctx.Err() == nil; i++ {
		kind := []Kind{Failing, Passing}[i%2]
		next := time.After(pulse)
		// A node that is stopped may find a create long after the client has turned to
		// another one, and the job has ended: the key must be held until then.
		members := fmt.Sprintf(`"retries":0,"tags":["watched-%d"],"throttle":[10,"minutes"]`, watcher)
		job, err := m.create(context.Background(), kind, members)
		if err == nil {
			m.note(func() { m.Changes[*job.Key] = Change{Alert: fmt.Sprintf("watch-%d", watcher), Kind: kind} })
			err = m.awaitFinal(job.Number)
		}
		if err != nil {
			m.t.Errorf("the alerts: %v", err)
			return
		}
		m.awaitMessage(ctx, job.Number)
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
}

func (m *mix) awaitFinal(number int64) error {
	var err error
	var now struct{ Data Job }
	if harness.Within(calmWithin, func() bool {
		pause(100 * time.Millisecond)
		if _, err = m.get(fmt.Sprintf("/api/jobs/%d", number), &now); err != nil {
			return false
		}
		_, final := now.Data.final()
		return final
	}) {
		return nil
	}
	return fmt.Errorf("job %d is not final within %s: %v %+v", number, calmWithin, err, now.Data)
}

// settle waits until all reports and messages have come, after all jobs are final.
func (m *mix) settle() error {
	m.reports.Wait()
	got := map[string]bool{}
	if harness.Within(calmWithin, func() bool {
		for _, hit := range m.receiver.Hits() {
			got[hit.Header.Get("Webhook-Id")] = !hit.End.IsZero() || got[hit.Header.Get("Webhook-Id")]
		}
		return len(got) >= len(m.Changes)
	}) && m.receiver.Quiet(2*time.Second) {
		return nil
	}
	return fmt.Errorf("%d messages of alerts came within %s, want %d", len(got), calmWithin, len(m.Changes))
}

// alertMessage is the body of a message of an alert.
type alertMessage struct {
	Type string
	Data struct {
		Alert string
		Job   int64
	}
}

// awaitMessage waits until the receiver has answered a message of a job's outcome: a
// failure that a success overtakes before it is sent is not reported. A message that
// does not come is a matter for the checker.
func (m *mix) awaitMessage(ctx context.Context, number int64) {
	harness.Within(calmWithin, func() bool {
		pause(100 * time.Millisecond)
		return ctx.Err() != nil || slices.ContainsFunc(m.receiver.Hits(), func(hit harness.Hit) bool {
			var body alertMessage
			return !hit.End.IsZero() && json.Unmarshal(hit.Body, &body) == nil && body.Data.Job == number
		})
	})
}

// collect reads the messages of the alerts into the history.
func (m *mix) collect() error {
	for _, hit := range m.receiver.Hits() {
		var body alertMessage
		if err := json.Unmarshal(hit.Body, &body); err != nil {
			if hit.BodyErr != nil {
				continue // a kill cut it off; it is sent again
			}
			return fmt.Errorf("a message of an alert: %w: %s", err, hit.Body)
		}
		m.Messages = append(m.Messages, Message{
			ID: hit.Header.Get("Webhook-Id"), Type: strings.TrimPrefix(body.Type, "alert."), Alert: body.Data.Alert, Job: body.Data.Job,
			Hit: Hit{At: hit.At, End: hit.End, Aborted: hit.Aborted, Sent: sentAt(hit)},
		})
	}
	return nil
}
