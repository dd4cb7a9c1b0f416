package goclient

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/receiver"
	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/ports"
)

// openReceiver opens a receiver's database.
func openReceiver(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)&_txlock=immediate")
}

// receive is the receiver's program: address, database and secret are in the
// environment. It kills itself on the first attempt of two jobs of three: with the
// effect done and not committed, or committed and not answered.
func receive() {
	setting := strings.Split(os.Getenv(receiverVariable), " ")
	db, err := place(setting[1]).open()
	if err != nil {
		log.Fatal(err)
	}
	verifier, err := client.NewVerifier(setting[2])
	if err != nil {
		log.Fatal(err)
	}
	handler, err := receiver.NewSQL(db, place(setting[1]).store(), effect, receiver.Options{Verifier: verifier})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", setting[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := r.URL.Query().Get("n") + r.Header.Get("X-Punctual-Attempt")
		handler.ServeHTTP(w, r)
		if number == "11" {
			die()
		}
	})))
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal may take a moment; nothing must happen until then
}

// effect adds a row for the job. Nothing in the table keeps a second one out.
func effect(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	var body struct{ Number int64 }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err
	}
	if _, err := tx.ExecContext(r.Context(), fmt.Sprintf("INSERT INTO effects (number) VALUES (%d)", body.Number)); err != nil {
		return err
	}
	if r.URL.Query().Get("n")+r.Header.Get("X-Punctual-Attempt") == "21" {
		die()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// process is the receiver, started again whenever it ends.
type process struct {
	setting string
	starts  atomic.Int64
	pid     atomic.Int64
	quit    chan struct{}
	ended   chan struct{}
}

func startReceiver(t *testing.T, address, database, secret string) *process {
	t.Helper()
	p := &process{setting: strings.Join([]string{address, database, secret}, " "), quit: make(chan struct{}), ended: make(chan struct{})}
	go p.loop(t)
	t.Cleanup(func() {
		close(p.quit)
		p.kill()
		<-p.ended
	})
	return p
}

func (p *process) loop(t *testing.T) {
	defer close(p.ended)
	for {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), receiverVariable+"="+p.setting)
		command.Stderr = os.Stderr
		output, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			t.Errorf("starting the receiver: %v", err)
			return
		}
		p.pid.Store(int64(command.Process.Pid))
		select {
		case <-p.quit:
			_ = command.Process.Kill()
		default:
		}
		if bufio.NewScanner(output).Scan() {
			p.starts.Add(1)
		}
		_ = command.Wait() // killed, as it should be
		select {
		case <-p.quit:
			return
		default:
		}
	}
}

func (p *process) kill() {
	if pid := p.pid.Load(); pid != 0 {
		_ = syscall.Kill(int(pid), syscall.SIGKILL)
	}
}

// TestReceiver_TakesEffectOnceWhileBothSidesAreKilled kills the service and the
// receiver again and again while jobs are created and fired.
func TestReceiver_TakesEffectOnceWhileBothSidesAreKilled(t *testing.T) {
	const jobs, kills = 30, 4
	database := filepath.Join(t.TempDir(), "receiver.db")
	db, err := openReceiver(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := receiver.SQLite.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE effects (number INTEGER NOT NULL)"); err != nil {
		t.Fatal(err)
	}

	// The service keeps its address, so that the client finds it again.
	service := harness.Start(t, harness.Flag("allow-http-targets", "true"), harness.Flag("listen", ports.Free(t)))
	account := service.Account(t)
	address := ports.Free(t)
	target := startReceiver(t, address, "sqlite:"+database, account.Secret)
	api := newClient(t, service, account)

	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for i := range kills {
			// A receiver that is killed before it has started does not count.
			count := 0
			for deadline := time.Now().Add(pace.Guard(time.Minute)); (count <= i*jobs/kills/2 || target.starts.Load() <= int64(i)) &&
				time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				if err := db.QueryRow("SELECT count(*) FROM effects").Scan(&count); err != nil {
					t.Error(err)
					return
				}
			}
			service.Kill()
			target.kill()
			if err := service.Run(); err != nil {
				t.Error(err)
				return
			}
		}
	}()

	var created []client.Ref
	retries := 20
	for number := range jobs {
		record, err := api.CreateJob(t.Context(), client.JobRequest{
			URL: fmt.Sprintf("http://%s/hook?n=%d", address, number%3), Method: "post", Body: map[string]int{"number": number},
			Retries: &retries, Backoff: []client.Duration{client.In(time.Second)}, Timeout: client.In(10 * time.Second),
		})
		if err != nil {
			t.Fatalf("creating job %d: %v", number, err)
		}
		created = append(created, client.ID(record.ID))
	}
	<-killed
	for _, job := range created {
		record, err := api.WaitJob(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if record.Job.State != client.Completed {
			t.Errorf("job %d is %s", record.JobID, record.Job.State)
		}
	}
	rows, distinct, stored := 0, 0, 0
	if err := db.QueryRow("SELECT count(*), count(DISTINCT number) FROM effects").Scan(&rows, &distinct); err != nil {
		t.Fatal(err)
	}
	for _, err := range api.ListJobs(t.Context(), client.JobFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		stored++
	}
	if rows != jobs || distinct != jobs || stored != jobs {
		t.Errorf("%d effects of %d jobs, %d stored; want %d each", rows, distinct, stored, jobs)
	}
	if starts := target.starts.Load(); starts < kills {
		t.Errorf("the receiver was started %d times only", starts)
	}
}
