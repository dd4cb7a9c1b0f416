package goclient

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
	"github.com/punctual-dev/punctual/test/ports"
)

const (
	// tortureVariable is for how long everything is killed: 15m. Without it, a fixed
	// number of orders is committed.
	tortureVariable = "PUNCTUAL_OUTBOX_TORTURE"
	tortureOrders   = 120
	// moreOrders are committed at the end, for the relay that was suspended.
	moreOrders = 10
	// takeOverWithin is promised for the rows of a relay that has stopped.
	takeOverWithin = 15 * time.Second
)

// TestOutbox_EachCommittedOrderHasOneEffect kills the application, a relay, the service
// and the receiver at random times while orders are committed, and suspends the relay
// that was active first until the others have done its work.
func TestOutbox_EachCommittedOrderHasOneEffect(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		torture(t, place("sqlite:"+filepath.Join(dir, "shop.db")), place("sqlite:"+filepath.Join(dir, "receiver.db")))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		torture(t, place(pgtest.URL(t)), place(pgtest.URL(t)), harness.Database(pgtest.URL(t)))
	})
}

// stage is everything between an order and its effect.
type stage struct {
	*testing.T
	random          *rand.Rand
	shop            place
	address         string // of the receiver
	app, received   *sql.DB
	service         *harness.Service
	account         *harness.Account
	target          *process
	buyer           *victim
	suspended       *victim
	relays          []*victim
	startRelay      func() *victim
	suspendedAt     time.Time
	kills, services int
}

func torture(t *testing.T, shopPlace, receiverPlace place, options ...harness.Option) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &stage{T: t, random: rand.New(rand.NewPCG(seed, 0)), app: database(t, shopPlace), received: database(t, receiverPlace)}
	address := ports.Free(t)
	s.shop, s.address = shopPlace, address
	s.service = harness.Start(t, append(options, harness.Flag("allow-http-targets", "true"), harness.Flag("listen", ports.Free(t)))...)
	s.account = s.service.Account(t)
	binary := harness.Binary(t)
	dialect := "sqlite"
	if shopPlace.isPostgres() {
		dialect = "postgres"
	}
	schema, err := exec.Command(binary, "outbox", "schema", "--dialect", dialect).Output()
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.app, string(schema), "CREATE TABLE orders (number BIGINT PRIMARY KEY)", "CREATE TABLE begun (number BIGINT PRIMARY KEY)")
	if err := receiverPlace.store().Create(t.Context(), s.received); err != nil {
		t.Fatal(err)
	}
	run(t, s.received, "CREATE TABLE effects (number BIGINT NOT NULL)")
	s.target = startReceiver(t, address, string(receiverPlace), s.account.Secret)
	s.buyer = startVictim(t, func() *exec.Cmd {
		command := exec.Command(os.Args[0])
		command.Env, command.Stderr = append(os.Environ(), shopVariable+"="+string(shopPlace)+" "+address), os.Stderr
		return command
	})
	s.startRelay = func() *victim {
		return startVictim(t, func() *exec.Cmd {
			command := exec.Command(binary, "outbox", "run", "--source", string(shopPlace), "--log-level", "error")
			command.Env, command.Stderr = append(os.Environ(), "PUNCTUAL_URL="+s.service.URL(), "PUNCTUAL_API_KEY="+s.account.Key),
				os.Stderr
			return command
		})
	}
	s.suspend()
	s.killAll()
	s.buyer.end()
	s.settle("the orders have effects")
	s.resume()
	s.verify()
}

// suspend starts a relay and suspends it while it is at work, then starts others.
func (s *stage) suspend() {
	s.suspended = s.startRelay()
	s.await("the first effects", func() bool { return number(s.T, s.received, "SELECT count(*) FROM effects") >= 5 })
	// SQLite has one writer: suspended in a transaction, a relay would keep all others out.
	for s.suspended.signal(syscall.SIGSTOP); !s.shop.isPostgres() && !s.writable(); s.suspended.signal(syscall.SIGSTOP) {
		s.suspended.signal(syscall.SIGCONT)
		time.Sleep(time.Duration(s.random.IntN(50)) * time.Millisecond)
	}
	s.suspendedAt = time.Now()
	s.relays = []*victim{s.startRelay(), s.startRelay()}
}

// writable reports whether the application can write to its database.
func (s *stage) writable() bool {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(string(s.shop), "sqlite:")+"?_pragma=busy_timeout(500)")
	if err == nil {
		defer db.Close()
		_, err = db.ExecContext(s.Context(), "DELETE FROM orders WHERE number < 0")
	}
	return err == nil
}

// killAll kills at random until there are enough orders.
func (s *stage) killAll() {
	duration, long := time.Duration(0), os.Getenv(tortureVariable)
	if long != "" {
		var err error
		if duration, err = time.ParseDuration(long); err != nil {
			s.Fatalf("%s: %v", tortureVariable, err)
		}
		before := number(s.T, s.received, "SELECT count(*) FROM effects")
		s.await("another relay takes over", func() bool { return number(s.T, s.received, "SELECT count(*) FROM effects") > before+5 })
		took := time.Since(s.suspendedAt)
		if s.Logf("another relay took over after %s", took); took > takeOverWithin {
			s.Errorf("another relay took over after %s, want %s at most", took, takeOverWithin)
		}
	}
	began, relayKilled := time.Now(), false
	for ; time.Since(began) < duration || number(s.T, s.app, "SELECT count(*) FROM orders") < tortureOrders; s.kills++ {
		time.Sleep(time.Duration(100+s.random.IntN(900)) * time.Millisecond)
		if s.kills%50 == 49 { // a test that says nothing for minutes is ended
			s.Logf("%d kills, %d orders", s.kills+1, number(s.T, s.app, "SELECT count(*) FROM orders"))
		}
		relay := s.relays[s.random.IntN(len(s.relays))]
		if !relayKilled && long == "" {
			// It waits for the lease still. Each kill of the active one takes 8 seconds.
			relayKilled = true
			relay.kill()
			continue
		}
		switch s.random.IntN(5) {
		case 0:
			s.buyer.kill()
		case 1:
			s.target.kill()
		case 2, 3:
			if long != "" {
				relay.kill()
				continue
			}
			s.target.kill()
		case 4:
			s.services++
			s.service.Kill()
			if err := s.service.Run(); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// resume has the suspended relay go on, alone, with more orders.
func (s *stage) resume() {
	s.suspended.signal(syscall.SIGCONT)
	for _, relay := range s.relays {
		relay.stop()
	}
	before := number(s.T, s.app, "SELECT count(*) FROM orders")
	for number(s.T, s.app, "SELECT count(*) FROM orders") < before+moreOrders {
		if err := order(s.Context(), s.app, s.shop, s.address); err != nil {
			s.Fatal(err)
		}
	}
	s.settle("the relay that was suspended goes on")
}

// settle waits until each order has an effect and no row waits.
func (s *stage) settle(what string) {
	s.await(what, func() bool {
		return number(s.T, s.received, "SELECT count(DISTINCT number) FROM effects") >= number(s.T, s.app, "SELECT count(*) FROM orders") &&
			number(s.T, s.app, "SELECT count(*) FROM punctual_outbox") == 0
	})
}

func (s *stage) await(what string, holds func() bool) {
	s.Helper()
	for deadline := time.Now().Add(pace.Guard(3 * time.Minute)); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("%s: not in time; %d orders, %d with effects, %d rows wait", what, number(s.T, s.app, "SELECT count(*) FROM orders"),
				number(s.T, s.received, "SELECT count(DISTINCT number) FROM effects"),
				number(s.T, s.app, "SELECT count(*) FROM punctual_outbox"))
		}
	}
}

// verify compares orders, jobs and effects.
func (s *stage) verify() {
	orders, begun, effects := numbers(s.T, s.app, "orders"), numbers(s.T, s.app, "begun"), numbers(s.T, s.received, "effects")
	twice, without, phantom := 0, 0, 0
	for order := range orders {
		if effects[order] == 0 {
			without++
		}
	}
	for order, n := range effects {
		if n > 1 {
			twice++
		}
		if orders[order] == 0 {
			phantom++
		}
	}
	jobs := s.jobs()
	failed := number(s.T, s.app, "SELECT count(*) FROM punctual_outbox_failed")
	s.Logf("%d orders committed, %d given up or cut off; %d jobs, %d orders with effects; %d kills, %d of the service", len(orders),
		len(begun)-len(orders), jobs, len(effects), s.kills, s.services)
	if len(orders) == 0 || len(begun) == len(orders) || jobs != len(orders) || twice+without+phantom+failed != 0 {
		s.Errorf("of %d orders with %d jobs, %d have several effects, %d none; %d effects are of orders that were not committed; %d rows failed", len(orders), jobs, twice, without, phantom, failed)
	}
}

// jobs counts all jobs; /api/jobs/counts counts up to a limit.
func (s *stage) jobs() (n int) {
	c := call[*client.Client](s.T)(client.New(client.Config{URL: s.service.URL(), Key: s.account.Key, MaxRetries: 12}))
	for _, err := range c.ListJobs(s.Context(), client.JobFilter{}) {
		if err != nil {
			s.Fatal(err)
		}
		n++
	}
	return n
}

func database(t *testing.T, where place) *sql.DB {
	t.Helper()
	db, err := where.open()
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
		t.Fatalf("reading %s: %v", query, err)
	}
	return n
}

// numbers counts the numbers of a table.
func numbers(t *testing.T, db *sql.DB, table string) map[int64]int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT number FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[int64]int{}
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		found[n]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
