// Shop takes orders and reminds of those that are not paid. An order and its reminder
// are committed together, and a reminder takes effect once, whatever is killed when.
//
// It reads DATABASE, the path of its SQLite file; PUNCTUAL_SIGNING_SECRET; APP_URL, where
// the service reaches it; LISTEN, its own address; OUTBOX_SCHEMA, a file with what
// punctual outbox schema --dialect sqlite prints; and REMIND_IN, a duration.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	_ "modernc.org/sqlite"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/outbox"
	"github.com/punctual-dev/punctual/client/receiver"
)

const tables = `
CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, count INTEGER NOT NULL CHECK (count >= 0));
INSERT INTO stock VALUES ('lamp', 3) ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS orders (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	item      TEXT    NOT NULL,
	reminders INTEGER NOT NULL DEFAULT 0
);`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	db, err := open(ctx, cmp.Or(os.Getenv("DATABASE"), "shop.db"), cmp.Or(os.Getenv("OUTBOX_SCHEMA"), "outbox.sql"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	verifier, err := client.NewVerifier(os.Getenv("PUNCTUAL_SIGNING_SECRET"))
	if err != nil {
		return err
	}
	remindIn, err := time.ParseDuration(cmp.Or(os.Getenv("REMIND_IN"), "24h"))
	if err != nil {
		return fmt.Errorf("reading REMIND_IN: %w", err)
	}
	reminders, err := receiver.NewSQL(db, receiver.SQLite, remind, receiver.Options{Verifier: verifier})
	if err != nil {
		return err
	}
	shop := &shop{db: db, url: os.Getenv("APP_URL"), remindIn: remindIn}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", shop.order)
	mux.HandleFunc("GET /orders", shop.list)
	mux.Handle("POST /reminders", reminders)
	server := &http.Server{Addr: cmp.Or(os.Getenv("LISTEN"), ":8091"), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// open opens the database and creates the tables of the shop, of the receiver and of the
// outbox, unless they are there.
func open(ctx context.Context, path, schema string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	if err := receiver.SQLite.Create(ctx, db); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, fmt.Errorf("creating the tables of the shop: %w", err)
	}
	var there int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'punctual_outbox_relay'`).Scan(&there); err != nil {
		return nil, fmt.Errorf("looking for the outbox: %w", err)
	}
	if there == 0 {
		text, err := os.ReadFile(schema)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of the outbox: %w", err)
		}
		if _, err := db.ExecContext(ctx, "BEGIN;"+string(text)+";COMMIT"); err != nil {
			return nil, fmt.Errorf("creating the tables of the outbox: %w", err)
		}
	}
	return db, nil
}

type shop struct {
	db       *sql.DB
	url      string
	remindIn time.Duration
}

// order stores an order, takes its item from the stock and enqueues its reminder: all of
// it, or nothing.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Item string `json:"item"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, err := s.store(r.Context(), asked.Item)
	switch {
	case errors.Is(err, errSoldOut):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "{\"id\": %d}\n", id) // fails if the buyer has hung up
	}
}

var errSoldOut = errors.New("the item is sold out")

func (s *shop) store(ctx context.Context, item string) (id int64, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("beginning: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // without effect after the commit
	if err := tx.QueryRowContext(ctx, `INSERT INTO orders (item) VALUES (?) RETURNING id`, item).Scan(&id); err != nil {
		return 0, fmt.Errorf("storing the order: %w", err)
	}
	if _, err := outbox.Enqueue(ctx, tx, client.JobRequest{
		URL: s.url + "/reminders", Method: "post", Body: map[string]int64{"order": id}, ScheduleIn: client.In(s.remindIn),
	}, outbox.In(outbox.SQLite)); err != nil {
		return 0, err
	}
	taken, err := tx.ExecContext(ctx, `UPDATE stock SET count = count - 1 WHERE item = ? AND count > 0`, item)
	if err != nil {
		return 0, fmt.Errorf("taking the item: %w", err)
	}
	if n, err := taken.RowsAffected(); err != nil || n == 0 {
		return 0, cmp.Or(err, errSoldOut) // the reminder is rolled back too
	}
	return id, tx.Commit()
}

// remind handles a reminder in a transaction, which is committed once for each job.
func remind(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
	var body struct {
		Order int64 `json:"order"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return fmt.Errorf("reading the reminder: %w", err)
	}
	if _, err := tx.ExecContext(r.Context(), `UPDATE orders SET reminders = reminders + 1 WHERE id = ?`, body.Order); err != nil {
		return fmt.Errorf("storing the reminder: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// list shows how often each order was reminded of.
func (s *shop) list(w http.ResponseWriter, r *http.Request) {
	var text string
	err := s.db.QueryRowContext(r.Context(), `SELECT json_group_array(json_object('id', id, 'item', item, 'reminders', reminders)) FROM orders`).Scan(&text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintln(w, text) // fails if the caller has hung up
}
