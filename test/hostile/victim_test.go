package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

const (
	// rate is how many jobs the victim creates a second, ahead how long before
	// they are due.
	rate  = 20
	ahead = 400 * time.Millisecond
	// settle is how long after its due time a job counts as lost.
	settle = 20 * time.Second
)

// victim is an account that uses the service as it is meant to be used.
type victim struct {
	arena  *arena
	key    string
	client *http.Client

	mu       sync.Mutex
	jobs     map[string]*victimJob
	refusals []string
}

type victimJob struct {
	due      time.Time
	accepted bool
	sent     []time.Time
}

// ServeHTTP is the victim's target.
func (v *victim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	v.mu.Lock()
	if j := v.jobs[strings.TrimPrefix(r.URL.Path, "/")]; j != nil {
		j.sent = append(j.sent, at)
	}
	v.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

// run creates jobs until the context ends, and waits for its calls.
func (v *victim) run(ctx context.Context, target string) {
	var calls sync.WaitGroup
	defer calls.Wait()
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		id := fmt.Sprint("victim-", n)
		j := &victimJob{due: time.Now().Add(ahead).Truncate(time.Microsecond)}
		v.mu.Lock()
		v.jobs[id] = j
		v.mu.Unlock()
		calls.Go(func() { v.create(ctx, id, target, j) })
	}
}

// create makes a job, and tries again when the service says so: what a client
// waits for counts as lateness.
func (v *victim) create(ctx context.Context, id, target string, j *victimJob) {
	body, err := json.Marshal(map[string]any{
		"url": target + "/" + id, "scheduled_at": j.due.UTC().Format("2006-01-02T15:04:05.000000Z"),
		"idempotency_key": id, "retries": 0,
	})
	if err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		status, text := v.arena.send(v.client, http.MethodPost, "/api/jobs", v.key, body)
		switch {
		case status == http.StatusCreated || status == http.StatusOK:
			v.mu.Lock()
			j.accepted = true
			v.mu.Unlock()
			return
		default:
			v.mu.Lock()
			v.refusals = append(v.refusals, fmt.Sprint(status, " ", text))
			v.mu.Unlock()
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// report is what the victim met in a stretch of time.
type report struct {
	jobs     int
	p99      time.Duration
	worst    time.Duration
	refusals []string
}

// between reports on the jobs that were due from one time to another. It waits
// for those that are under way.
func (v *victim) between(from, to time.Time) report {
	for deadline := time.Now().Add(pace.Guard(settle)); time.Now().Before(deadline) && v.missing(from, to) > 0; {
		time.Sleep(10 * time.Millisecond)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var late []time.Duration
	for _, j := range v.jobs {
		if j.due.Before(from) || !j.due.Before(to) {
			continue
		}
		lateness := time.Since(j.due)
		if len(j.sent) > 0 {
			lateness = j.sent[0].Sub(j.due)
		}
		late = append(late, lateness)
	}
	r := report{jobs: len(late), refusals: v.refusals}
	v.refusals = nil
	if len(late) > 0 {
		slices.Sort(late)
		r.p99, r.worst = late[(len(late)-1)*99/100], late[len(late)-1]
	}
	return r
}

func (v *victim) missing(from, to time.Time) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.jobs {
		if !j.due.Before(from) && j.due.Before(to) && len(j.sent) == 0 {
			n++
		}
	}
	return n
}

// wrong describes accepted jobs that were not sent exactly once, and jobs sent
// early.
func (v *victim) wrong() (found []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, j := range v.jobs {
		switch {
		case j.accepted && len(j.sent) != 1:
			found = append(found, fmt.Sprintf("%s was sent %d times", id, len(j.sent)))
		case len(j.sent) > 0 && j.sent[0].Before(j.due):
			found = append(found, fmt.Sprintf("%s was sent %s early", id, j.due.Sub(j.sent[0])))
		}
	}
	return found
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
