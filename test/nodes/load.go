package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// Load is a steady stream of jobs, of which some are cancelled again, beside
// some schedules.
type Load struct {
	*Cluster
	*History
	Rate      int // jobs a second, fewer while the cluster can't keep up
	Schedules int

	mix     *mix     // nil for plain jobs only
	ids     []string // of the schedules
	work    sync.WaitGroup
	callers chan struct{} // bounds the creates under way
	asked   atomic.Int64  // creates begun
	settled atomic.Int64  // of these, the requests that came and the jobs cancelled
}

// maxCallers and maxBehind bound the load on a machine that is slower than the
// rate: creates under way at once, and seconds of the rate that the target is
// behind. More would only queue up, until nothing is in time.
const (
	maxCallers = 64
	maxBehind  = 6
)

// dawdle has the target respond after up to 60 ms, so that something is under
// way at every fault.
func (l *Load) dawdle() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if kind, ofMix := strings.CutPrefix(req.URL.Path, l.Target.Path+"/"); ofMix && Kind(kind) != runs {
			l.mix.ServeHTTP(w, req)
			return
		} else if !ofMix {
			l.settled.Add(1)
		}
		wait := time.Duration(rand.Int64N(int64(60 * time.Millisecond)))
		harness.Delay(wait, harness.Status(http.StatusOK)).ServeHTTP(w, req)
	})
}

// prepare creates the schedules, before the first fault.
func (l *Load) prepare() error {
	l.Target.Respond(l.dawdle())
	if l.mix != nil {
		if err := l.mix.define(); err != nil {
			return err
		}
	}
	for i := range l.Schedules {
		every := 2 + i%4
		job, err := l.create(context.Background(), runs, fmt.Sprintf(`"schedule_in":%.2f,"repeat_every":%d`, 1+float64(i)/4, every))
		if err != nil {
			return err
		}
		l.ids = append(l.ids, *job.Schedule)
		l.History.Schedules[*job.Schedule] = &Schedule{First: job.Job.Scheduled, Every: time.Duration(every) * time.Second}
	}
	return nil
}

// runs is the kind of the runs of schedules.
const runs Kind = "runs"

// create stores a job of a kind and notes what was acknowledged.
func (l *Load) create(ctx context.Context, kind Kind, members string) (*Job, error) {
	key, url := uuid.NewString(), l.Target.URL
	if kind != Plain {
		url += "/" + string(kind)
	}
	l.note(func() { l.Keys[key], l.Kinds[key] = true, kind })
	a, err := l.ask(ctx, http.MethodPost, "/api/jobs", fmt.Sprintf(`{"url":%q,"idempotency_key":%q,%s}`, url, key, members))
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return nil, fmt.Errorf("creating a job: status %d: %s", a.status, a.body)
	}
	var made struct{ Data Job }
	if err := json.Unmarshal(a.body, &made); err != nil {
		return nil, err
	}
	l.note(func() { l.Created[made.Data.Number] = Created{key, time.Now()} })
	return &made.Data, nil
}

// cancel cancels a job and notes whether that was acknowledged.
func (l *Load) cancel(ctx context.Context, number int64) error {
	l.note(func() { l.Cancels[number] = true })
	a, err := l.ask(ctx, http.MethodPost, fmt.Sprintf("/api/jobs/%d/cancel", number), "")
	if err != nil {
		return err
	}
	var now struct{ Data Job }
	if err := json.Unmarshal(a.body, &now); err != nil || a.status != http.StatusOK {
		return fmt.Errorf("cancelling job %d: status %d: %s", number, a.status, a.body)
	}
	if now.Data.Job.State == "cancelled" {
		l.settled.Add(1)
		l.note(func() { l.Cancelled[number] = time.Now() })
	}
	return nil
}

// run keeps up the load until ctx ends, and returns when every create has been
// answered.
func (l *Load) run(ctx context.Context) {
	l.work.Go(func() { l.look(ctx) })
	for i := range watchers {
		if l.mix != nil {
			l.work.Go(func() { l.mix.pulses(ctx, i) })
		}
	}
	l.callers = make(chan struct{}, maxCallers)
	const pace = 20 * time.Millisecond
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	owed, last := 0.0, time.Now()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case now := <-ticker.C:
			owed += float64(l.Rate) * now.Sub(last).Seconds()
			for last = now; owed >= 1 && l.begin(); owed-- {
			}
			owed = min(owed, 1) // what could not be asked for is left out
		}
	}
	l.work.Wait()
}

// begin begins a create, if the bounds permit one.
func (l *Load) begin() bool {
	if l.asked.Load()-l.settled.Load() > int64(maxBehind*l.Rate) {
		return false
	}
	select {
	case l.callers <- struct{}{}:
	default:
		return false
	}
	kind, members := Plain, ""
	if l.mix != nil {
		kind = drawKind()
		members = l.mix.members(kind)
	}
	if kind == Plain {
		l.asked.Add(1)
	}
	l.work.Go(func() {
		defer func() { <-l.callers }()
		l.one(kind, members)
	})
	return true
}

// one creates a job due within three seconds, and cancels one in twenty plain ones.
func (l *Load) one(kind Kind, members string) {
	job, err := l.create(context.Background(), kind, fmt.Sprintf(`"schedule_in":%.4f%s`, 3*rand.Float64(), members))
	if err == nil && kind == Plain && rand.IntN(20) == 0 {
		pause(time.Duration(rand.Int64N(int64(2 * time.Second))))
		err = l.cancel(context.Background(), job.Number)
	}
	if err != nil {
		l.Cluster.t.Errorf("the load: %v", err)
	}
}

// look samples how many unfinished jobs schedules have.
func (l *Load) look(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		<-ticker.C
		if len(l.ids) == 0 {
			continue
		}
		id := l.ids[i%len(l.ids)]
		l.lookAt(ctx, id)
	}
}

func (l *Load) lookAt(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	n := l.pick()
	a, err := l.call(ctx, n, http.MethodGet, "/api/jobs?limit=10&schedule_id="+id, "")
	if err != nil || a.status != http.StatusOK {
		n.avoid(avoidFor)
		return
	}
	l.judgeLook(id, a)
}

func (l *Load) judgeLook(id string, a *answer) {
	var page struct{ Data []Job }
	if err := json.Unmarshal(a.body, &page); err != nil {
		l.Cluster.t.Errorf("reading a schedule's jobs: %v", err)
		return
	}
	unfinished := 0
	for i := range page.Data {
		if _, final := page.Data[i].final(); !final {
			unfinished++
		}
	}
	l.note(func() {
		l.Looks++
		if unfinished != 1 {
			l.Several = append(l.Several, fmt.Sprintf("schedule %s had %d unfinished jobs: %s", id, unfinished, a.body))
		}
	})
}

// settle disables the schedules and waits until nothing is unfinished.
func (l *Load) settle() error {
	for _, id := range l.ids {
		l.History.Schedules[id].Disabled = time.Now()
		a, err := l.ask(context.Background(), http.MethodPost, "/api/schedules/"+id+"/disable", "")
		if err != nil || a.status != http.StatusOK {
			return fmt.Errorf("disabling a schedule: %v %v", a, err)
		}
	}
	var err error
	var left struct{ Data []Job }
	if harness.Within(calmWithin, func() bool {
		for _, state := range []string{"scheduled", "executing"} {
			left.Data = nil
			if _, err = l.get("/api/jobs?limit=3&state="+state, &left); err != nil || len(left.Data) > 0 {
				pause(200 * time.Millisecond)
				return false
			}
		}
		return true
	}) {
		if l.mix != nil {
			return l.mix.settle()
		}
		return nil
	}
	return fmt.Errorf("not everything is final within %s: %v %+v", calmWithin, err, left.Data)
}

// calmWithin is how long after the last fault everything may take to be final.
const calmWithin = 90 * time.Second
