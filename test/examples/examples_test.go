package examples

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/ports"
)

const soon = 20 * time.Second

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func command(t *testing.T, name string, args, environment []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), environment...), os.Stderr, os.Stderr
	return cmd
}

func TestNightlyReport_ReportsItsResult(t *testing.T) {
	t.Parallel()
	at := ports.Free(t)
	s := harness.Start(t, harness.Flag("allow-http-targets", "true"), harness.Flag("listen", at), harness.Flag("public-url", "http://"+at))
	a := s.Account(t)
	program := filepath.Join(t.TempDir(), "nightly-report")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/nightly-report").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	address := ports.Free(t)
	reports := command(t, program, nil, []string{
		"PUNCTUAL_URL=" + s.URL(), "PUNCTUAL_API_KEY=" + a.Key, "PUNCTUAL_SIGNING_SECRET=" + a.Secret,
		"LISTEN=" + address, "PUBLIC_URL=http://" + address,
	})
	if err := reports.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = reports.Process.Signal(os.Interrupt)
		if err := reports.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	var run harness.JSON
	harness.Eventually(t, soon, "the schedule and the program", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return a.Get("/api/schedules/key:nightly-report").Status == 200
	})
	run = a.Post("/api/schedules/key:nightly-report/run", nil).Want(200).Data()
	path := fmt.Sprintf("/api/jobs/%d", run.Get("job_id").Int())
	harness.Eventually(t, soon, "the report", func() bool { return a.Get(path).Want(200).Data().Get("job.state").Str() == "completed" })
	logs := a.Get(fmt.Sprintf("/api/logs?job_id=%d", run.Get("job_id").Int())).Want(200).Data()
	if !strings.Contains(logs.Raw(), `"rows":1042`) {
		t.Errorf("no log has the result: %s", logs.Raw())
	}
}

func TestHeartbeat_CallsTheAlarmWhenItStops(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	alarm := harness.SharedTarget(t).Route(t)
	beat := func(within string) {
		t.Helper()
		cmd := command(t, "sh", []string{"../../examples/heartbeat/heartbeat.sh", "backup"},
			[]string{"PUNCTUAL_URL=" + s.URL(), "PUNCTUAL_API_KEY=" + a.Key, "ALARM_URL=" + alarm.URL, "WITHIN=" + within})
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
	beat("600")
	beat("600")
	if jobs := a.Get("/api/jobs").Want(200).Data().Items(); len(jobs) != 1 {
		t.Errorf("two heartbeats made %d jobs", len(jobs))
	}
	beat("1")
	if body := alarm.Await(t, 1, soon)[0].JSON(); body.Get("silent").Str() != "backup" {
		t.Errorf("the alarm says %s", body.Raw())
	}
}
