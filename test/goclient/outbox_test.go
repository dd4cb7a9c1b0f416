package goclient

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/outbox"
	"github.com/punctual-dev/punctual/client/receiver"
	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/ports"
)

const (
	// shopVariable makes this test program a shop; see shop.
	shopVariable = "PUNCTUAL_TEST_SHOP"
	// tortureVariable is for how long everything is killed: 15m.
	tortureVariable = "PUNCTUAL_OUTBOX_TORTURE"
	tortureFor      = 12 * time.Second
)

// shop is an application: it commits orders, each with a reminder, and gives up one of
// five. Its database and the receiver's address are in the environment.
func shop() {
	path, address, _ := strings.Cut(os.Getenv(shopVariable), " ")
	db, err := openReceiver(path)
	if err != nil {
		log.Fatal(err)
	}
	for {
		if err := order(context.Background(), db, address); err != nil {
			log.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func order(ctx context.Context, db *sql.DB, address string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	added, err := tx.ExecContext(ctx, `INSERT INTO orders (at) VALUES (?)`, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	number, err := added.LastInsertId()
	if err != nil {
		return err
	}
	retries := 20
	_, err = outbox.Enqueue(ctx, tx, client.JobRequest{
		URL: "http://" + address + "/hook?n=0", Method: "post", Body: map[string]int64{"number": number},
		Retries: &retries, Backoff: []client.Duration{client.In(time.Second)}, Timeout: client.In(10 * time.Second),
	}, outbox.In(outbox.SQLite))
	if err != nil || rand.N(5) == 0 {
		return err // rolled back
	}
	return tx.Commit()
}

// victim is a program that is started again whenever it ends.
type victim struct {
	make  func() *exec.Cmd
	pid   atomic.Int64
	over  atomic.Bool
	ended sync.WaitGroup
}

func startVictim(t *testing.T, make func() *exec.Cmd) *victim {
	v := &victim{make: make}
	v.ended.Go(func() {
		for !v.over.Load() {
			command := v.make()
			if err := command.Start(); err != nil {
				t.Errorf("starting %s: %v", command.Path, err)
				return
			}
			v.pid.Store(int64(command.Process.Pid))
			if v.over.Load() {
				_ = command.Process.Kill()
			}
			_ = command.Wait() // killed, as it should be
		}
	})
	t.Cleanup(v.end)
	return v
}

func (v *victim) kill() {
	if pid := v.pid.Load(); pid != 0 {
		_ = syscall.Kill(int(pid), syscall.SIGKILL)
	}
}

func (v *victim) end() {
	v.over.Store(true)
	v.kill()
	v.ended.Wait()
}

// TestOutbox_EachCommittedOrderHasOneEffect kills the application, the relay, the
// service and the receiver at random times, while orders are committed.
func TestOutbox_EachCommittedOrderHasOneEffect(t *testing.T) {
	duration := tortureFor
	if text := os.Getenv(tortureVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", tortureVariable, err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	received, app := database(t, filepath.Join(dir, "receiver.db")), database(t, filepath.Join(dir, "shop.db"))
	if err := receiver.SQLite.Create(t.Context(), received); err != nil {
		t.Fatal(err)
	}
	run(t, received, "CREATE TABLE effects (number INTEGER NOT NULL)")
	service := harness.Start(t, harness.Flag("allow-http-targets", "true"), harness.Flag("listen", ports.Free(t)))
	binary := harness.Binary(t)
	schema, err := exec.Command(binary, "outbox", "schema", "--dialect", "sqlite").Output()
	if err != nil {
		t.Fatal(err)
	}
	run(t, app, string(schema), "CREATE TABLE orders (number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL)")
	account := service.Account(t)
	address := ports.Free(t)
	target := startReceiver(t, address, filepath.Join(dir, "receiver.db"), account.Secret)
	buyer := startVictim(t, func() *exec.Cmd {
		command := exec.Command(os.Args[0])
		command.Env, command.Stderr = append(os.Environ(), shopVariable+"="+filepath.Join(dir, "shop.db")+" "+address), os.Stderr
		return command
	})
	relay := func() *exec.Cmd {
		command := exec.Command(binary, "outbox", "run", "--source", "sqlite:"+filepath.Join(dir, "shop.db"), "--log-level", "error")
		command.Env, command.Stderr = append(os.Environ(), "PUNCTUAL_URL="+service.URL(), "PUNCTUAL_API_KEY="+account.Key), os.Stderr
		return command
	}
	relays := []*victim{startVictim(t, relay), startVictim(t, relay)}

	kills := 0
	for end := time.Now().Add(duration); time.Now().Before(end); kills++ {
		time.Sleep(time.Duration(100+random.IntN(900)) * time.Millisecond)
		switch random.IntN(5) {
		case 0:
			buyer.kill()
		case 1, 2:
			relays[random.IntN(len(relays))].kill()
		case 3:
			target.kill()
		case 4:
			service.Kill()
			if err := service.Run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	buyer.end()
	orders := number(t, app, "SELECT count(*) FROM orders")
	for deadline := time.Now().Add(pace.Guard(3 * time.Minute)); ; time.Sleep(50 * time.Millisecond) {
		if number(t, received, "SELECT count(DISTINCT number) FROM effects") >= orders && number(t, app, "SELECT count(*) FROM punctual_outbox") == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("of %d orders, %d had effects in time; %d rows wait in the outbox", orders, number(t, received, "SELECT count(DISTINCT number) FROM effects"), number(t, app, "SELECT count(*) FROM punctual_outbox"))
		}
	}
	effects, different := number(t, received, "SELECT count(*) FROM effects"), number(t, received, "SELECT count(DISTINCT number) FROM effects")
	failed := number(t, app, "SELECT count(*) FROM punctual_outbox_failed")
	if orders == 0 || effects != orders || different != orders || failed != 0 {
		t.Errorf("%d orders had %d effects, for %d orders; %d rows failed", orders, effects, different, failed)
	}
	t.Logf("%d orders, %d effects, %d kills", orders, effects, kills)
}

func database(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := openReceiver(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func number(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, fmt.Errorf("reading: %w", err))
	}
	return n
}
