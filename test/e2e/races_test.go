package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// often is how many times each outcome of a race is to be seen. Among the outcomes is
// the one in which the calls meet, so that each race has met this often when it ends;
// five times where the suite runs for the second time, on PostgreSQL.
func often() int {
	if testing.Short() {
		return 5
	}
	return 20
}

// outcomes counts how rounds of a race ended. Of nil, none is counted.
type outcomes struct {
	mu   sync.Mutex
	want []string
	seen map[string]int
}

func outcomesOf(want ...string) *outcomes { return &outcomes{want: want, seen: map[string]int{}} }

// saw counts an outcome.
func (o *outcomes) saw(outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[outcome]++
}

// enough reports whether each outcome was seen often. It never is in a long run.
func (o *outcomes) enough() bool {
	if o == nil || full() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !slices.ContainsFunc(o.want, func(outcome string) bool { return o.seen[outcome] < often() })
}

// race runs a round many times, with several workers side by side, each with
// random numbers of its own: until all outcomes were seen often, but at most so many
// rounds, the number of which it returns.
func race(t *testing.T, most int, o *outcomes, round func(r *rand.Rand, n int) error) (rounds int) {
	t.Helper()
	const workers = 12
	seed := seeded(t)
	var ran atomic.Int64
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := worker; n < most && !o.enough(); n += workers {
				ran.Add(1)
				if err := round(r, n); err != nil {
					t.Errorf("round %d: %v", n, err)
					return
				}
			}
		})
	}
	group.Wait()
	if o != nil {
		t.Logf("%d rounds: %v", ran.Load(), o.seen)
	}
	return int(ran.Load())
}

// rounds returns how many rounds of a race run whose outcomes aren't counted: a quarter
// of all, or all in a long run, or a tenth on PostgreSQL.
func rounds(all int) int {
	if full() {
		return all
	}
	if testing.Short() {
		return all / 10
	}
	return all / 4
}

// sawJob counts the outcome that a job has now, from a goroutine.
func (o *outcomes) sawJob(c *harness.Client, job harness.JSON) error {
	now, err := try(c, http.MethodGet, jobPath(job))
	if err == nil {
		o.saw(storyOf(now.Get("job")))
	}
	return err
}

// tryCreate stores a job from a goroutine.
func tryCreate(c *harness.Client, body string) (harness.JSON, error) {
	answer, err := c.Try(http.MethodPost, "/api/jobs", body)
	if err == nil && answer.Status != 201 {
		err = fmt.Errorf("creating: %s", answer)
	}
	if err != nil {
		return nil, err
	}
	return answer.Data(), nil
}

// try makes a call that must succeed, from a goroutine.
func try(c *harness.Client, method, path string) (harness.JSON, error) {
	answer, err := c.Try(method, path, nil)
	if err == nil && answer.Status/100 != 2 {
		err = fmt.Errorf("%s %s: %s", method, path, answer)
	}
	if err != nil {
		return nil, err
	}
	return answer.Data(), nil
}

// aside waits a random time of at most d, so that two calls meet differently
// each time.
func aside(r *rand.Rand, d time.Duration) {
	timer := time.NewTimer(time.Duration(r.Int64N(int64(d))))
	<-timer.C
}

func TestRace_CancelAndStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	var mu sync.Mutex
	answered := map[int64]string{}
	o := outcomesOf("cancelled", "cancelled after an attempt", "completed after an attempt")
	race(t, 2000, o, func(r *rand.Rand, n int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s"}`, r.Float64()*0.02, target.URL))
		if err != nil {
			return err
		}
		aside(r, 25*time.Millisecond)
		got, err := try(a.Client, http.MethodPost, jobPath(job)+"/cancel")
		if err != nil {
			return err
		}
		o.saw(storyOf(got.Get("job")))
		mu.Lock()
		defer mu.Unlock()
		answered[job.Get("job_id").Int()] = got.Raw()
		return nil
	})
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	for id, record := range answered {
		if got := l.jobs[id].Raw(); got != record {
			t.Errorf("cancel answered\n%s and the job became\n%s", record, got)
		}
	}
}

// wantUnfinished fails the test unless every schedule that ever had a job has
// this many unfinished ones.
func wantUnfinished(t *testing.T, l *ledger, want int) {
	t.Helper()
	left := map[string]int{}
	for _, job := range l.jobs {
		n := 0
		if job.Get("job.state").Str() == "available" {
			n = 1
		}
		left[job.Get("schedule_id").Str()] += n
	}
	for schedule, n := range left {
		if n != want {
			t.Errorf("schedule %s has %d unfinished jobs, want %d", schedule, n, want)
		}
	}
}

func TestRace_DisableAndFinish(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	o := outcomesOf("cancelled", "executing after an attempt", "completed after an attempt")
	race(t, 1000, o, func(r *rand.Rand, _ int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"repeat_every":[1,"hour"],"url":"%s"}`, r.Float64()*0.01,
			target.URL))
		if err != nil {
			return err
		}
		aside(r, 15*time.Millisecond)
		if _, err = try(a.Client, http.MethodPost, schedulePath(job)+"/disable"); err != nil {
			return err
		}
		return o.sawJob(a.Client, job)
	})
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinished(t, l, 0)
}

func TestRace_DeleteAndStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	o := outcomesOf("cancelled", "executing after an attempt", "completed after an attempt")
	race(t, 1000, o, func(r *rand.Rand, _ int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"repeat_every":[1,"hour"],"url":"%s"}`, r.Float64()*0.01,
			target.URL))
		if err != nil {
			return err
		}
		aside(r, 15*time.Millisecond)
		if _, err = try(a.Client, http.MethodDelete, schedulePath(job)); err != nil {
			return err
		}
		return o.sawJob(a.Client, job)
	})
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinished(t, l, 0)
	wantSame(t, "schedules", a.Get("/api/schedules").Want(200).Data(), "[]")
}

// TestRace_EnableAndFinish disables a schedule while its run is under way and
// enables it at about the time that run ends.
func TestRace_EnableAndFinish(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(8*time.Millisecond, harness.Status(200)))
	o := outcomesOf("executing after an attempt", "completed after an attempt")
	race(t, 700, o, func(r *rand.Rand, _ int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"repeat_every":[1,"hour"],"url":"%s"}`, r.Float64()*0.01,
			target.URL))
		if err != nil {
			return err
		}
		aside(r, 20*time.Millisecond)
		if _, err = try(a.Client, http.MethodPost, schedulePath(job)+"/disable"); err != nil {
			return err
		}
		aside(r, 10*time.Millisecond)
		if _, err = try(a.Client, http.MethodPost, schedulePath(job)+"/enable"); err != nil {
			return err
		}
		return o.sawJob(a.Client, job)
	})
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinished(t, l, 1)
}

// TestRace_CancelDisableAndEnable makes several calls on one schedule at once.
func TestRace_CancelDisableAndEnable(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(200))
	race(t, rounds(300), nil, func(r *rand.Rand, _ int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"repeat_every":[1,"hour"],"url":"%s"}`, r.Float64()*0.01,
			target.URL))
		if err != nil {
			return err
		}
		calls := []string{jobPath(job) + "/cancel", schedulePath(job) + "/disable", schedulePath(job) + "/enable",
			schedulePath(job) + "/disable"}
		errs := make([]error, len(calls))
		var group sync.WaitGroup
		for i, call := range calls {
			wait := time.Duration(r.Int64N(int64(10 * time.Millisecond)))
			group.Go(func() {
				<-time.After(wait)
				_, errs[i] = try(a.Client, http.MethodPost, call)
			})
		}
		group.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		_, err = try(a.Client, http.MethodPost, schedulePath(job)+"/enable")
		return err
	})
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinished(t, l, 1)
}

// TestRace_50CreatesWithOneKeyAndCompletion creates with one key while the job
// that holds it runs and completes.
func TestRace_50CreatesWithOneKeyAndCompletion(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(3*time.Millisecond, harness.Status(200)))
	const rounds, creates = 40, 50
	stored := map[string]map[string]bool{}
	met := 0 // rounds in which the key became free between two creates
	for round := 0; round < rounds && (met < often()/2 || full()); round++ {
		key := fmt.Sprint("key ", round)
		body := fmt.Sprintf(`{"idempotency_key":"%s","url":"%s"}`, key, target.URL)
		created, named := map[string]bool{}, map[string]bool{}
		for _, answer := range simultaneously(t, creates, func() (*harness.Answer, error) { return a.Try("POST", "/api/jobs", body) }) {
			id := answer.Data().Get("id").Str()
			switch answer.Status {
			case 201:
				created[id] = true
			case 200:
				named[id] = true
			default:
				t.Errorf("neither 200 nor 201: %s", answer)
			}
		}
		for id := range named {
			if !created[id] {
				t.Errorf("a duplicate was answered with a job nobody created: %s", id)
			}
		}
		stored[key] = created
		if len(created) > 1 {
			met++
		}
	}
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	spans := map[string][][2]time.Time{}
	for _, job := range l.jobs {
		key := job.Get("idempotency_key").Str()
		if !stored[key][job.Get("id").Str()] {
			t.Errorf("a job nobody was told of: %s", job.Raw())
		}
		// A create may take its inserted_at before the key is free and store the
		// job after, so the attempt is the better measure.
		span := [2]time.Time{instant(t, job.Get("job.attempted_at")), instant(t, job.Get("job.completed_at"))}
		for _, other := range spans[key] {
			if span[0].Before(other[1]) && other[0].Before(span[1]) {
				t.Errorf("two unfinished jobs held %s at once: %v and %v", key, span, other)
			}
		}
		spans[key] = append(spans[key], span)
	}
}
