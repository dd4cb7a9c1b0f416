package rehearsal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/rehearse"
	"github.com/punctual-dev/punctual/internal/service"
)

// scene is what the service runs in virtual time.
type scene struct {
	seed      uint64
	from      time.Time
	length    time.Duration
	limits    map[string]string // by key, as the API has them
	schedules []string          // the bodies that create them
	fail      map[string]float64
	duration  map[string]time.Duration
}

// beginnings are when scenes begin: on an ordinary day, before changes of the clock, and
// at the ends of a month and a year. None is a point of a grid.
var beginnings = []string{
	"2027-01-12T09:17:03.5Z", "2028-02-28T23:30:00.7Z", "2027-12-31T23:21:09.999999Z",
	"2027-03-28T00:20:00.25Z", "2027-10-31T00:10:07.1Z", // Europe/Berlin
	"2027-04-03T14:31:00.000001Z", "2027-10-02T15:12:00.4Z", // Australia/Lord_Howe
	"2027-03-14T06:40:00.9Z", "2027-11-07T05:25:30.3Z", // America/New_York
}

func newScene(t *testing.T, seed uint64) *scene {
	g := rand.New(rand.NewPCG(seed, 11))
	pick := func(from ...string) string { return from[g.IntN(len(from))] }
	from, err := time.Parse(time.RFC3339Nano, pick(beginnings...))
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{seed: seed, from: from, length: time.Duration(40+g.IntN(80)) * time.Minute, limits: map[string]string{},
		fail: map[string]float64{}, duration: map[string]time.Duration{}}
	limited := g.IntN(3) == 0
	if limited {
		s.limits["rate"] = fmt.Sprintf(`{"rate":{"calls":%d,"per":%d}}`, 1+g.IntN(3), 7+g.IntN(50))
		s.limits["one"] = fmt.Sprintf(`{"parallel":%d}`, 1+g.IntN(2))
	}
	for i := range 2 + g.IntN(5) {
		key := "k" + strconv.Itoa(i)
		fields := pick(`"cron":"*/2 * * * *"`, `"cron":"3,14,29-31,50 * * * *"`, `"cron":"*/7 1-3 * * *"`, `"cron":"30 2 * * *"`,
			`"cron":"59 23 28-31 * SUN"`, `"cron":"20/9 * * * *"`, `"repeat_every":[1,"minute"],"schedule_in":9`,
			`"repeat_every":[47,"seconds"],"schedule_in":1`,
			`"repeat_every":[7,"minutes"],"schedule_in":90`, `"repeat_every":[1,"hour"],"schedule_in":300`)
		if strings.HasPrefix(fields, `"cron"`) {
			fields += pick("", `,"timezone":"Europe/Berlin"`, `,"timezone":"America/New_York"`, `,"timezone":"Australia/Lord_Howe"`)
		}
		fields += pick("", "", `,"max_runs":5`, `,"max_runs":20`) + pick("", "", `,"catch_up":"all"`, `,"catch_up":"none"`)
		fields += pick("", "", `,"expires_in":50`, `,"expires_in":600`) + pick("", "", `,"jitter":30`, `,"jitter":200`)
		fields += pick("", `,"retries":0`, `,"retries":1`, `,"retries":2,"disable_after":2`)
		if g.IntN(4) == 0 {
			fields += fmt.Sprintf(`,"ends_at":%q`, from.Add(time.Duration(10+g.IntN(60))*time.Minute).Format(time.RFC3339))
		}
		if g.IntN(5) == 0 {
			fields += fmt.Sprintf(`,"except":[%q]`, from.AddDate(0, 0, g.IntN(2)).Format(time.DateOnly))
		}
		if limit := pick("", `,"limits":["rate"]`, `,"limits":["one"]`); limited && limit != "" {
			// A start that is a little later would decide whether a run expires.
			fields = strings.NewReplacer(`,"expires_in":50`, "", `,"expires_in":600`, "").Replace(fields) + limit
		}
		s.schedules = append(s.schedules, fmt.Sprintf(`{"idempotency_key":%q,"url":"https://t%d.example.com/%s","timeout":900,%s}`,
			key, i%2, key, fields))
		s.fail[key] = []float64{0, 0, .3, .7, 1}[g.IntN(5)]
		if seconds := []int{0, 0, 1, 20, 110, 500}[g.IntN(6)]; seconds > 0 {
			s.duration[key] = time.Duration(seconds)*time.Second + time.Duration(300_000+g.IntN(400_000))*time.Microsecond
		}
	}
	return s
}

func (s *scene) String() string {
	return fmt.Sprintf("PUNCTUAL_REHEARSE_SEED=%d: %s for %s, limits %v, fail %v, duration %v\n%s", s.seed,
		s.from.Format(time.RFC3339Nano), s.length, s.limits, s.fail, s.duration, strings.Join(s.schedules, "\n"))
}

// TestRehearsal_IsWhatTheServiceDoes rehearses random schedules, then has the service run
// them for an hour or two in virtual time.
//
// Each run must have the due time that was rehearsed, to the microsecond, as many attempts,
// the same outcome, and the same points skipped before it. As many runs must have started,
// and schedules must end for the same reason, without limits at the same time.
//
// What may differ: under a limit the service starts attempts up to seconds later, because it
// learns a few milliseconds late that one has ended and counts granted starts of expired
// runs for longer. If runs that need several limits compete, others may come first. So
// schedules have one limit here and then never expire, when they start is not compared,
// what they do in the last seconds is left out, and durations don't end at points of a grid.
//
// PUNCTUAL_REHEARSE_SEED is the first seed, to search further, and PUNCTUAL_REHEARSE_SCENES
// their number.
func TestRehearsal_IsWhatTheServiceDoes(t *testing.T) {
	seed, scenes := uint64(1), 6
	if n, err := strconv.ParseUint(os.Getenv("PUNCTUAL_REHEARSE_SEED"), 10, 64); err == nil {
		seed = n
	}
	if n, err := strconv.Atoi(os.Getenv("PUNCTUAL_REHEARSE_SCENES")); err == nil {
		scenes = n
	}
	t.Logf("PUNCTUAL_REHEARSE_SEED=%d", seed)
	file, err := emptyDatabase()
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for i := range uint64(scenes) {
		t.Run(strconv.FormatUint(seed+i, 10), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, seed+i)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { runs += newScene(t, seed+i).compare(t, dir, file) })
		})
	}
	t.Logf("%d runs compared", runs)
}

// late is more than how much later a limit has the service start an attempt.
const late = 10 * time.Second

// slack returns by how much the times of what is rehearsed of a schedule may be wrong.
func slack(found *job.Schedule) time.Duration {
	if rawjson.Get(found.Args, "limits") != nil {
		return late
	}
	return 0
}

// compare rehearses and runs a scene. It returns how many runs it has compared.
func (s *scene) compare(t *testing.T, dir string, file []byte) int {
	time.Sleep(time.Until(s.from))
	r := start(t, dir, file)
	defer r.close()
	r.fail, r.duration = s.fail, s.duration
	for key, body := range s.limits {
		r.limit(t, key, body)
	}
	s.schedules = slices.DeleteFunc(s.schedules, func(body string) bool {
		key, created := string(rawjson.Get(rawjson.Value(body), "idempotency_key")), r.create(t, body)
		if !created {
			delete(s.fail, strings.Trim(key, `"`))
			delete(s.duration, strings.Trim(key, `"`))
		}
		return !created
	})
	said, runs := s.rehearse(t, r)
	time.Sleep(time.Until(said.To) + late + time.Second)
	done := r.jobs(t)
	compared := 0
	for i, o := range said.Schedules {
		found := r.ofKey(t, *o.Key)
		var ended []*job.Job
		for _, j := range done[found.ID] {
			if j.State.Final() {
				ended = append(ended, j)
			}
		}
		compared += len(runs[i])
		s.compareRuns(t, r, *o.Key, runs[i], ended, said.To.Add(-slack(found)))
		s.compareEnds(t, &o, found)
		s.compareStarts(t, r, &o, done[found.ID], said.To, slack(found))
	}
	return compared
}

// rehearse returns what the service says about the scene, and the runs that become final.
func (s *scene) rehearse(t *testing.T, r *running) (*rehearse.Result, [][]*job.Job) {
	from := r.store.Now().UTC().Truncate(time.Microsecond)
	to := from.Add(s.length)
	said, err := r.service.Rehearse(t.Context(), r.owner, &service.Rehearsal{From: from, To: to, Fail: s.fail, Duration: s.duration})
	if err != nil {
		t.Fatal(err)
	}
	plan := &rehearse.Plan{From: from, To: to, Fail: s.fail, Duration: s.duration, Limits: map[string]limit.Limit{}}
	limits, err := r.service.Limits(t.Context(), r.owner, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range limits {
		plan.Limits[l.Key] = l.Limit
	}
	for _, found := range r.schedules(t) {
		run, err := r.store.RunUnfinished(t.Context(), r.owner, found.ID)
		if err != nil {
			t.Fatal(err)
		}
		e := rehearse.Entry{Schedule: rehearse.Slim(found)}
		e.SetRun(run)
		plan.Entries = append(plan.Entries, e)
	}
	slices.SortFunc(plan.Entries, func(a, b rehearse.Entry) int { return strings.Compare(*a.Schedule.Key, *b.Schedule.Key) })
	runs := make([][]*job.Job, len(plan.Entries))
	plan.Final = func(i int, run *job.Job) {
		kept := *run
		runs[i] = append(runs[i], &kept)
	}
	long, err := rehearse.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := said.Append(nil), long.Append(nil); !bytes.Equal(a, b) {
		t.Fatalf("%s\nthe service rehearses %s\none by one it is %s", s, a, b)
	}
	return said, runs
}

// compareRuns compares the runs of a schedule that are final. Those that were not
// rehearsed must have ended at a time or later.
func (s *scene) compareRuns(t *testing.T, r *running, key string, said, done []*job.Job, to time.Time) {
	t.Helper()
	for i := range max(len(said), len(done)) {
		switch {
		case i >= len(said):
			if endOf(done[i]).Before(to) {
				t.Fatalf("%s\n%s: run %d, %s, was not rehearsed", s, key, i, describe(done[i], r.attempts[done[i].Number]))
			}
			return
		case i >= len(done):
			t.Fatalf("%s\n%s: run %d, %s, was rehearsed, but there is none", s, key, i, describe(said[i], said[i].Attempt))
		case describe(said[i], said[i].Attempt) != describe(done[i], r.attempts[done[i].Number]):
			t.Fatalf("%s\n%s: run %d was rehearsed as %s\nbut is              %s", s, key, i,
				describe(said[i], said[i].Attempt), describe(done[i], r.attempts[done[i].Number]))
		}
	}
}

// endOf returns when a run became final.
func endOf(j *job.Job) time.Time {
	if j.State == job.Completed {
		return j.CompletedAt
	}
	return j.DiscardedAt
}

// compareEnds compares how a schedule ends.
func (s *scene) compareEnds(t *testing.T, said *rehearse.Outcome, found *job.Schedule) {
	t.Helper()
	switch {
	case said.Ends == nil && !found.Live() && found.DisabledAt.Before(s.from.Add(s.length-slack(found))):
		t.Fatalf("%s\n%s ended at %s by %s, which was not rehearsed", s, *said.Key, job.FormatTime(found.DisabledAt), found.Ended)
	case said.Ends == nil:
	case found.Live() || found.Ended != said.Ends.Reason:
		t.Fatalf("%s\n%s: rehearsed to end by %s, but ended by %q", s, *said.Key, said.Ends.Reason, found.Ended)
	case said.Limited.Count == 0 && !found.DisabledAt.Equal(said.Ends.At):
		t.Fatalf("%s\n%s: rehearsed to end at %s, but ended at %s", s, *said.Key,
			job.FormatTime(said.Ends.At), job.FormatTime(found.DisabledAt))
	}
}

// compareStarts compares how many runs have started, some of which may have been later than
// was rehearsed.
func (s *scene) compareStarts(t *testing.T, r *running, said *rehearse.Outcome, jobs []*job.Job, to time.Time, slack time.Duration) {
	t.Helper()
	least, most := int64(0), int64(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range jobs {
		at, ok := r.starts[j.Number]
		if ok && at.Before(to.Add(-slack)) {
			least++
		}
		if ok && at.Before(to.Add(slack)) {
			most++
		}
	}
	if said.Runs < least || said.Runs > most {
		t.Fatalf("%s\n%s: %d runs were rehearsed, %d to %d have started", s, *said.Key, said.Runs, least, most)
	}
}
