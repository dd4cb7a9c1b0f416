package examples

import (
	"fmt"
	"io"
	"net"
	"net/http"
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

// TestShop_RemindsOfEachOrderOnce kills the shop, the relay and the service between the
// commits of orders and their reminders.
func TestShop_RemindsOfEachOrderOnce(t *testing.T) {
	t.Parallel()
	dir, at, address := t.TempDir(), ports.Free(t), ports.Free(t)
	s := harness.Start(t, harness.Flag("allow-http-targets", "true"), harness.Flag("listen", at))
	a := s.Account(t)
	program := filepath.Join(dir, "shop")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/shop").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	schema, err := exec.Command(harness.Binary(t), "outbox", "schema", "--dialect", "sqlite").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "outbox.sql"), schema, 0o600); err != nil {
		t.Fatal(err)
	}
	environment := []string{
		"PUNCTUAL_URL=" + s.URL(), "PUNCTUAL_API_KEY=" + a.Key, "PUNCTUAL_SIGNING_SECRET=" + a.Secret, "REMIND_IN=1s",
		"DATABASE=" + filepath.Join(dir, "shop.db"), "OUTBOX_SCHEMA=" + filepath.Join(dir, "outbox.sql"), "LISTEN=" + address,
		"APP_URL=http://" + address,
	}
	start := func(name string, args ...string) (kill func()) {
		cmd := command(t, name, args, environment)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() } // fail the second time
		t.Cleanup(kill)
		return kill
	}
	order := func(want int) {
		harness.Eventually(t, soon, "an order's answer", func() bool {
			response, err := http.Post("http://"+address+"/orders", "application/json", strings.NewReader(`{"item": "lamp"}`))
			if err != nil {
				return false
			}
			_ = response.Body.Close()
			if response.StatusCode != want {
				t.Fatalf("an order is answered with %d, want %d", response.StatusCode, want)
			}
			return true
		})
	}
	killShop := start(program)
	order(http.StatusCreated)
	killShop() // nothing relays yet
	killRelay := start(harness.Binary(t), "outbox", "run", "--source", "sqlite:"+filepath.Join(dir, "shop.db"), "--log-level", "error")
	harness.Eventually(t, soon, "the job of an order", func() bool { return len(a.Get("/api/jobs").Want(200).Data().Items()) == 1 })
	killRelay()
	s.Kill()
	start(program)
	order(http.StatusCreated)
	order(http.StatusCreated)
	order(http.StatusConflict)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	start(harness.Binary(t), "outbox", "run", "--source", "sqlite:"+filepath.Join(dir, "shop.db"), "--log-level", "error")
	var orders harness.JSON
	harness.Eventually(t, 2*soon, "a reminder of each order", func() bool {
		response, err := http.Get("http://" + address + "/orders")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		orders = harness.JSON(body)
		return err == nil && len(orders.Items()) == 3 && !strings.Contains(string(body), `"reminders":0`)
	})
	if jobs := a.Get("/api/jobs").Want(200).Data().Items(); len(jobs) != 3 || strings.Count(orders.Raw(), `"reminders":1}`) != 3 {
		t.Errorf("%d jobs for the orders %s", len(jobs), orders.Raw())
	}
}
