package e2e

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// limitFiles keeps the running program from opening files until release is
// called.
func limitFiles(t *testing.T, s *harness.Service) (release func()) {
	t.Helper()
	var limit unix.Rlimit
	set := func(to, from *unix.Rlimit) {
		if err := unix.Prlimit(s.PID(), unix.RLIMIT_NOFILE, to, from); err != nil {
			t.Fatalf("setting the limit of open files: %v", err)
		}
	}
	set(nil, &limit)
	set(&unix.Rlimit{Cur: 3, Max: limit.Max}, nil)
	return func() { set(&limit, nil) }
}

func TestLimitDescriptors_ShortageFailsNoAttempt(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	target := harness.NewTarget(t).Route(t)
	// Over connections that stay open, to the service and to its database.
	for _, list := range []string{"/api/jobs", "/api/logs?order_by=inserted_at,asc"} {
		c.Get(list).Want(200)
	}
	release := limitFiles(t, s)
	job := create(c, `{"retries":0,"url":"`+target.URL+`","callback_url":"`+target.URL+`"}`)
	// Without another call: whoever connects now has the service close an idle connection.
	harness.Eventually(t, soon, "an attempt to be interrupted",
		func() bool { return strings.Contains(s.Stderr(), "this machine has run out of resources") })
	release()
	logs := awaitLogs(t, c, job, 2, soon)
	wantSame(t, "kind", logs[1].Get("payload.kind"), `"interrupted"`)
	if message := logs[1].Get("payload.message").Str(); !strings.Contains(message, "too many open files") {
		t.Errorf("the message is %q", message)
	}
	awaitState(t, c, job, "completed")
	hits := target.AwaitEnds(t, 2, soon)
	if attempt := hits[0].Header.Get("X-Punctual-Attempt"); attempt != "1" {
		t.Errorf("the attempt that was made is number %s", attempt)
	}
}

func TestLimitDescriptors_StartWithFewLogsAWarning(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "100000"))
	var limit unix.Rlimit
	if err := unix.Prlimit(s.PID(), unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	warned := func() bool { return strings.Contains(s.Stderr(), "limit of open files") }
	if limit.Cur < 200_000 {
		harness.Eventually(t, soon, "a warning about the limit of open files", warned)
	} else if warned() {
		t.Errorf("a warning about a limit of %d", limit.Cur)
	}
	if limit.Cur != limit.Max {
		t.Errorf("the limit is %d of %d", limit.Cur, limit.Max)
	}
}
