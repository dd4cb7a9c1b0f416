package copies

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestCopies_LoseOnlyWhatCameAfterTheLastSync kills the service, the copier and both, loses
// the machine and serves what the copier had copied.
func TestCopies_LoseOnlyWhatCameAfterTheLastSync(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs other programs")
	}
	lasts, copier := time.Duration(0), copier(newLibrary(t))
	if given := os.Getenv("PUNCTUAL_COPIES"); given != "" {
		var err error
		if lasts, err = time.ParseDuration(given); err != nil {
			t.Fatal(err)
		}
		copier = newLitestream(t)
	}
	w := newWorld(t, copier)
	end := w.load()
	w.pass()
	w.restartLogUncopied()
	for until := time.Now().Add(lasts); time.Now().Before(until); {
		w.pass()
	}
	w.sync()
	w.awaitMore(20) // which may be lost
	w.service.Kill()
	w.copier.signal(syscall.SIGKILL)
	end()
	w.judge()
}

// world is a service under load with its copies.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	copier  copier
	service *harness.Service
	account *harness.Account
	target  *harness.Route
	path    string // of the database

	large atomic.Bool  // whether jobs have large bodies
	gate  sync.RWMutex // locked while the load stands still

	mu     sync.Mutex
	acked  map[int64]job
	synced map[int64]job // acknowledged before the last sync
	grown  chan struct{} // closed when a job is acknowledged
}

// job is what an acknowledged job must still be after a restore.
type job struct {
	id string
	at time.Time // of the acknowledgement
}

func newWorld(t *testing.T, copier copier) *world {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("PUNCTUAL_SEED"), 10, 64); err == nil {
		seed = given
	}
	fmt.Printf("%s: PUNCTUAL_SEED=%d\n", t.Name(), seed)
	path := filepath.Join(t.TempDir(), "punctual.db")
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), copier: copier, path: path,
		service: harness.Start(t, harness.Database("sqlite:"+path)), target: harness.SharedTarget(t).Route(t),
		acked: map[int64]job{}, grown: make(chan struct{}),
	}
	w.account = w.service.Account(t)
	copier.start(t, path)
	return w
}

// load creates jobs until the function it returns is called: half of them due at once, the
// others in an hour.
func (w *world) load() (end func()) {
	var stopped atomic.Bool
	var work sync.WaitGroup
	for creator := range 2 {
		r := rand.New(rand.NewPCG(w.rand.Uint64(), uint64(creator)))
		work.Go(func() {
			for !stopped.Load() {
				w.gate.RLock()
				w.create(r)
				w.gate.RUnlock()
			}
		})
	}
	return func() {
		stopped.Store(true)
		work.Wait()
	}
}

func (w *world) create(r *rand.Rand) {
	size := 100
	if w.large.Load() {
		size = 100_000
	}
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(r.Uint32()) // does not compress
	}
	one := fmt.Sprintf(`{"url":%q,"schedule_in":%%d,"body":%q}`, w.target.URL, base64.StdEncoding.EncodeToString(body))
	batch := []string{fmt.Sprintf(one, 0), fmt.Sprintf(one, 3600), fmt.Sprintf(one, 0), fmt.Sprintf(one, 3600)}
	answer, err := w.account.Try("POST", "/api/jobs/batch", "["+strings.Join(batch, ",")+"]", harness.Header("Prefer", "return=minimal"))
	if err != nil || answer.Status != 201 {
		time.Sleep(20 * time.Millisecond) // the service is down
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, made := range answer.Data().Items() {
		number, id := made.Get("job_id").Int(), made.Get("id").Str()
		if other, known := w.acked[number]; known {
			w.t.Errorf("the number %d was given to %s and %s", number, other.id, id)
		}
		w.acked[number] = job{id, time.Now()}
	}
	close(w.grown)
	w.grown = make(chan struct{})
}

// awaitMore waits until n more jobs are acknowledged.
func (w *world) awaitMore(n int) {
	w.mu.Lock()
	wanted := len(w.acked) + n
	for len(w.acked) < wanted && !w.t.Failed() {
		grown := w.grown
		w.mu.Unlock()
		<-grown
		w.mu.Lock()
	}
	w.mu.Unlock()
}

// sync waits until all that is acknowledged now is in the replica.
func (w *world) sync() {
	w.t.Helper()
	w.mu.Lock()
	acked := maps.Clone(w.acked)
	w.mu.Unlock()
	var err error
	if !harness.Within(time.Minute, func() bool { err = w.copier.sync(); return err == nil }) {
		w.t.Fatal(err)
	}
	w.synced = acked
}

// pass ends the service, the copier and both, in a random order, each while jobs are created.
func (w *world) pass() {
	w.t.Helper()
	for _, end := range w.rand.Perm(4) {
		w.awaitMore(1 + w.rand.IntN(40))
		switch end {
		case 0:
			w.service.Kill()
			w.service.Restart(w.t)
		case 1:
			if code := w.service.Stop(); code != 0 {
				w.t.Errorf("the service ended with status %d", code)
			}
			w.service.Restart(w.t)
		case 2:
			w.restartCopier(func() { w.awaitMore(w.rand.IntN(40)) })
		case 3:
			w.restartCopier(func() {
				w.service.Kill()
				w.service.Restart(w.t)
			})
		}
		w.awaitMore(1)
		w.sync()
	}
}

// restartCopier kills the copier, does something while nothing is copied, and starts it.
func (w *world) restartCopier(meanwhile func()) {
	w.t.Helper()
	w.copier.signal(syscall.SIGKILL)
	meanwhile()
	w.copier.start(w.t, w.path)
}

// restartLogUncopied has the service checkpoint and restart its write-ahead log while the
// copier is down and has not copied all of it. The new log is shorter than what was copied
// of the old one, whose frames may still be behind it: the copier must not take them for
// a sign that it has copied all.
func (w *world) restartLogUncopied() {
	w.t.Helper()
	w.gate.Lock()
	defer w.gate.Unlock()
	w.large.Store(true)
	defer w.large.Store(false)
	for w.sync(); len(w.log()) < 1<<21; w.sync() {
		w.create(w.rand)
	}
	w.restartCopier(func() {
		for before := w.log(); bytes.Equal(before[:logHeader], w.log()[:logHeader]); {
			w.create(w.rand)
		}
	})
	w.create(w.rand)
	w.sync()
}

// The sizes of the header of a write-ahead log, and of a frame and its header.
const (
	logHeader   = 32
	frameHeader = 24
	frame       = frameHeader + 4096
)

// log returns what is in use of the write-ahead log: its header, which changes when the
// log restarts, and the frames that have the header's salts.
func (w *world) log() []byte {
	w.t.Helper()
	text, err := os.ReadFile(w.path + "-wal")
	if err != nil || len(text) < logHeader {
		w.t.Fatalf("%d bytes of the write-ahead log: %v", len(text), err)
	}
	end := logHeader
	for end+frame <= len(text) && bytes.Equal(text[end+8:end+16], text[16:24]) {
		end += frame
	}
	return text[:end]
}

// judge restores the replica on another machine, with and without the file of numbers,
// and looks for what was acknowledged.
func (w *world) judge() {
	t := w.t
	t.Helper()
	killed := time.Now()
	highest := slices.Max(slices.Collect(maps.Keys(w.acked)))
	replica := filepath.Join(t.TempDir(), "replica.db")
	w.copier.restore(t, replica)
	t.Logf("restored the replica in %s, %d jobs acknowledged", time.Since(killed).Round(time.Millisecond), len(w.acked))

	known := filepath.Join(t.TempDir(), "punctual.db")
	numbers, err := os.ReadFile(w.path + ".numbers")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known+".numbers", numbers, 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "punctual.db")
	for path, skipped := range map[string]string{known: "known", elsewhere: "estimated"} {
		got := restore(t, replica, path)
		if got.Skipped != skipped || got.NextJob <= highest {
			t.Errorf("the highest acknowledged job is %d: %+v, want skipped %s", highest, got, skipped)
		}
	}

	service := harness.Start(t, harness.Database("sqlite:"+elsewhere))
	client := service.Client(t, w.account.Key)
	w.judgeJobs(killed, stored(t, client))
	if number, next := create(client, w.target.URL).Get("job_id").Int(), highest; number <= next {
		t.Errorf("a new job has the number %d, though %d was acknowledged", number, next)
	}

	// The restored database is copied to the same place.
	w.copier.start(t, elsewhere)
	last := create(client, w.target.URL)
	w.sync()
	service.Kill()
	w.copier.signal(syscall.SIGKILL)
	again := filepath.Join(t.TempDir(), "again.db")
	w.copier.restore(t, again)
	if got := restore(t, again, filepath.Join(t.TempDir(), "punctual.db")); got.LastJob != last.Get("job_id").Int() {
		t.Errorf("the last job of the second copy is %d, want %s", got.LastJob, last.Raw())
	}
}

// judgeJobs compares the jobs of the restored database with those that were acknowledged.
func (w *world) judgeJobs(killed time.Time, stored map[int64]string) {
	w.t.Helper()
	var lost, kept []int64
	var oldest time.Duration
	for number, job := range w.acked {
		switch id, found := stored[number]; {
		case !found:
			lost = append(lost, number)
			oldest = max(oldest, killed.Sub(job.at))
			if _, synced := w.synced[number]; synced {
				w.t.Errorf("job %d was acknowledged before the last sync and is lost", number)
			}
		case id != job.id:
			w.t.Errorf("job %d is %s, acknowledged was %s", number, id, job.id)
		default:
			kept = append(kept, number)
		}
	}
	if len(lost) > 0 && len(kept) > 0 && slices.Max(kept) > slices.Min(lost) {
		w.t.Errorf("job %d is lost, though the later job %d is not", slices.Min(lost), slices.Max(kept))
	}
	w.t.Logf("%d jobs are restored; %d that were acknowledged after the last sync are lost, the oldest %s before the kill", len(kept),
		len(lost), oldest.Round(time.Millisecond))
}

// restored is what punctual restore prints.
type restored struct {
	LastJob int64  `json:"last_job"`
	NextJob int64  `json:"next_job"`
	Skipped string `json:"skipped"`
}

func restore(t *testing.T, from, to string) (result restored) {
	t.Helper()
	got := harness.Command(t, nil, "restore", "--json", "--database-url", "sqlite:"+to, from)
	if got.Code != 0 {
		t.Fatalf("punctual restore ended with status %d: %s", got.Code, got.Stderr)
	}
	if err := json.Unmarshal([]byte(got.Stdout), &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// stored returns the ids of all jobs by their numbers.
func stored(t *testing.T, client *harness.Client) map[int64]string {
	t.Helper()
	ids := map[int64]string{}
	for path := "/api/jobs?limit=100"; path != ""; {
		answer := client.Get(path).Want(200)
		for _, record := range answer.Data().Items() {
			ids[record.Get("job_id").Int()] = record.Get("id").Str()
		}
		path = answer.Next()
	}
	return ids
}

func create(client *harness.Client, url string) harness.JSON {
	return client.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"schedule_in":3600}`, url)).Want(201).Data()
}
