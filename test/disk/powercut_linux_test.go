package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	store "github.com/punctual-dev/punctual/internal/store/sqlite"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// fact is what a client was told about a job, and when.
type fact struct {
	at    time.Time
	job   int64
	state string // "" if it is only known to exist
}

// loaded is a service whose system calls are recorded, and what its clients were told.
type loaded struct {
	t       *testing.T
	service *harness.Service
	client  *harness.Client
	target  *harness.Route
	record  string
	path    string // of the database
	events  []event
	cutOff  []*call // by the kill

	created atomic.Int64 // jobs

	mu    sync.Mutex
	facts []fact
}

func (l *loaded) know(job int64, state string) {
	l.mu.Lock()
	l.facts = append(l.facts, fact{time.Now(), job, state})
	l.mu.Unlock()
}

// newLoaded starts a service on a small disk, so that its write-ahead log is
// checkpointed often.
func newLoaded(t *testing.T) *loaded {
	t.Helper()
	needStrace(t)
	dir := mounted(t, 32<<20)
	l := &loaded{t: t, record: filepath.Join(t.TempDir(), "record"), path: filepath.Join(dir, "punctual.db")}
	l.service = harness.Start(t, onDisk(dir), recordThrough(l.record, dir, l.path))
	l.client, l.target = l.service.Public(t), harness.SharedTarget(t).Route(t)
	return l
}

// create creates jobs until ctx ends, most of them due at once; it cancels some, and
// looks at what has become of others.
func (l *loaded) create(ctx context.Context, r *rand.Rand) {
	var mine []int64
	pace := time.NewTicker(loadPace)
	defer pace.Stop()
	for ctx.Err() == nil {
		<-pace.C
		wait, cancel := r.Float64(), r.IntN(6) == 0
		if cancel {
			wait = 3600
		}
		body := fmt.Sprintf(`{"method":"post","body":"%s","url":"%s","schedule_in":%.2f}`, strings.Repeat("x", r.IntN(6000)), l.target.URL,
			wait)
		a, err := l.client.Try(http.MethodPost, "/api/jobs", body)
		if err != nil {
			return // the service has been stopped
		}
		if a.Status != http.StatusCreated {
			l.t.Errorf("a job was refused: %s", a)
			return
		}
		job := a.Data().Get("job_id").Int()
		l.know(job, "")
		l.created.Add(1)
		mine = append(mine, job)
		if cancel {
			if a, err := l.client.Try(http.MethodPost, fmt.Sprintf("/api/jobs/%d/cancel", job), nil); err == nil && a.Status == 200 {
				l.know(job, "cancelled")
			}
		}
		job = mine[r.IntN(len(mine))]
		if a, err := l.client.Try(http.MethodGet, fmt.Sprintf("/api/jobs/%d", job), nil); err == nil && a.Status == 200 {
			if state := a.Data().Get("job.state").Str(); final[state] != 0 {
				l.know(job, state)
			}
		}
	}
}

// final has the numbers of the final states, as the database stores them.
var final = map[string]int64{"completed": 4, "cancelled": 5, "discarded": 6}

// The load: how many clients create jobs, and how long each waits between two. With
// more, the record would be too long to be read often.
const (
	loaders  = 2
	loadPace = 25 * time.Millisecond
)

// run puts the service under load until clients have created some jobs, then ends it.
func (l *loaded) run(r *rand.Rand, jobs int, end func()) {
	l.t.Helper()
	var work sync.WaitGroup
	defer work.Wait()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	before := l.created.Load()
	for range loaders {
		own := rand.New(rand.NewPCG(r.Uint64(), 1))
		work.Go(func() { l.create(ctx, own) })
	}
	harness.Eventually(l.t, 2*patience, "jobs to be created", func() bool { return l.created.Load() >= before+int64(jobs) })
	stop()
	pid := l.service.PID()
	end() // while clients still wait for their last responses
	work.Wait()
	l.awaitRecord(pid)
}

// awaitRecord waits until strace has written all that a process did.
func (l *loaded) awaitRecord(pid int) {
	l.t.Helper()
	harness.Eventually(l.t, patience, "the record to be complete", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return errors.Is(err, os.ErrNotExist) && !traced(l.record)
	})
}

// traced reports whether a process has a file open for writing.
func traced(path string) bool {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	return slices.ContainsFunc(links, func(link string) bool {
		to, err := os.Readlink(link)
		return err == nil && to == path
	})
}

// read reads the record.
func (l *loaded) read() {
	l.t.Helper()
	file, err := os.Open(l.record)
	if err != nil {
		l.t.Fatal(err)
	}
	defer file.Close()
	if l.events, l.cutOff, err = readTrace(file); err != nil {
		l.t.Fatal(err)
	}
}

// TestPowerCut_LosesNothingAcknowledged rebuilds what the disk may hold at moments
// when power could have been cut, and looks for what was acknowledged by then.
func TestPowerCut_LosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(seeded(t), 0))
	l := newLoaded(t)
	l.run(r, 120, func() {
		if code := l.service.Stop(); code != 0 {
			t.Errorf("stopping ended with status %d", code)
		}
	})
	l.service.Restart(t)
	l.run(r, 240, l.service.Kill)
	l.read()
	l.verifyRecord()
	if !t.Failed() {
		l.cut(r, budget(t))
	}
}

// verifyRecord fails the test unless the record explains the files as they are. A call
// during which the process was killed may have had its effect, a part of it, or none.
func (l *loaded) verifyRecord() {
	l.t.Helper()
	var wrong string
	for effects := range combinations(l.cutOff) {
		m := newImage(filepath.Dir(l.path))
		if err := replay(m, l.events, nil); err != nil {
			l.t.Fatal(err)
		}
		for i, c := range l.cutOff {
			if c.ret = effects[i]; c.ret > 0 || len(c.data) == 0 {
				if err := m.apply(event{call: c, end: true}); err != nil {
					l.t.Fatal(err)
				}
			}
		}
		if wrong = l.differences(m.files(everything)); wrong == "" {
			return
		}
	}
	l.t.Error(wrong)
}

// combinations yields what calls that were cut off may have returned, a number for each
// call: Linux ends the write of a killed process between two pages.
func combinations(cutOff []*call) iter.Seq[[]int64] {
	const page = 4096
	return func(yield func([]int64) bool) {
		var choose func(chosen []int64) bool
		choose = func(chosen []int64) bool {
			if len(chosen) == len(cutOff) {
				return yield(chosen)
			}
			c := cutOff[len(chosen)]
			if len(c.data) == 0 {
				return choose(append(chosen, -1)) && choose(append(chosen, 0))
			}
			size, at := int64(len(c.data)), c.ints[len(c.ints)-1]
			for n := int64(0); n < size; n += page - (at+n)%page {
				if !choose(append(chosen, n)) {
					return false
				}
			}
			return choose(append(chosen, size))
		}
		choose(nil)
	}
}

// differences says how the service's files differ from those that were recorded.
func (l *loaded) differences(recorded map[string][]byte) (wrong string) {
	for _, path := range []string{l.path, l.path + "-wal", l.path + ".lock"} {
		is, err := os.ReadFile(path)
		if says := recorded[filepath.Base(path)]; err != nil || !bytes.Equal(is, says) {
			wrong += fmt.Sprintf("the record says that %s has %d bytes, but it has %d others (%v)\n", path, len(says), len(is), err)
		}
	}
	return wrong
}

// checkers is how many disks are checked at once.
const checkers = 4

// cut checks cuts for a time, at least some, each with nothing of what was not synced
// and with a part of it. With some it starts the service.
func (l *loaded) cut(r *rand.Rand, lasts time.Duration) {
	l.t.Helper()
	total, checkpoints := 0, 0
	l.replay(func(at cut, _ *image) {
		total++
		if at.path == l.path {
			checkpoints++
		}
	})
	scratch := mounted(l.t, 256<<20) // in memory, where syncs cost nothing
	cuts, disks, restarts := 0, 0, 0
	turns := make(chan struct{}, checkers)
	var checks sync.WaitGroup
	check := func(files map[string][]byte, at cut) {
		dir := filepath.Join(scratch, strconv.Itoa(disks))
		disks++
		turns <- struct{}{}
		checks.Go(func() {
			defer func() { <-turns }()
			if err := errors.Join(writeFiles(dir, files), l.verify(dir, at), os.RemoveAll(dir)); err != nil {
				l.t.Errorf("power cut after sync %d: %v", at.sync, err)
			}
		})
	}
	// Each round takes every stepth cut, from another one on.
	until, step := time.Now().Add(lasts), max(1, total/60)
	for round, first := range r.Perm(step) {
		if round > 0 && time.Now().After(until) {
			break
		}
		n := 0
		l.replay(func(at cut, m *image) {
			n++
			if n%step != first || round > 0 && time.Now().After(until) || l.t.Failed() {
				return
			}
			cuts++
			check(m.files(nothing), at)
			files := m.files(partly(r))
			check(files, at)
			if round == 0 && restarts < 3 && n > total*(restarts+1)/4 {
				restarts++
				l.restart(filepath.Join(scratch, "restart"+strconv.Itoa(restarts)), files, at)
			}
		})
	}
	checks.Wait()
	l.t.Logf("clients learned %d facts; %d syncs, %d of them of checkpoints; cut at %d, %d disks checked, the service started from %d",
		len(l.facts), total, checkpoints, cuts, disks, restarts)
	if total < 100 || restarts < 3 {
		l.t.Errorf("only %d syncs were recorded, and %d services started", total, restarts)
	}
}

// replay calls each at every moment at which power may be cut.
func (l *loaded) replay(each func(cut, *image)) {
	l.t.Helper()
	m := newImage(filepath.Dir(l.path))
	if err := replay(m, l.events, func(at cut) { each(at, m) }); err != nil {
		l.t.Fatal(err)
	}
}

// partly returns a chooser for a part of the changes: one moment for everything, or
// one of its own for each sector.
func partly(r *rand.Rand) chooser {
	if r.IntN(3) == 0 {
		share := r.Float64()
		return func(n int) int { return int(share * float64(n+1)) }
	}
	return func(n int) int {
		switch r.IntN(3) {
		case 0:
			return 0
		case 1:
			return n
		}
		return r.IntN(n + 1)
	}
}

// known returns what was acknowledged of each job before a time.
func (l *loaded) known(before time.Time) map[int64]string {
	known := map[int64]string{}
	for _, f := range l.facts {
		if f.at.Before(before) && (f.state != "" || known[f.job] == "") {
			known[f.job] = f.state
		}
	}
	return known
}

// verify returns what is wrong with the database that a power cut leaves.
func (l *loaded) verify(dir string, at cut) error {
	known := l.known(at.at)
	path := filepath.Join(dir, filepath.Base(l.path))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && len(known) == 0 {
		return nil // cut while the database was being created
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := check(conn); err != nil || len(known) == 0 {
		return err
	}
	states, queued, err := jobsIn(conn)
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	s, err := store.Open(context.Background(), path, store.Options{Exclusive: true})
	if err != nil {
		return fmt.Errorf("the service refuses to start: %w", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	var wrong []error
	for job, state := range known {
		is, stored := states[job]
		switch ended := is >= final["completed"]; {
		case !stored:
			wrong = append(wrong, fmt.Errorf("job %d was acknowledged and is lost", job))
		case state != "" && is != final[state]:
			wrong = append(wrong, fmt.Errorf("job %d was %s and its state is %d", job, state, is))
		case ended && queued[job] != 0:
			wrong = append(wrong, fmt.Errorf("job %d is final and would be fired again", job))
		case !ended && queued[job] != 1:
			wrong = append(wrong, fmt.Errorf("job %d is pending and queued %d times", job, queued[job]))
		}
	}
	return errors.Join(wrong[:min(len(wrong), 5)]...)
}

// restart starts a service on what a power cut leaves. It fires nothing that was
// final, and carries out the rest.
func (l *loaded) restart(dir string, files map[string][]byte, at cut) {
	l.t.Helper()
	if err := writeFiles(dir, files); err != nil {
		l.t.Fatal(err)
	}
	known := l.known(at.at)
	before := len(l.target.Hits())
	s := harness.Start(l.t, onDisk(dir))
	defer s.Kill()
	c := s.Public(l.t)
	for job := range known {
		if a := c.Get(fmt.Sprintf("/api/jobs/%d", job)); a.Status != http.StatusOK {
			l.t.Errorf("after sync %d, a new service does not know job %d: %s", at.sync, job, a)
		}
	}
	harness.Eventually(l.t, patience, "the jobs to be carried out that were pending at a power cut", func() bool {
		jobs := c.Get("/api/jobs?state=scheduled&order_by=scheduled_at,asc&limit=1").Want(200).Data().Items()
		return len(jobs) == 0 || jobs[0].Get("args.schedule_in").Raw() == "3600.00"
	})
	for _, hit := range l.target.Hits()[before:] {
		job, _ := strconv.ParseInt(hit.Header.Get("X-Punctual-Job-Id"), 10, 64)
		if known[job] != "" {
			l.t.Errorf("after sync %d, job %d was fired again, though it was %s", at.sync, job, known[job])
		}
	}
}

// seeded returns the seed of a randomized test, and prints it.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PUNCTUAL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PUNCTUAL_SEED: %v", err)
		}
	}
	t.Logf("PUNCTUAL_SEED=%d", seed)
	return seed
}

// budget is how long cuts are checked.
func budget(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("PUNCTUAL_POWERCUT")
	if text == "" {
		return 5 * time.Second
	}
	lasts, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("PUNCTUAL_POWERCUT: %v", err)
	}
	return lasts
}

func TestCombinations_HaveWhatAKilledCallMayHaveDone(t *testing.T) {
	truncation := &call{name: "ftruncate", ints: []int64{0}}
	write := &call{name: "pwrite64", data: make([]byte, 4096), ints: []int64{4096 + 56}}
	var got [][]int64
	for effects := range combinations([]*call{truncation, write}) {
		got = append(got, slices.Clone(effects))
	}
	want := [][]int64{{-1, 0}, {-1, 4040}, {-1, 4096}, {0, 0}, {0, 4040}, {0, 4096}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the effects are %v, want %v", got, want)
	}
}
