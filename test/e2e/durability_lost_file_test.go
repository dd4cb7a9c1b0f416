package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// onFile starts a service with a database file of its own, and returns its path.
func onFile(t *testing.T) (*harness.Service, string) {
	t.Helper()
	s := harness.Start(t)
	path, isFile := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	if !isFile {
		t.Skip("this database is not a file")
	}
	return s, path
}

func TestDurabilityLostFile_DeletedDatabaseAcceptsNoMoreJobs(t *testing.T) {
	t.Parallel()
	s, path := onFile(t)
	c := s.Public(t)
	job := `{"url":"` + harness.SharedTarget(t).Route(t).URL + `","schedule_in":3600}`
	c.Post("/api/jobs", job).Want(201)
	awaitReady(t, s)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, 3*soon, "the service to notice", func() bool { return c.Get("/readyz").Status == 503 })
	answer := c.Post("/api/jobs", job).WantProblem(503)
	if answer.Header.Get("Retry-After") == "" || !strings.Contains(answer.JSON.Get("detail").Str(), "deleted or replaced") {
		t.Errorf("refused with %s", answer)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, s)
	c.Post("/api/jobs", job).Want(201)
}

func TestDurabilityLostFile_ServiceDoesNotStartWithoutItsLog(t *testing.T) {
	t.Parallel()
	s, path := onFile(t)
	s.Public(t).Post("/api/jobs", `{"url":"`+harness.SharedTarget(t).Route(t).URL+`","schedule_in":3600}`).Want(201)
	s.Kill()
	if err := os.Rename(path+"-wal", path+"-wal.away"); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err == nil {
		t.Fatal("it started with what was left")
	}
	if want := "delete " + path + ".lock to continue without"; !strings.Contains(s.Stderr(), want) {
		t.Errorf("it said:\n%s\nwant %q", s.Stderr(), want)
	}
	if err := os.Rename(path+"-wal.away", path+"-wal"); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if jobs := s.Public(t).Get("/api/jobs").Want(200).Data().Items(); len(jobs) != 1 {
		t.Errorf("%d jobs are left, want 1", len(jobs))
	}
}
