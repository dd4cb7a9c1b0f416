package disk

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// creates reports whether the service accepts jobs; it must refuse with 503 otherwise.
func creates(t *testing.T, c *harness.Client, body string) (harness.JSON, bool) {
	t.Helper()
	a := c.Post("/api/jobs", body)
	if a.Status == http.StatusCreated {
		return a.Data(), true
	}
	a.WantProblem(http.StatusServiceUnavailable)
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("a refusal lacks Retry-After: %s", a)
	}
	return nil, false
}

// completes waits until a job is completed.
func completes(t *testing.T, c *harness.Client, job harness.JSON) {
	t.Helper()
	path := "/api/jobs/" + job.Get("job_id").Raw()
	harness.Eventually(t, patience, "job "+job.Get("job_id").Raw()+" to be completed", func() bool {
		a := c.Get(path)
		return a.Status == http.StatusOK && a.Data().Get("job.state").Str() == "completed"
	})
}

// free returns how many bytes of the disk the service believes to be free.
func free(t *testing.T, c *harness.Client) float64 {
	t.Helper()
	_, rest, _ := strings.Cut(string(c.Get("/metrics").Want(200).Body), "\npunctual_database_free_bytes ")
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Fatalf("the free space is %q", value)
	}
	return n
}

// noise returns a text that can't be compressed to much less.
func noise(n int) string {
	text := make([]byte, n*3/4)
	for i := range text {
		text[i] = byte(rand.Uint32())
	}
	return base64.StdEncoding.EncodeToString(text)
}

// TestFullDisk_RefusesJobsAndRecoversWithoutRestart fills the disk in two steps: first
// new jobs are refused while the outcomes of stored ones still have room, then there is
// no room at all.
func TestFullDisk_RefusesJobsAndRecoversWithoutRestart(t *testing.T) {
	t.Parallel()
	dir := mounted(t, 64<<20)
	s := harness.Start(t, onDisk(dir))
	c := s.Account(t).Client
	target := harness.SharedTarget(t).Route(t)
	before, _ := creates(t, c, `{"url":"`+target.URL+`"}`)
	completes(t, c, before)
	release := target.Hold(harness.Status(200))
	underWay, _ := creates(t, c, `{"url":"`+target.URL+`/under-way"}`)
	target.Await(t, 2, patience)
	waiting := c.Post("/api/jobs", `{"url":"`+target.URL+`/later","schedule_in":2}`).Want(201).Data()

	far := c.Post("/api/jobs", `{"method":"post","url":"`+target.URL+`/far","schedule_in":86400}`).Want(201).Data()

	nearly := fill(t, dir, 5<<20) // a tenth of 64 MiB is reserved for outcomes
	harness.Eventually(t, patience, "the service to measure the free space", func() bool { return free(t, c) < 6<<20 })
	harness.Eventually(t, patience, "new jobs to be refused", func() bool {
		_, taken := creates(t, c, `{"url":"`+target.URL+`"}`)
		return !taken
	})
	release()
	completes(t, c, underWay)
	completes(t, c, waiting)

	wholly := fill(t, dir, 0)
	change := func(fields string) bool {
		a := c.Do("PATCH", "/api/jobs/"+far.Get("job_id").Raw(), fields)
		if a.Status != http.StatusOK {
			a.WantProblem(http.StatusServiceUnavailable)
		}
		return a.Status == http.StatusOK
	}
	// Small changes may go on in the space that the files have; a large one needs more.
	harness.Eventually(t, patience, "a large change to be refused", func() bool {
		c.Get("/api/jobs/" + before.Get("job_id").Raw()).Want(200) // reads go on
		return !change(`{"body":"` + noise(512<<10) + `"}`)
	})
	name := 0
	harness.Eventually(t, patience, "readiness to say whether small changes are stored", func() bool {
		name++
		return change(`{"name":"`+strconv.Itoa(name)+`"}`) == (s.Client(t, "").Get("/readyz").Status == http.StatusOK)
	})

	wholly()
	nearly()
	var after harness.JSON
	harness.Eventually(t, patience, "new jobs to be accepted again", func() (taken bool) {
		after, taken = creates(t, c, `{"url":"`+target.URL+`/after"}`)
		return taken
	})
	completes(t, c, after)
	if got := c.Get("/api/jobs/" + far.Get("job_id").Raw()).Want(200).Data().Get("job.state").Str(); got != "available" {
		t.Errorf("a job whose changes were refused is %s", got)
	}
	harness.Eventually(t, patience, "the service to be ready", func() bool { return s.Client(t, "").Get("/readyz").Status == 200 })
	s.Kill()
	intact(t, filepath.Join(dir, "punctual.db"))
}

// TestFullDisk_StartsOnceThereIsSpace: a service that can't start says why and leaves
// nothing that keeps it from starting later.
func TestFullDisk_StartsOnceThereIsSpace(t *testing.T) {
	t.Parallel()
	dir := mounted(t, 8<<20)
	s := harness.Prepare(t, onDisk(dir))
	remove := fill(t, dir, 0)
	err := s.Run()
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("starting on a full disk: %v", err)
	}
	remove()
	s.Restart(t)
	target := harness.SharedTarget(t).Route(t)
	job, _ := creates(t, s.Public(t), `{"url":"`+target.URL+`"}`)
	completes(t, s.Public(t), job)
}

// TestReadOnlyDisk_StartsOnceItIsWritable: the reason says what to do.
func TestReadOnlyDisk_StartsOnceItIsWritable(t *testing.T) {
	t.Parallel()
	dir := mounted(t, 32<<20)
	s := harness.Start(t, onDisk(dir))
	target := harness.SharedTarget(t).Route(t)
	job := s.Public(t).Post("/api/jobs", `{"url":"`+target.URL+`","schedule_in":1}`).Want(201).Data()
	s.Stop()
	remounted(t, dir, true)
	err := s.Run()
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Fatalf("starting on a read-only disk: %v", err)
	}
	remounted(t, dir, false)
	s.Restart(t)
	completes(t, s.Public(t), job)
}

// TestReadOnlyDisk_WhileRunningRefusesAndRecovers: a filesystem can't be remounted
// while files are open for writing, as the kernel does after an error, so the calls
// are refused as it would refuse them.
func TestReadOnlyDisk_WhileRunningRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	survives(t, "pwrite64,ftruncate,fsync,fdatasync:error=EROFS", true)
}

// TestFailingDisk_LosesNothingAndRecovers makes the calls fail that write and sync,
// all or now and then, and lets them wait.
func TestFailingDisk_LosesNothingAndRecovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  string
		always bool // no write can succeed
	}{
		"SyncsFail":              {"fsync,fdatasync:error=EIO", true},
		"SyncsFindNoSpace":       {"fsync,fdatasync:error=ENOSPC", true},
		"SyncsFailNowAndThen":    {"fsync,fdatasync:error=EIO:when=1+3", false},
		"WritesFail":             {"pwrite64:error=EIO", true},
		"WritesFindNoSpace":      {"pwrite64:error=ENOSPC", true},
		"WritesFailNowAndThen":   {"pwrite64:error=EIO:when=3+7", false},
		"WritesOfAQuotaExceeded": {"pwrite64:error=EDQUOT", true},
		"SyncsTakeLong":          {"fsync,fdatasync:delay_enter=300ms", false},
		"WritesTakeLong":         {"pwrite64:delay_exit=20ms", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			survives(t, c.fault, c.always)
		})
	}
}

// survives lets a service work under a fault for a while. Calls then end with 201 or
// 503, reads work, and afterwards the service recovers without a restart: what it
// acknowledged is carried out, and its database is whole. If always, nothing can be
// stored meanwhile.
func survives(t *testing.T, fault string, always bool) {
	t.Helper()
	needStrace(t)
	s := harness.Start(t)
	path, _ := databaseOf(t, s)
	c := s.Account(t).Client
	target := harness.SharedTarget(t).Route(t)
	job := func(i int, wait float64) string {
		return fmt.Sprintf(`{"method":"post","body":{"n":%d},"url":"%s","schedule_in":%.1f}`, i, target.URL, wait)
	}
	var acknowledged []harness.JSON
	take := func(i int, wait float64) bool {
		stored, taken := creates(t, c, job(i, wait))
		if taken {
			acknowledged = append(acknowledged, stored)
		}
		return taken
	}
	for i := range 20 {
		if !take(i, float64(i)/10) { // some are due while the disk fails
			t.Fatal("a healthy service refuses a job")
		}
	}
	end := inject(t, s, fault)
	refused, until := 0, time.Now().Add(2*time.Second)
	for i := 100; time.Now().Before(until) || i < 110; i++ {
		taken := take(i, 0.5)
		if !taken {
			refused++
		}
		if taken && always {
			t.Fatalf("a job was acknowledged under %s", fault)
		}
		c.Get("/api/jobs?limit=5").Want(200)
		c.Get("/api/jobs/" + acknowledged[0].Get("job_id").Raw()).Want(200)
	}
	end()
	harness.Eventually(t, patience, "jobs to be accepted again", func() bool { return take(1000, 0) })
	harness.Eventually(t, patience, "the service to be ready", func() bool { return s.Client(t, "").Get("/readyz").Status == 200 })
	t.Logf("%d jobs were acknowledged, %d refused", len(acknowledged), refused)
	for _, one := range acknowledged {
		completes(t, c, one)
	}
	s.Kill()
	intact(t, path)
	s.Restart(t)
	for _, one := range acknowledged {
		completes(t, c, one)
	}
}
