package goclient

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/outbox"
	"github.com/punctual-dev/punctual/client/receiver"
)

// shopVariable makes this test program a shop; see shop.
const shopVariable = "PUNCTUAL_TEST_SHOP"

// place is where a program keeps its data: a PostgreSQL database by its URL, or a SQLite
// file as sqlite:PATH, as the command line names it.
type place string

func (p place) isPostgres() bool { return strings.HasPrefix(string(p), "postgres") }

func (p place) open() (*sql.DB, error) {
	if p.isPostgres() {
		return sql.Open("pgx", string(p))
	}
	return openReceiver(strings.TrimPrefix(string(p), "sqlite:"))
}

// store returns the receivers' store for the database.
func (p place) store() receiver.SQLStore {
	if p.isPostgres() {
		return receiver.PostgreSQL
	}
	return receiver.SQLite
}

// dialect returns the outbox's name for the database.
func (p place) dialect() outbox.Dialect {
	if p.isPostgres() {
		return outbox.PostgreSQL
	}
	return outbox.SQLite
}

// shop is an application: it commits orders, each with a reminder, and gives up one of
// five. Its database and the receiver's address are in the environment.
func shop() {
	where, address, _ := strings.Cut(os.Getenv(shopVariable), " ")
	db, err := place(where).open()
	if err != nil {
		log.Fatal(err)
	}
	for {
		if err := order(context.Background(), db, place(where), address); err != nil {
			log.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// order notes the number of an order, then commits or rolls back the order with its
// reminder.
func order(ctx context.Context, db *sql.DB, where place, address string) error {
	number := rand.Int64N(1 << 53)
	if _, err := db.ExecContext(ctx, fmt.Sprintf(`INSERT INTO begun (number) VALUES (%d)`, number)); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO orders (number) VALUES (%d)`, number)); err != nil {
		return err
	}
	retries, backoff := 20, []client.Duration{} // the receiver is down for half of the time
	for _, seconds := range []time.Duration{1, 1, 2, 4, 8, 15} {
		backoff = append(backoff, client.In(seconds*time.Second))
	}
	_, err = outbox.Enqueue(ctx, tx, client.JobRequest{
		URL: "http://" + address + "/hook?n=0", Method: "post", Body: map[string]int64{"number": number},
		Retries: &retries, Backoff: backoff, Timeout: client.In(10 * time.Second),
	}, outbox.In(where.dialect()))
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

func (v *victim) signal(signal syscall.Signal) {
	if pid := v.pid.Load(); pid != 0 {
		_ = syscall.Kill(int(pid), signal) // fails if the program has ended
	}
}

func (v *victim) kill() { v.signal(syscall.SIGKILL) }

func (v *victim) end() {
	v.over.Store(true)
	v.kill()
	v.ended.Wait()
}

// stop ends the program as an operator does.
func (v *victim) stop() {
	v.over.Store(true)
	v.signal(syscall.SIGTERM)
	v.ended.Wait()
}
